"""The requester's side of the paper's protocol: one attempt from the combination found to its end."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import Abandoned, Combination, Switched
from solvent.protocols.machine import Answered, Received, Report, Send, SetTimer
from solvent_lab.papers.capture import capture_node
from solvent_lab.papers.capture.messages import (
    Fetch,
    GiveUp,
    RespTaken,
)
from solvent_lab.papers.capture.requester import LOOK
from solvent_lab.papers.capture.state import (
    RESTING,
    CaptureConfig,
    CaptureState,
    Fetching,
    Success,
)

IRON, COAL = 7, 8
ANN, BEN = 1, 2
"""Who holds the iron, and who holds the coal."""
PLACES = ((IRON, ANN), (COAL, BEN))
FOUND = Answered(Combination(0, PLACES))

# The rates of others are not listened to, so that only the node's own history counts.
CONFIG = CaptureConfig(0, max_own=4, max_remote=0, protocol="optimistic")
OPTIMIST = capture_node(CONFIG)
PESSIMIST = capture_node(replace(CONFIG, protocol="pessimistic"))
HOPEFUL = OPTIMIST.start()[0]
CAREFUL = PESSIMIST.start()[0]


def in_phase(state: CaptureState, phase: Any, own: bytes = b"\1\1\1\1") -> CaptureState:
    """Give the node in its first attempt, with a history of its own."""
    return replace(state, phase=phase, attempts=1, success=(Success(own, own.count(1)),))


def heard(sender: int, kind: type, molecule: int, *more: Any, attempt: int = 1) -> Received:
    """Let a holder answer."""
    return Received(sender, kind(molecule, attempt, 0, 4, *more))


def to_all(kind: type, *more: Any, rate: int = 4) -> tuple[Send, ...]:
    """Say the same of every molecule to its holder."""
    return tuple(Send(holder, kind(molecule, 1, 0, rate, *more)) for molecule, holder in PLACES)


# --------------------------------------------------------------------------------------------------- beginning


def test_a_change_of_mind_is_reported() -> None:
    """A node that goes about its attempt in another way than its last says so."""
    careful = replace(HOPEFUL, mode="pessimistic", aborts=3)
    assert OPTIMIST.step(careful, FOUND) == (
        in_phase(HOPEFUL, Fetching(1, 0, PLACES, True)),
        (Report(Switched("optimistic", 0)), *to_all(Fetch, True)),
    )


@pytest.mark.parametrize("mode, aborts", [("optimistic", 0), ("dormant", 3)])
def test_failures_count_from_becoming_pessimistic(mode: str, aborts: int) -> None:
    """Who was an optimist begins to count its failures; who slept goes on counting."""
    after, effects = PESSIMIST.step(replace(CAREFUL, mode=mode, aborts=3), FOUND)
    assert effects[0] == Report(Switched("pessimistic", 0))
    assert (after.mode, after.aborts) == ("pessimistic", aborts)


def test_an_attempt_is_for_the_rule_of_the_combination() -> None:
    """Messages carry the rate for the rule that the molecules are wanted for."""
    machine = capture_node(replace(CONFIG, arities=(2, 1), rule=1))
    state = machine.start()[0]
    state = replace(state, success=(state.success[0], Success(b"\0\1\1\1", 3)))
    after, effects = machine.step(state, Answered(Combination(1, ((IRON, ANN),))))
    assert after.phase == Fetching(1, 1, ((IRON, ANN),), True)
    assert effects == (Send(ANN, Fetch(IRON, 1, 1, 3, True)),)


# ----------------------------------------------------------------------------------------------------- optimist


def test_a_node_may_wait_before_it_tries_again() -> None:
    """Where messages to oneself take no time, it would else never hear of anybody."""
    machine = capture_node(replace(CONFIG, retry_after=6))
    state = in_phase(HOPEFUL, Fetching(1, 0, PLACES, True, refused=1))
    after, effects = machine.step(state, heard(BEN, RespTaken, COAL))
    assert after.phase == RESTING
    assert effects == (*to_all(GiveUp, rate=3), Report(Abandoned(0, 1)), SetTimer(LOOK, 6))
