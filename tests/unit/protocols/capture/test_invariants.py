"""The invariants see what they are there to see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent.protocols.capture import invariants
from solvent.protocols.capture.invariants import Scene, a_molecule_is_consumed_at_most_once
from solvent.protocols.capture.moving import MovingState
from solvent.protocols.maps import Map
from solvent_lab.papers.capture import invariants as paper
from solvent_lab.papers.capture.messages import GiveUp
from solvent_lab.papers.capture.state import SEARCHING, CaptureState, Claim, Hold, Holding

if TYPE_CHECKING:
    from types import ModuleType

IRON, COAL = 7, 8
CLAIM = Map({1: Claim(0, 1, 1)})


def holding(*molecules: int, phase: Any = SEARCHING, **more: Any) -> CaptureState:
    """Give a node of the paper's protocol, all of whose molecules are in the same state."""
    return CaptureState(Map({molecule: Holding("x", **more) for molecule in molecules}), (), phase)


def having(*molecules: int, gifts: Any = ()) -> MovingState:
    """Give a node of capture by moving."""
    return MovingState(Map(dict.fromkeys(molecules, "x")), gifts=Map(gifts))


def scene(*states: Any, messages: Any = (), consumed: Any = (), known: Any = (IRON,)) -> Scene:
    """Put nodes together."""
    return Scene(states, tuple((0, 1, message) for message in messages), dict(consumed), known)


def test_a_molecule_consumed_twice_is_seen() -> None:
    """The paper's safety."""
    found = a_molecule_is_consumed_at_most_once(scene(consumed={COAL: 1, IRON: 2}))
    assert found == "molecule 7 was consumed 2 times"


@pytest.mark.parametrize(
    "rules, world",
    [
        (paper, scene(holding(IRON), messages=[GiveUp(IRON, 1, 0, 4)])),
        (paper, scene(holding(IRON, hold=Hold(1, 1, False)))),
        (paper, scene(holding(IRON, queue=CLAIM))),
        (paper, scene(holding(IRON, hold=Hold(1, 1, True), waiting=CLAIM))),
        (invariants, scene(having(IRON), having(gifts={1: (0, ())}))),
    ],
    ids=["under way", "promised", "claimed", "waited for", "not confirmed"],
)
def test_what_is_not_released_is_seen(rules: ModuleType, world: Scene) -> None:
    """A world is at rest when nothing is promised, claimed, unconfirmed or under way."""
    assert not rules.is_released(world)
