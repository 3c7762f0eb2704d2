"""Capture by moving through crashes: gifts are saved, confirmed and known again, and records give everything back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.protocols.capture.moving import (
    Attempt,
    Closed,
    Confirmed,
    Gave,
    Given,
    Got,
    Kept,
    MovingConfig,
    MovingState,
    Reacting,
    Refused,
    Take,
    moving_node,
    recovered,
)
from solvent.protocols.capture.vocabulary import (
    Combination,
    Discover,
    Products,
    Rewrite,
    Wake,
)
from solvent.protocols.machine import Answered, PeerRestarted, Received, Requested
from solvent.protocols.maps import Map
from solvent_lab.models.capture import compacted_moving
from tests.unit.protocols.capture.workshop import Life, check_crashes

ANN, BEN = 1, 2
IRON, COAL, ORE = 11, 12, 21
HERE = ((IRON, "iron"), (COAL, "coal"))
CONFIG = MovingConfig(0, HERE, confirm=True)
MACHINE = moving_node(CONFIG)


def gift(number: int, *molecules: tuple[int, Any], attempt: int = 1) -> Given:
    """Give a gift."""
    return Given(attempt, number, molecules)


# -------------------------------------------------------------------------------------------------------- restarts


@pytest.mark.xfail(strict=True, reason="the number of the life has twelve bits: the next node's names begin above them")
def test_no_two_nodes_give_one_name_however_often_they_restart() -> None:
    """A molecule made in a node's 4096th new life is not taken for one that the next node made in its first."""
    names = []
    for node, life in ((0, 1 << 12), (1, 0)):
        machine = moving_node(MovingConfig(node))
        state, _ = machine.step(machine.start((), life)[0], Answered(Rewrite((), ("steel",))))
        names += state.molecules
    assert len(set(names)) == 2


# ------------------------------------------------------------------------------------------------ record by record


@pytest.mark.parametrize(
    "saved, fewest",
    [
        ((Gave(1, ANN, HERE[:1]),), (Gave(1, ANN, HERE[:1]),)),
        ((Gave(1, ANN, HERE[:1]), Closed(1)), (Kept((IRON,), (), 0),)),
        ((Got(ANN, 7, ((ORE, "ore"),)),), (Got(ANN, 7, ()), Kept((), ((ORE, "ore"),), 0))),
        ((Kept((), ((ORE, "ore"),), 1), Kept((ORE,), (), 2)), (Kept((), (), 2),)),
    ],
    ids=["gave", "gave for good", "got", "reacted"],
)
def test_records_can_be_fewer(saved: Any, fewest: Any) -> None:
    """What came to nothing need not be kept, and what is the same is said once."""
    assert compacted_moving(CONFIG, saved) == fewest


@pytest.mark.parametrize("began", [HERE, ()], ids=["its own", "another's"])
def test_fewer_records_keep_what_came_back_from_a_gift_still_open(began: Any) -> None:
    """A giver may crash before it hears that its gift came, and be given the molecule back before it hears so again."""
    here, there = moving_node(replace(CONFIG, molecules=began)), moving_node(MovingConfig(ANN, confirm=True))
    iron = HERE[:1]
    start = () if began else (Kept((), iron, 0),)
    state, effects = here.step(here.start(start)[0], Received(ANN, Take(1, (IRON,), (), 0)))
    saved = (*start, effects[0].record)
    other, _ = there.step(there.start()[0], Received(0, effects[1].message))
    # This node asks for it back and crashes; both the confirmation and the gift are lost.
    other, _ = there.step(other, Received(0, Take(5, (IRON,), (), 0)))
    state, _ = here.start(saved, 1)
    _, (again,) = there.step(other, PeerRestarted(0))
    state, effects = here.step(state, Received(ANN, again.message))
    saved += (effects[0].record,)
    assert IRON in state.molecules
    assert IRON in recovered(here.config, saved).molecules
    assert IRON in recovered(here.config, compacted_moving(here.config, saved)).molecules


def test_fewer_records_keep_what_a_node_gave_to_itself() -> None:
    """Where a node asks itself, its gift has come before it hears so."""
    saved = (Gave(1, 0, HERE[:1]), Got(0, 1, HERE[:1]))
    assert recovered(CONFIG, saved).molecules == Map(HERE)
    assert recovered(CONFIG, compacted_moving(CONFIG, saved)).molecules == Map(HERE)


# ---------------------------------------------------------------------------------------------------- random lives


def surviving(state: MovingState) -> Any:
    """Give what of a state must outlive a crash."""
    return state.molecules, state.gifts, state.got, state.reactions


class MovingLife(Life):
    """A life of a machine that moves molecules."""

    numbers = 0

    def kinds(self) -> tuple[str, ...]:
        """Give what may happen next."""
        waiting = ("answer",) * 4 if self.question else ("gift",) * 2
        return (*waiting, "take", "take", "gift", "gift", "reply", "program")

    def peer(self) -> int:
        """Pick another node."""
        return self.chance.choice((ANN, BEN))

    def from_take(self) -> Any:
        """Let another node want molecules, by name or by value."""
        names = self.shuffled([*sorted(self.state.molecules)[:3], 99])
        wanted = tuple(names[: self.chance.randint(1, 2)])
        values = ("ore",) * len(wanted) if self.chance.random() < 0.5 else ()
        return Received(self.peer(), Take(1, wanted, values, self.chance.randint(0, 2)))

    def from_gift(self) -> Any:
        """Give it a molecule, for its attempt or for none, or the last one again."""
        phase, giver = self.state.phase, self.peer()
        self.numbers += self.chance.choice((0, 1, 1))
        attempt = phase.number if isinstance(phase, Attempt) and self.chance.random() < 0.5 else -1
        return Received(giver, gift(self.numbers, (1000 * giver + self.numbers, "ore"), attempt=attempt))

    def from_reply(self) -> Any:
        """Refuse, confirm, or restart."""
        phase = self.state.phase
        number = phase.number if isinstance(phase, Attempt) else 0
        confirmed = Confirmed(self.chance.choice((*sorted(self.state.gifts), 99)))
        said = self.chance.choice((Refused(number), confirmed, confirmed, PeerRestarted(self.peer())))
        return said if isinstance(said, PeerRestarted) else Received(self.peer(), said)

    def from_answer(self) -> Any:
        """Answer the question that is open."""
        question, self.question = self.question, None
        if not isinstance(question, Discover):
            return Answered(Products(("steel",) * self.chance.randint(0, 2)))
        places = self.shuffled([*((item, 0) for item in sorted(self.state.molecules)[:3]), (98, ANN)])
        return Answered(Combination(0, tuple(places[: self.chance.choice((0, 2, 2))])))

    def from_program(self) -> Any:
        """Let the program react on molecules of which none is reacting, or call."""
        phase = self.state.phase
        reacting = {item for item, _ in phase.molecules} if isinstance(phase, Reacting) else set()
        free = [molecule for molecule in sorted(self.state.molecules) if molecule not in reacting]
        removed = tuple(free[: self.chance.randint(0, 2)])
        return Requested(self.chance.choice((Wake(), Rewrite(removed, ("slag",)))))


@given(seed=st.integers(0, 1 << 32))
def test_a_crash_at_any_moment_loses_nothing_that_matters(seed: int) -> None:
    """Whatever happened, the records give the molecules and gifts of the state that wrote them."""
    check_crashes(MovingLife(seed, MACHINE), seed, surviving, recovered, compacted_moving)
