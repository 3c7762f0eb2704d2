"""How long claims wait in a space: patience, also while a repair is under way."""

from __future__ import annotations

from typing import Any

from solvent.protocols.elmp.vocabulary import Dropped, Granted, Release, Request
from solvent.protocols.handover.vocabulary import Died, In, Of
from solvent.protocols.machine import NodeId, TimerFired
from tests.unit.protocols.handover.town import R, Town, is_sound, of

A, B = map(NodeId, range(2))


def fire(town: Town, node: int, handle: int = 0) -> list[tuple[NodeId, Any]]:
    """Let the patience with a claim be over, and give what was told then."""
    before = len(town.told)
    town.take(node, TimerFired(f"elmp:patience:{handle}@{R}"))
    town.talk()
    return town.told[before:]


def stuck() -> Town:
    """Give two processes of which the founder holds; the other takes it for dead, and waits for it."""
    town = Town(2)
    town.want(0, In(R, Request()))
    town.want(1, In(R, Request(5, patience=50)))
    town.cut = {frozenset((0, 1))}
    town.want(1, Died(A, is_certain=False))
    assert not town.states[1].is_running
    return town


def test_patience_begins_when_somebody_wants_something_in_a_repair() -> None:
    """What was wanted since it began is given up in the same way; the rest waits."""
    town = stuck()
    town.want(1, In(R, Request(6, patience=50)))
    town.want(1, In(R, Request(7)))
    assert (B, f"elmp:patience:6@{R}") in town.timers
    assert fire(town, B, 6) == [(B, Of(R, Dropped(6)))]
    town.heal()
    town.want(0, In(R, Release()))
    town.want(1, In(R, Release(5)))
    assert [(node, told.handle) for node, told in of(town.told, Granted)] == [(A, 0), (B, 5), (B, 7)]
    assert is_sound(town)
