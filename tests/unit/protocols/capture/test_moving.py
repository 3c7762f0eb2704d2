"""Capture by moving: what a holder gives, how an attempt ends, and what the program hears."""

from __future__ import annotations

from typing import Any

import pytest
from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture.messages import GiveUp
from solvent.protocols.capture.moving import LOOK, Moving
from solvent.protocols.capture.moving_state import (
    IDLE,
    SEARCHING,
    Attempt,
    Confirmed,
    Given,
    MovingConfig,
    MovingState,
    Reacting,
    Refused,
    Take,
)
from solvent.protocols.capture.vocabulary import (
    Abandoned,
    Arrived,
    Combination,
    Discover,
    Gone,
    Products,
    React,
    Reacted,
    Rewrite,
    Switched,
    Wake,
)
from solvent.protocols.machine import Answered, Ask, Chosen, Received, Report, Requested, Send, SetTimer, TimerFired

ME = 5
"""The node looked at; there are others before and after it in the total order."""
ANN, BEN, ZOE = 1, 2, 9
IRON, COAL, ORE, CHALK = 11, 12, 21, 31
"""Iron and coal are here, ore is at Ann's, chalk at Ben's."""
HERE = ((IRON, "iron"), (COAL, "coal"))
NEW = (ME + 1) << 40
"""The names of molecules made here are above this number."""
AGAIN = Ask(Discover(0))

CONFIG = MovingConfig(ME, HERE)
MACHINE = Moving(CONFIG)
QUIET = Moving(replace(CONFIG, tell=False))
FRESH = MACHINE.start()[0]


def having(*molecules: tuple[int, Any], phase: Any = SEARCHING, **more: Any) -> MovingState:
    """Give the node with other molecules."""
    return replace(FRESH, molecules=Map(molecules), phase=phase, **more)


def take(requester: int, *molecules: int, values: tuple[Any, ...] = (), reactions: int = 0) -> Received:
    """Let a requester ask for molecules."""
    return Received(requester, Take(1, molecules, values, reactions))


def refused(to: int) -> tuple[Send]:
    """Give the answer of a holder that keeps what it has."""
    return (Send(to, Refused(1)),)


# ------------------------------------------------------------------------------------------------------- start


def test_a_node_begins_by_looking_for_a_reaction() -> None:
    """It has its molecules, and the program knows of them."""
    assert MACHINE.start() == (MovingState(Map(HERE), SEARCHING), (AGAIN,))


def test_a_restarted_node_counts_from_its_life() -> None:
    """Numbers of attempts, gifts and molecules are never given twice; the program hears what is left."""
    state, effects = MACHINE.start((), 2)
    assert (state.attempts, state.given, state.made) == (2 << 28, 2 << 28, 2 << 28)
    assert sorted(effect.outcome.molecule for effect in effects[:-1]) == [IRON, COAL]
    assert effects[-1] == AGAIN


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
        having(*HERE, (CHALK, "chalk"), given=1, attempts=1, is_wanting=True),
        (Report(Abandoned(0, 1)), Report(Arrived(CHALK, "chalk")), AGAIN),
    )


# --------------------------------------------------------------------------------------------------- capturing


def test_a_node_reacts_with_its_own_molecules_at_once() -> None:
    """What lies here needs no messages."""
    state, effects = MACHINE.step(FRESH, Answered(Combination(0, ((IRON, ME), (COAL, ME)))))
    assert (state, effects) == (replace(FRESH, phase=Reacting(1, 0, HERE), attempts=1), (Ask(React(0, HERE)),))
    assert MACHINE.step(replace(state, is_woken=True), Answered(Products(("steel",)))) == (
        having((NEW + 1, "steel"), attempts=1, reactions=1, made=1),
        (Report(Reacted(0, 1, (IRON, COAL), ((NEW + 1, "steel"),))), AGAIN),
    )


def test_one_message_goes_to_each_holder() -> None:
    """It lists all that is wanted from there, and the values if they are known."""
    places = ((ORE, ANN), (IRON, ME), (CHALK, BEN), (22, ANN))
    attempt = Attempt(1, 0, (IRON,), (ANN, BEN))
    state = replace(FRESH, reactions=3)
    after, effects = MACHINE.step(state, Answered(Combination(0, places, ("ore", "iron", "chalk", "ore"))))
    assert after == replace(state, phase=attempt, attempts=1)
    assert effects == (Send(ANN, Take(1, (ORE, 22), ("ore", "ore"), 3)), Send(BEN, Take(1, (CHALK,), ("chalk",), 3)))
    _, effects = MACHINE.step(state, Answered(Combination(0, places)))
    assert effects == (Send(ANN, Take(1, (ORE, 22), (), 3)), Send(BEN, Take(1, (CHALK,), (), 3)))


