"""Capture by moving: what a holder gives, to whom, and what it keeps for itself."""

from __future__ import annotations

import pytest
from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture.moving_state import (
    Attempt,
    Given,
    Reacting,
)
from solvent.protocols.capture.vocabulary import (
    Abandoned,
    Arrived,
    Gone,
)
from solvent.protocols.machine import Received, Report, Send
from tests.unit.protocols.capture.workshop import (
    AGAIN,
    ANN,
    BEN,
    CHALK,
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

# ------------------------------------------------------------------------------------------------------ giving


def test_what_is_asked_for_is_given() -> None:
    """The molecules are the requester's from then on, and the program here hears that they are gone."""
    assert MACHINE.step(FRESH, take(ANN, COAL, IRON)) == (
        having(given=1),
        (Send(ANN, Given(1, 1, HERE[::-1])), Report(Gone(COAL)), Report(Gone(IRON))),
    )
    assert QUIET.step(FRESH, take(ANN, COAL))[1] == (Send(ANN, Given(1, 1, HERE[1:])),)


def test_gifts_are_numbered() -> None:
    """Each gift of a node has a number of its own."""
    state, _ = QUIET.step(FRESH, take(ANN, IRON))
    assert QUIET.step(state, take(BEN, COAL)) == (having(given=2), (Send(BEN, Given(1, 2, HERE[1:])),))


@pytest.mark.parametrize("wanted", [(ORE,), (IRON, ORE), ()], ids=["missing", "half", "none"])
def test_all_is_given_or_nothing(wanted: tuple[int, ...]) -> None:
    """Where one molecule is missing, the others stay."""
    assert MACHINE.step(FRESH, take(ANN, *wanted)) == (FRESH, refused(ANN))


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


def test_what_is_not_equal_is_no_substitute() -> None:
    """Without an equal molecule, or without a value to compare with, the request is refused."""
    assert MACHINE.step(FRESH, take(ANN, ORE, values=("ore",))) == (FRESH, refused(ANN))


def test_what_an_attempt_needs_is_no_substitute() -> None:
    """An equal molecule that this node's own attempt needs is not given to one who named another, whoever it is."""
    attempt = Attempt(1, 0, (IRON,), (BEN,), (COAL,))
    state = having(*HERE, phase=attempt, reactions=7)
    for value in ("iron", "coal"):
        assert MACHINE.step(state, take(ANN, ORE, values=(value,))) == (state, refused(ANN))
    richer = having(*HERE, (13, "iron"), phase=attempt, reactions=7)
    assert QUIET.step(richer, take(ZOE, ORE, values=("iron",), reactions=9))[0] == replace(state, given=1)


# ---------------------------------------------------------------------------------------------------- yielding


@pytest.mark.parametrize(
    "requester, reactions, is_before", [(ZOE, 2, True), (ANN, 3, True), (ZOE, 3, False), (ANN, 4, False)]
)
@pytest.mark.parametrize("wanted", [IRON, COAL], ids=["own", "come"])
def test_an_attempts_molecules_are_yielded_by_the_total_order(
    requester: int,
    reactions: int,
    is_before: bool,  # noqa: FBT001
    wanted: int,
) -> None:
    """Who has reacted less, or as often with a smaller number, gets what an attempt has here; nobody else does."""
    state = having(*HERE, phase=Attempt(1, 0, (IRON,), (BEN,), (COAL,)), reactions=3)
    after, effects = QUIET.step(state, take(requester, wanted, reactions=reactions))
    if is_before:
        assert after == replace(state, molecules=state.molecules.delete(wanted), given=1)
        assert effects == (Send(requester, Given(1, 1, ((wanted, dict(HERE)[wanted]),))),)
    else:
        assert (after, effects) == (state, refused(requester))


def test_what_an_attempt_does_not_need_is_given_to_anybody() -> None:
    """A node keeps only what its own attempt needs."""
    state = having(*HERE, phase=Attempt(1, 0, (IRON,), (BEN,)), reactions=3)
    after, _ = QUIET.step(state, take(ZOE, COAL, reactions=9))
    assert after.molecules == Map(HERE[:1])


def test_what_reacts_is_given_to_nobody() -> None:
    """While products are computed the reactants stay, also for who comes first in the order."""
    state = having(*HERE, phase=Reacting(1, 0, HERE[:1]), reactions=3)
    assert QUIET.step(state, take(ANN, IRON)) == (state, refused(ANN))
    assert QUIET.step(state, take(ANN, COAL))[0].molecules == Map(HERE[:1])


def test_what_reacts_is_no_substitute() -> None:
    """An equal molecule that does not react is given instead."""
    state = having((IRON, "iron"), (13, "iron"), phase=Reacting(1, 0, HERE[:1]))
    assert QUIET.step(state, take(ANN, ORE, values=("iron",)))[0].molecules == Map(HERE[:1])


def test_the_program_hears_of_what_a_robbed_attempt_loses() -> None:
    """What had come for an attempt and is yielded is gone again; the attempt then fails without it."""
    state = having(*HERE, (ORE, "ore"), phase=Attempt(1, 0, (IRON,), (BEN,), (ORE,)), attempts=1)
    state, effects = MACHINE.step(state, take(ANN, ORE))
    assert effects == (Send(ANN, Given(1, 1, ((ORE, "ore"),))), Report(Gone(ORE)))
    assert MACHINE.step(state, Received(BEN, Given(1, 4, ((CHALK, "chalk"),)))) == (
        having(*HERE, (CHALK, "chalk"), given=1, attempts=1),
        (Report(Abandoned(0, 1)), Report(Arrived(CHALK, "chalk")), AGAIN),
    )


def test_who_failed_and_tries_again_keeps_only_what_it_needs() -> None:
    """With an attempt out the attempt's own rules hold, and what it does not need is given to anybody."""
    state = having(*HERE, phase=Attempt(2, 0, (IRON,), (BEN,)))
    assert QUIET.step(state, take(ZOE, COAL))[0] == replace(state, molecules=Map(HERE[:1]), given=1)
    assert QUIET.step(state, take(ZOE, IRON)) == (state, refused(ZOE))


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
