"""Invariants of links notice what is wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.link.line import Line
from solvent.protocols.link.messages import PeerLife
from solvent.protocols.link.state import LinkState
from solvent.protocols.machine import NodeId
from solvent_lab.models import talker
from solvent_lab.models.talker import TALK_INVARIANTS, Heard, Listening, Speaking, Talking, Word, everything_is_heard

A, B = NodeId(0), NodeId(1)
WORD = Word(0, 0, 0)
SPEAKER = LinkState(
    Talking(speaking=Map({B: Speaking(said=1)})), lines=Map({B: Line(acked=1, sent=1, next=1)}), unacknowledged=0
)
LISTENER = LinkState(Talking(listening=Map({A: Listening(0, 0, 1)})), lines=Map({A: Line(taken=1)}))


def world(*states: LinkState | None, saved: tuple[Any, ...] = (Heard(A, WORD, 0),)) -> Any:
    """Make a world of two nodes: A said a word that B heard and saved."""
    nodes = [SimpleNamespace(life=0, saved=()), SimpleNamespace(life=0, saved=saved)]
    return SimpleNamespace(states=states, nodes=nodes)


def broken(seen: Any) -> list[str]:
    """Give the names of the invariants that do not hold."""
    return [invariant.__name__ for invariant in TALK_INVARIANTS if invariant(seen) is not None]


def test_all_is_well_where_a_word_was_heard() -> None:
    """Where nothing is wrong no invariant complains, also while a node is down."""
    assert broken(world(SPEAKER, LISTENER)) == []
    assert broken(world(SPEAKER, None)) == []
    assert everything_is_heard(world(SPEAKER, LISTENER))


def test_an_acknowledgement_of_nothing_is_noticed() -> None:
    """The peer has not taken what it is believed to have taken."""
    deaf = replace(LISTENER, lines=Map({A: Line()}))
    assert broken(world(SPEAKER, deaf)) == ["each_side_counts_as_the_other"]


def test_what_was_not_saved_is_noticed() -> None:
    """The peer took a word and saved nothing."""
    assert broken(world(SPEAKER, LISTENER, saved=())) == ["what_was_acknowledged_is_saved"]


def test_a_word_heard_twice_is_noticed() -> None:
    """The same word was saved in two lives."""
    twice = (Heard(A, WORD, 0), Heard(A, WORD, 1))
    assert broken(world(SPEAKER, LISTENER, saved=twice)) == ["no_word_is_heard_twice"]


def test_a_life_to_come_is_noticed() -> None:
    """Nobody can have heard of a life that has not begun."""
    early = replace(LISTENER, lines=Map({A: Line(life=1)}))
    assert broken(world(SPEAKER, early)) == ["no_link_knows_a_life_to_come"]


def test_a_life_that_was_not_saved_is_noticed() -> None:
    """Messages of a new life were taken, and a restart would take it for news."""
    seen = world(replace(SPEAKER, life=1, lines=Map()), replace(LISTENER, lines=Map({A: Line(life=1, taken=1)})))
    seen.nodes[A].life = 1
    assert broken(seen) == ["lives_heard_of_are_saved"]
    seen.nodes[B].saved = (PeerLife(A, 1),)
    assert broken(seen) == []


def test_a_wrong_count_is_noticed() -> None:
    """What is under way and what is counted differ; the talker believes that all was taken."""
    miscounted = replace(SPEAKER, unacknowledged=1)
    assert broken(world(miscounted, LISTENER)) == [
        talker.what_is_under_way_is_counted.__name__,
        talker.who_believes_that_all_was_taken_is_right.__name__,
    ]


def test_not_everything_is_heard() -> None:
    """The goal is not reached while a node is down, a word is not heard, or a life is not known."""
    silent = replace(LISTENER, inner=Talking())
    stranger = replace(LISTENER, lines=Map({A: Line(taken=1, is_met=False)}))
    for other in (None, silent, stranger):
        assert not everything_is_heard(world(SPEAKER, other))