def test_a_node_may_have_to_ask_itself() -> None:
    """Where the paper's costs are to be compared with, what lies here altogether is asked for like anything else."""
    machine = Moving(replace(CONFIG, is_local=False, tell=False))
    state, effects = machine.step(FRESH, Answered(Combination(0, ((IRON, ME), (COAL, ME)))))
    assert (state.phase, effects) == (Attempt(1, 0, (), (ME,)), (Send(ME, Take(1, (IRON, COAL), (), 0)),))
    state, effects = machine.step(state, Received(ME, effects[0].message))
    assert effects == (Send(ME, Given(1, 1, HERE)),)
    assert machine.step(state, Received(ME, effects[0].message))[1] == (Ask(React(0, HERE)),)
    # With others in it, its own part costs nothing in either case.
    state, effects = machine.step(FRESH, Answered(Combination(0, ((IRON, ME), (ORE, ANN)))))
    assert (state.phase.own, effects) == ((IRON,), (Send(ANN, Take(1, (ORE,), (), 0)),))


def test_a_reaction_happens_when_all_has_come() -> None:
    """The last gift completes the combination, with substitutes in place of what was named."""
    state = having(*HERE, phase=Attempt(1, 0, (IRON,), (ANN, BEN)))
    state, effects = MACHINE.step(state, Received(BEN, Given(1, 8, ((CHALK, "chalk"),))))
    assert state == having(*HERE, (CHALK, "chalk"), phase=Attempt(1, 0, (IRON,), (ANN,), (CHALK,)))
    assert effects == ()
    state, effects = MACHINE.step(state, Received(ANN, Given(1, 3, ((22, "ore"),))))
    reactants = ((IRON, "iron"), (CHALK, "chalk"), (22, "ore"))
    assert (state.phase, effects) == (Reacting(1, 0, reactants), (Ask(React(0, reactants)),))


def test_a_refused_attempt_keeps_what_has_come() -> None:
    """It waits for all answers; then the program hears of what came and looks again."""
    state = having(*HERE, phase=Attempt(1, 0, (IRON,), (ANN, BEN)), is_woken=True)
    state, effects = MACHINE.step(state, Received(BEN, Refused(1)))
    assert (state.phase, effects) == (Attempt(1, 0, (IRON,), (ANN,), is_refused=True), ())
    assert MACHINE.step(state, Received(ANN, Given(1, 3, ((ORE, "ore"),)))) == (
        having(*HERE, (ORE, "ore"), is_wanting=True),
        (Report(Abandoned(0, 1)), Report(Arrived(ORE, "ore")), AGAIN),
    )


def test_the_last_refusal_ends_the_attempt() -> None:
    """A node that is refused everything has what it had."""
    state = having(*HERE, phase=Attempt(1, 0, (IRON,), (ANN,)))
    failed = replace(FRESH, is_wanting=True)
    assert MACHINE.step(state, Received(ANN, Refused(1))) == (failed, (Report(Abandoned(0, 1)), AGAIN))


def test_a_combination_that_is_no_longer_here_is_abandoned() -> None:
    """What the program proposes may have left since it looked."""
    assert MACHINE.step(FRESH, Answered(Combination(0, ((IRON, ME), (ORE, ME))))) == (
        replace(FRESH, attempts=1, is_wanting=True),
        (Report(Abandoned(0, 1)), AGAIN),
    )


def test_who_failed_and_rests_keeps_its_place() -> None:
    """Asked by one who comes later it refuses and looks again; it gives if it finds nothing, or to one who is first."""
    resting, later = replace(FRESH, phase=IDLE, is_wanting=True), take(BEN, IRON, reactions=1)
    given = Send(BEN, Given(1, 1, (HERE[0],)))
    assert MACHINE.step(resting, take(BEN, IRON))[1][0] == given
    state, effects = MACHINE.step(resting, later)
    assert effects == (*refused(BEN), AGAIN)
    assert MACHINE.step(state, later) == (state, refused(BEN))
    state, _ = MACHINE.step(state, Answered(Combination(0, ())))
    assert (state.phase, state.is_wanting) == (IDLE, False)
    assert MACHINE.step(state, later)[1][0] == given


def test_what_lies_at_several_nodes_is_for_those_who_have_a_part() -> None:
    """A combination of which this node has nothing, and no single node all, is not asked for."""
    state, effects = MACHINE.step(FRESH, Answered(Combination(0, ((ORE, ANN), (CHALK, BEN)))))
    assert (state.phase, effects) == (IDLE, (Report(Switched("idle", 0)),))


