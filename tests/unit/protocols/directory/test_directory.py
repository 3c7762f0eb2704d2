"""One node of the directory, event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.errors import Misuse
from solvent.protocols.capture.vocabulary import MoleculeId
from solvent.protocols.directory import (
    DirectoryState,
    Entry,
    Find,
    Publish,
    Ring,
    Unwatch,
    Watch,
    bounds,
    directory_node,
    entry,
)
from solvent.protocols.directory.messages import Changes, Matches
from solvent.protocols.directory.slot import MAX_PAGE
from solvent.protocols.machine import NodeId, PeerRestarted, Received, Requested, Send

if TYPE_CHECKING:
    from solvent.protocols.machine import Effects, Event

NODES = (NodeId(0), NodeId(1), NodeId(2))
A, B, C = NODES
RING = Ring(NODES)
directory = directory_node(A, RING)


def kept_at(slot: NodeId, holder: NodeId, molecule: int = 1, *, above: int = 0) -> Entry:
    """Make an entry that belongs to a slot."""
    key = next(key for key in range(above, above + 1000) if RING.slot_of("number", key) == slot)
    return entry(MoleculeId(molecule), holder, "number", key)


def after(*events: Event) -> tuple[DirectoryState, Effects]:
    """Give node A these events, in order; and the effects of the last."""
    state, effects = directory.start()
    for event in events:
        state, effects = directory.step(state, event)
    return state, effects


def test_nobody_publishes_for_another() -> None:
    """An entry whose holder is not its sender is dropped."""
    assert not after(Received(C, Publish((kept_at(A, B),))))[0].slot.listed


def test_a_slot_that_crashes_is_left_out_of_a_search() -> None:
    """Others may have enough."""
    find = Find(1, "number")
    assert after(Requested(find), PeerRestarted(B))[1] == (Send(C, find),)
    assert after(Requested(find), PeerRestarted(B), Received(B, Matches(1, ())))[1] == ()


def test_different_askers_are_offered_different_molecules() -> None:
    """Otherwise all would want the same one."""
    entries = tuple(entry(MoleculeId(number), B, "number", 7) for number in range(50))
    state, _ = after(Received(B, Publish(entries)))
    offered = set()
    for asker in range(20):
        _, (send,) = directory.step(state, Received(NodeId(asker + 1), Find(1, "number")))
        assert isinstance(send, Send)
        offered.add(send.message.entries)
    assert len(offered) > 10


def test_a_watcher_is_shown_all_there_is_in_pages_and_then_every_change() -> None:
    """A page has a limited number of entries; changes outside the bounds are not told."""
    entries = tuple(entry(MoleculeId(number), B, "number", number) for number in range(MAX_PAGE + 1))
    filled = Received(B, Publish(entries))
    watch = Received(C, Watch(4, "number", bounds(0, 1000)))
    assert after(filled, watch)[1] == (
        Send(C, Changes(4, entries[:MAX_PAGE])),
        Send(C, Changes(4, entries[MAX_PAGE:])),
    )
    new, beyond = (entry(MoleculeId(5000 + key), B, "number", key) for key in (999, 1001))
    change = Received(B, Publish((new, beyond), (entries[0].molecule,)))
    assert after(filled, watch, change)[1] == (Send(C, Changes(4, (new,), (entries[0].place,))),)
    assert after(filled, watch, Received(C, Unwatch(4)), change)[1] == ()


def test_who_watches_no_longer_is_told_nothing() -> None:
    """All slots hear of it, and what they had under way is not reported."""
    watch = Requested(Watch(1, "number"))
    shown = Received(B, Changes(1, (kept_at(B, C, 2),)))
    assert len(after(watch, shown)[1]) == 1
    assert after(watch, Requested(Unwatch(1)))[1] == (Send(B, Unwatch(1)), Send(C, Unwatch(1)))
    assert after(watch, Requested(Unwatch(1)), shown)[1] == ()
    assert after(Requested(Unwatch(1)))[1] == ()


@pytest.mark.parametrize("query", [Watch(1, "number"), Find(1, "number")], ids=["watch", "find"])
def test_a_number_of_a_query_is_given_once(query: Watch | Find) -> None:
    """A second query of the same number would take the place of the first, and what that had shown would stay."""
    with pytest.raises(AssertionError, match="a number of its own"):
        after(Requested(query), Requested(query))


def test_a_ring_without_nodes_is_refused() -> None:
    """Nobody could keep anything."""
    with pytest.raises(Misuse):
        Ring(())
