"""Capture by moving: what a holder gives, to whom, and what it keeps for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from solvent.protocols.capture.moving import (
    Attempt,
    Reacting,
)
from solvent.protocols.maps import Map
from tests.unit.protocols.capture.workshop import (
    ANN,
    BEN,
    COAL,
    FRESH,
    HERE,
    IRON,
    MACHINE,
    ORE,
    QUIET,
    ZOE,
    having,
    refused,
    take,
)

if TYPE_CHECKING:
    from solvent.protocols.machine import Received

# ------------------------------------------------------------------------------------------------------ giving


def test_an_equal_molecule_is_as_good() -> None:
    """Instead of a molecule that is no longer here, one of the same value is given."""
    state = having(*HERE, (13, "iron"))
    after, effects = QUIET.step(state, take(ANN, ORE, COAL, values=("iron", "coal")))
    (gift,) = effects
    assert sorted(value for _, value in gift.message.molecules) == ["coal", "iron"]
    assert len(after.molecules) == 1


def test_equal_molecules_are_given_once() -> None:
    """Two that are missing need two that are equal, and none that was named."""
    values = ("iron", "iron", "iron")
    two, three = having((13, "iron"), (14, "iron")), having((13, "iron"), (14, "iron"), (15, "iron"))
    assert QUIET.step(two, take(ANN, 13, 98, 99, values=values)) == (two, refused(ANN))
    after, effects = QUIET.step(three, take(ANN, 13, 98, 99, values=values))
    assert {molecule for molecule, _ in effects[0].message.molecules} == {13, 14, 15}
    assert after == having(given=1)


def test_what_an_attempt_needs_is_no_substitute() -> None:
    """An equal molecule that this node's own attempt needs is not given to one who named another, whoever it is."""
    attempt = Attempt(1, 0, (IRON,), (BEN,), (COAL,))
    state = having(*HERE, phase=attempt, reactions=7)
    for value in ("iron", "coal"):
        assert MACHINE.step(state, take(ANN, ORE, values=(value,))) == (state, refused(ANN))
    richer = having(*HERE, (13, "iron"), phase=attempt, reactions=7)
    assert QUIET.step(richer, take(ZOE, ORE, values=("iron",), reactions=9))[0] == replace(state, given=1)


# ---------------------------------------------------------------------------------------------------- yielding


def test_what_reacts_is_no_substitute() -> None:
    """An equal molecule that does not react is given instead."""
    state = having((IRON, "iron"), (13, "iron"), phase=Reacting(1, 0, HERE[:1]))
    assert QUIET.step(state, take(ANN, ORE, values=("iron",)))[0].molecules == Map(HERE[:1])


# --------------------------------------------------------------------------------------------------- any request


def test_equal_states_give_the_same_step() -> None:
    """In which order molecules came does not matter: the numbers of these two collide in a hash table."""
    first, second = ((1 << 40) + 769, "ore"), ((2 << 40) + 1, "ore")
    one, other = (having(), having())
    one = replace(one, molecules=one.molecules.set(*first).set(*second))
    other = replace(other, molecules=other.molecules.set(*second).set(*first))
    assert one == other
    event = take(ANN, ORE, values=("ore",))
    assert MACHINE.step(one, event) == MACHINE.step(other, event)


@pytest.mark.parametrize("nonsense", [take(ANN, IRON, IRON), take(ANN, IRON, ORE, values=("iron",))])
def test_a_request_that_makes_no_sense_is_refused(nonsense: Received) -> None:
    """Whatever a peer says, it does not stop the node."""
    assert MACHINE.step(FRESH, nonsense) == (FRESH, refused(ANN))