def test_products_are_given_only_for_a_reaction() -> None:
    """A program that answers what was not asked is at fault."""
    with pytest.raises(AssertionError, match="asked for"):
        MACHINE.step(FRESH, Answered(Products(())))


# ----------------------------------------------------------------------------------------- late, or not understood


@pytest.mark.parametrize("phase", [IDLE, SEARCHING, Reacting(2, 0, HERE), Attempt(2, 0, (IRON,), (ANN,))])
def test_a_refusal_of_another_attempt_is_not_counted(phase: Any) -> None:
    """A holder may answer an attempt that a crash ended."""
    state = replace(FRESH, phase=phase)
    assert MACHINE.step(state, Received(ANN, Refused(1))) == (state, ())


def test_a_gift_for_another_attempt_stays() -> None:
    """Its molecules live here from now on; a node at rest looks what they are good for."""
    gift = Received(ANN, Given(1, 3, ((ORE, "ore"),)))
    arrived, richer = Report(Arrived(ORE, "ore")), (*HERE, (ORE, "ore"))
    assert MACHINE.step(replace(FRESH, phase=IDLE), gift) == (having(*richer), (arrived, AGAIN))
    for phase in (SEARCHING, Reacting(2, 0, HERE), Attempt(2, 0, (IRON,), (ANN,))):
        assert MACHINE.step(replace(FRESH, phase=phase), gift) == (
            having(*richer, phase=phase, is_woken=True),
            (arrived,),
        )


@pytest.mark.parametrize(
    "event",
    [
        Received(ANN, GiveUp(IRON, 1, 0, 0)),
        Received(ANN, Confirmed(1)),
        Requested("nonsense"),
        Answered("nonsense"),
        Chosen(0),
    ],
    ids=["other protocol", "confirmed", "request", "answer", "choice"],
)
def test_what_means_nothing_changes_nothing(event: Any) -> None:
    """A machine drops what is not of its language, or not for it."""
    assert MACHINE.step(FRESH, event) == (FRESH, ())


# ----------------------------------------------------------------------------------------------------- the program


@pytest.mark.parametrize("event", [Requested(Wake()), TimerFired(LOOK)])
def test_news_wake_a_node_that_rests(event: Any) -> None:
    """One that is busy looks again before it rests."""
    assert MACHINE.step(replace(FRESH, phase=IDLE), event) == (FRESH, (AGAIN,))
    assert MACHINE.step(FRESH, event) == (replace(FRESH, is_woken=True), ())


def test_who_finds_nothing_rests() -> None:
    """Until it is woken, for a while, or not at all if something changed while it looked."""
    nothing = Answered(Combination(0, ()))
    idle = replace(FRESH, phase=IDLE)
    assert MACHINE.step(FRESH, nothing) == (idle, (Report(Switched("idle", 0)),))
    assert Moving(replace(CONFIG, look_again=3)).step(FRESH, nothing) == (idle, (SetTimer(LOOK, 3),))
    assert MACHINE.step(replace(FRESH, is_woken=True), nothing) == (FRESH, (AGAIN,))


def test_the_program_may_react_by_itself() -> None:
    """What it takes away is gone, what it puts in gets new names, and a node at rest looks again."""
    rewrite = Rewrite((COAL, IRON), ("steel",))
    after = having((NEW + 1, "steel"), made=1, reactions=1)
    told = (Report(Gone(COAL)), Report(Gone(IRON)), Report(Arrived(NEW + 1, "steel")))
    assert MACHINE.step(replace(FRESH, phase=IDLE), Requested(rewrite)) == (after, (*told, AGAIN))
    assert MACHINE.step(FRESH, Requested(rewrite)) == (replace(after, is_woken=True), told)
    assert MACHINE.step(FRESH, Answered(rewrite)) == (after, (*told, AGAIN))
    assert QUIET.step(FRESH, Answered(rewrite)) == (after, (AGAIN,))


def test_putting_molecules_in_is_no_reaction() -> None:
    """A program that adds molecules without taking any keeps its place in the total order."""
    after, effects = MACHINE.step(FRESH, Answered(Rewrite((), ("steel",))))
    assert (after.reactions, effects) == (0, (Report(Arrived(NEW + 1, "steel")), AGAIN))


def test_the_program_takes_only_what_is_here() -> None:
    """A program that takes away what has left is at fault."""
    with pytest.raises(AssertionError, match="told of"):
        MACHINE.step(FRESH, Answered(Rewrite((ORE,), ())))


def test_the_program_does_not_take_what_reacts() -> None:
    """A program that takes away what it was asked to react on is at fault, and hears so at once."""
    state = replace(FRESH, phase=Reacting(1, 0, HERE), attempts=1)
    with pytest.raises(AssertionError):
        MACHINE.step(state, Requested(Rewrite((IRON,), ())))


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
