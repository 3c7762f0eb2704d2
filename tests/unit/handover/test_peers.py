"""The other processes of a space, as one of them knows them."""

from __future__ import annotations

import gc

import pytest

from solvent.handover import peers
from solvent.handover.peers import Peers
from solvent.handover.words import Home
from solvent.protocols.machine import NodeId

HERE, THERE = Home("a:1", "", "here", b""), Home("b:1", "", "there", b"")


@pytest.fixture(name="known")
def _known() -> Peers:
    known = Peers(max_leave_seconds=0.0)
    for number, home in enumerate((HERE, HERE, THERE)):
        known.arrive(NodeId(number), home)
    return known


def test_those_that_take_part_are_known_by_host(known: Peers) -> None:
    """Who leaves is no neighbour any more, but still to be found."""
    known.leave(NodeId(1))
    assert (known.on_host("here"), known.present()) == ([HERE], {0: HERE, 2: THERE})
    assert (known.home_of(NodeId(1)), known.is_present(NodeId(1))) == (HERE, False)


def test_who_is_gone_is_forgotten_for_good(known: Peers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, however many come and go."""
    monkeypatch.setattr(peers, "_GONE_SECONDS", -1.0)
    for number in range(100):
        known.arrive(NodeId(100 + number), HERE)
        known.leave(NodeId(100 + number))
        assert known.forgotten("here", lambda _: True) == [100 + number]


def test_who_may_still_be_there_is_not_forgotten(known: Peers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not who has only just left, nor who is alive on this host; nor who comes again."""
    known.leave(NodeId(0))
    assert known.forgotten("here", lambda _: True) == []
    monkeypatch.setattr(peers, "_GONE_SECONDS", -1.0)
    assert known.forgotten("here", lambda _: False) == []
    known.arrive(NodeId(0), HERE)
    assert known.forgotten("here", lambda _: True) == []


def test_another_thread_may_meet_one_meanwhile(known: Peers) -> None:
    """A process that is met while those of a host are listed disturbs nothing: other threads run amid a collection."""
    for number in range(10, 5_010):
        known.arrive(NodeId(number), HERE)
    numbers = iter(range(10_000, 10**6))
    before = gc.get_threshold()
    gc.callbacks.append(lambda *_: known.meet(NodeId(next(numbers)), THERE))
    gc.set_threshold(1)
    try:
        assert len(known.on_host("here")) == 5_002
    finally:
        gc.callbacks.pop()
        gc.set_threshold(*before)
