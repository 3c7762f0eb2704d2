"""The invariants see what they are there to see."""

from __future__ import annotations

from typing import Any

import pytest
from immutables import Map

from solvent.protocols.capture.invariants import (
    SAFETY,
    Scene,
    a_molecule_is_at_one_node_at_most,
    a_molecule_is_consumed_at_most_once,
    is_released,
    no_molecule_is_lost,
    what_is_consumed_is_not_free,
    what_is_lent_is_lent_once,
)
from solvent.protocols.capture.messages import GiveUp, RespMolecule
from solvent.protocols.capture.moving_state import Given, MovingState, Refused
from solvent.protocols.capture.state import SEARCHING, CaptureState, Claim, Fetching, Hold, Holding, Reacting

IRON, COAL = 7, 8
PLACES = ((IRON, 0),)
IN_HAND = ((IRON, "iron"),)
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


@pytest.mark.parametrize("node", [holding, having])
def test_all_is_well_with_every_molecule_at_its_place(node: Any) -> None:
    """No invariant complains of a world in which nothing has happened, or of one where all is over."""
    for world in (scene(node(IRON), node(COAL), known=(IRON, COAL)), scene(node(), consumed={IRON: 1})):
        assert [check(world) for check in SAFETY] == [None] * len(SAFETY)
        assert is_released(world)


def test_a_molecule_consumed_twice_is_seen() -> None:
    """The paper's safety."""
    found = a_molecule_is_consumed_at_most_once(scene(consumed={COAL: 1, IRON: 2}))
    assert found == "molecule 7 was consumed 2 times"


@pytest.mark.parametrize("node", [holding, having])
def test_a_copy_is_seen(node: Any) -> None:
    """Two nodes do not have the same molecule."""
    found = a_molecule_is_at_one_node_at_most(scene(node(COAL), node(IRON), node(IRON)))
    assert found == "molecule 7 is at node 1 and at node 2"


@pytest.mark.parametrize(
    "world",
    [
        scene(holding(IRON)),
        scene(having(IRON)),
        scene(holding(phase=Fetching(1, 0, PLACES, True, IN_HAND))),
        scene(holding(phase=Reacting(1, 0, PLACES, True, IN_HAND))),
        scene(having(gifts={3: (1, IN_HAND)})),
        scene(holding(), messages=[RespMolecule(IRON, 1, 0, 4, "iron")]),
        scene(having(), messages=[Refused(1), Given(1, 1, IN_HAND)]),
        scene(holding(), consumed={IRON: 1}),
    ],
    ids=["held", "had", "fetched", "reacting", "gift", "sent", "given", "consumed"],
)
def test_a_molecule_may_be_in_many_places(world: Scene) -> None:
    """At a node, in the hands of a requester, under way, or consumed: it is not lost."""
    assert no_molecule_is_lost(world) is None


@pytest.mark.parametrize(
    "world",
    [
        scene(holding(), having(), consumed={IRON: 0}),
        scene(holding(COAL, phase=Fetching(1, 0, PLACES, True))),
        scene(holding(), messages=[GiveUp(IRON, 1, 0, 4)]),
    ],
    ids=["nowhere", "wanted", "spoken of"],
)
def test_a_lost_molecule_is_seen(world: Scene) -> None:
    """That it is wanted or spoken of does not bring it back."""
    assert no_molecule_is_lost(world) == "molecule 7 is nowhere"


@pytest.mark.parametrize(
    "node",
    [holding(IRON), holding(IRON, hold=Hold(1, 1, False)), having(IRON)],
    ids=["free", "promised", "had"],
)
def test_a_consumed_molecule_that_could_be_given_away_is_seen(node: Any) -> None:
    """A holder that does not know may still know of it, but only as lent."""
    found = what_is_consumed_is_not_free(scene(holding(COAL), node, consumed={IRON: 1}))
    assert found == "node 1 would give molecule 7 away, which has been consumed"
    lent = holding(IRON, hold=Hold(1, 1, True))
    assert what_is_consumed_is_not_free(scene(lent, consumed={IRON: 1})) is None


def test_a_molecule_lent_twice_is_seen() -> None:
    """Two requesters do not have it in hand, one of them perhaps reacting already."""
    fetching = holding(phase=Fetching(1, 0, PLACES, True, IN_HAND))
    reacting = holding(phase=Reacting(1, 0, PLACES, True, IN_HAND))
    assert what_is_lent_is_lent_once(scene(fetching, having())) is None
    found = what_is_lent_is_lent_once(scene(fetching, holding(IRON), reacting))
    assert found == "nodes 0 and 2 both have molecule 7 in hand"


@pytest.mark.parametrize(
    "world",
    [
        scene(holding(IRON), messages=[GiveUp(IRON, 1, 0, 4)]),
        scene(holding(IRON, hold=Hold(1, 1, False))),
        scene(holding(IRON, queue=CLAIM)),
        scene(holding(IRON, hold=Hold(1, 1, True), waiting=CLAIM)),
        scene(having(IRON), having(gifts={1: (0, ())})),
    ],
    ids=["under way", "promised", "claimed", "waited for", "not confirmed"],
)
def test_what_is_not_released_is_seen(world: Scene) -> None:
    """A world is at rest when nothing is promised, claimed, unconfirmed or under way."""
    assert not is_released(world)
