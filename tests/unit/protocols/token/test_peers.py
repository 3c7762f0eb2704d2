"""Raymond's tree and Naimi and Tréhel's: case by case, and in every order of events of small worlds."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.protocols.machine import (
    Event,
    Machine,
    NodeId,
    Received,
    Report,
    Requested,
    Send,
    SetTimer,
    Step,
    TimerFired,
)
from solvent.protocols.token.vocabulary import Acquire, Granted, Moved, Release
from solvent_lab.checker import Model, Verdict, World, check
from solvent_lab.token_peers import NaimiTrehel, Raymond
from solvent_lab.token_peers.naimi_trehel import GuessState, Handed, Wanted
from solvent_lab.token_peers.raymond import Privilege, RaymondState, Request

ZERO, ONE, TWO, THREE = map(NodeId, range(4))
ACQUIRE, RELEASE = Requested(Acquire()), Requested(Release())
DONE = "done"


def after(machine: Any, *events: Event) -> Step[Any]:
    """Start a machine, let it take events, and give its last step."""
    step: Step[Any] = machine.start()
    for event in events:
        step = machine.step(step[0], event)
    return step


# ------------------------------------------------------------------------------------------------------- Raymond


def test_raymond_begins_with_the_token_at_the_root() -> None:
    """Everybody's parent leads to the token, and nothing is said."""
    assert Raymond(ZERO).start() == (RaymondState(ZERO), ())
    assert Raymond(NodeId(6)).start() == (RaymondState(TWO), ())
    assert Raymond(NodeId(6), arity=5).start() == (RaymondState(ONE), ())


def test_raymond_grants_what_is_here_at_once() -> None:
    """A node that has the token gives it to its user without a message."""
    assert after(Raymond(ZERO), ACQUIRE) == (RaymondState(ZERO, requests=1), (Report(Granted(1)),))


def test_raymond_asks_its_parent_once() -> None:
    """However many want the token behind a node, it asks for it once at a time."""
    state, effects = after(Raymond(ONE), ACQUIRE)
    assert effects == (Send(ZERO, Request()),)
    state, effects = Raymond(ONE).step(state, Received(THREE, Request()))
    assert (state, effects) == (RaymondState(ZERO, (ONE, THREE), is_asked=True, requests=1), ())


def test_raymond_serves_its_queue_in_order_and_asks_for_the_rest() -> None:
    """The token goes to the first in the queue; while others wait here, it is asked back at once."""
    events = Received(THREE, Request()), ACQUIRE, Received(ZERO, Privilege())
    state, effects = after(Raymond(ONE, tells_moves=True), *events)
    assert effects == (Report(Moved(THREE, "passed")), Send(THREE, Privilege()), Send(THREE, Request()))
    assert state == RaymondState(THREE, (ONE,), is_asked=True, requests=1)


def test_raymond_keeps_what_is_used_until_it_is_released() -> None:
    """A request that comes while the user has the token waits for its release."""
    machine = Raymond(ZERO, is_instant=False)
    state, effects = after(machine, ACQUIRE, Received(ONE, Request()))
    assert (state, effects) == (RaymondState(ZERO, (ONE,), is_used=True, requests=1), ())
    assert machine.step(state, ACQUIRE) == (state, ())
    assert machine.step(state, RELEASE) == (RaymondState(ONE, requests=1), (Send(ONE, Privilege()),))


def test_raymond_takes_one_request_of_its_user_at_a_time() -> None:
    """Whoever waits already, or has nothing to release, is not heard."""
    waiting, _ = after(Raymond(ONE), ACQUIRE)
    assert Raymond(ONE).step(waiting, ACQUIRE) == (waiting, ())
    assert Raymond(ONE).step(waiting, RELEASE) == (waiting, ())
    assert Raymond(ONE).step(waiting, TimerFired("x")) == (waiting, ())


# ---------------------------------------------------------------------------------------------- Naimi and Tréhel


def test_naimi_begins_with_the_token_at_the_first_node() -> None:
    """The first node has the token, and all others guess so."""
    assert NaimiTrehel(ZERO).start() == (GuessState(None, has_token=True), ())
    assert NaimiTrehel(TWO).start() == (GuessState(ZERO, has_token=False), ())


def test_naimi_grants_what_is_here_at_once() -> None:
    """The last of the queue that does not wait has the token."""
    assert after(NaimiTrehel(ZERO), ACQUIRE) == (GuessState(None, has_token=True, requests=1), (Report(Granted(1)),))


def test_naimi_asks_whom_it_takes_for_the_last_and_is_the_last_then() -> None:
    """A requester sends one request, and guesses itself."""
    state, effects = after(NaimiTrehel(TWO), ACQUIRE)
    assert (state, effects) == (
        GuessState(None, has_token=False, is_wanted=True, requests=1),
        (Send(ZERO, Wanted(TWO)),),
    )
    assert NaimiTrehel(TWO).step(state, ACQUIRE) == (state, ())
    assert NaimiTrehel(TWO).step(state, RELEASE) == (state, ())


def test_naimi_passes_a_request_on_and_turns_its_guess_round() -> None:
    """Who is not the last passes a request to whom it takes for it, and takes the requester for the last."""
    state, effects = after(NaimiTrehel(ONE), Received(TWO, Wanted(THREE)))
    assert (state, effects) == (GuessState(THREE, has_token=False), (Send(ZERO, Wanted(THREE)),))


def test_naimi_hands_a_token_that_rests_to_the_requester() -> None:
    """Where nobody waits, the token goes straight to who asked."""
    state, effects = after(NaimiTrehel(ZERO, tells_moves=True), Received(ONE, Wanted(THREE)))
    assert (state, effects) == (
        GuessState(THREE, has_token=False),
        (Report(Moved(THREE, "passed")), Send(THREE, Handed())),
    )


def test_naimi_lets_who_asks_the_last_be_next() -> None:
    """A request that finds the last of those who wait comes after it; the token goes there after use."""
    machine = NaimiTrehel(TWO, is_instant=False)
    state, effects = after(machine, ACQUIRE, Received(ONE, Wanted(ONE)))
    assert (state, effects) == (GuessState(ONE, has_token=False, next=ONE, is_wanted=True, requests=1), ())
    state, effects = machine.step(state, Received(ZERO, Handed()))
    assert effects == (Report(Granted(1)),)
    assert machine.step(state, RELEASE) == (GuessState(ONE, has_token=False, requests=1), (Send(ONE, Handed()),))
    assert machine.step(state, TimerFired("x")) == (state, ())


def test_naimi_keeps_the_token_where_nobody_is_next() -> None:
    """A token that was used and is wanted by nobody rests."""
    machine = NaimiTrehel(ZERO, is_instant=False)
    assert after(machine, ACQUIRE, RELEASE) == (GuessState(None, has_token=True, requests=1), ())


# ------------------------------------------------------------------------------------------------ in every order


class Busy:
    """A node whose user keeps the token for a while, and wants it again so often."""

    def __init__(self, machine: Machine[Any], again: int) -> None:
        self.machine = machine
        self.again = again

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[Any]:
        """Start the node."""
        state, effects = self.machine.start(saved, life)
        return (state, self.again), effects

    def step(self, state: Any, event: Event) -> Step[Any]:
        """Release the token some time after it was granted, and ask for it again."""
        inner, again = state
        if not isinstance(event, TimerFired):
            inner, effects = self.machine.step(inner, event)
        else:
            inner, effects = self.machine.step(inner, RELEASE)
            effects = (Report(DONE), *effects)
            if again:
                again -= 1
                inner, more = self.machine.step(inner, ACQUIRE)
                effects = (*effects, *more)
        if any(isinstance(effect, Report) and isinstance(effect.outcome, Granted) for effect in effects):
            effects = (*effects, SetTimer("use", 1))
        return (inner, again), effects


def observe(ghost: tuple[int, int], _node: NodeId, outcome: Any) -> tuple[int, int]:
    """Count who has the token, and how often somebody got it."""
    using, served = ghost
    return (using - 1, served) if outcome == DONE else (using + 1, served + 1)


def at_most_one_has_the_token(world: World) -> bool:
    """Look whether two users have it."""
    return 0 <= world.ghost[0] <= 1


@pytest.mark.parametrize("peer,nodes,again,states", [
    (Raymond, 3, 1, 526),
    (Raymond, 5, 0, 6_331),
    (NaimiTrehel, 3, 1, 813),
    (NaimiTrehel, 4, 0, 1_386),
])  # fmt: skip
def test_in_every_order_one_has_the_token_at_a_time_and_all_get_it(
    peer: type[Raymond | NaimiTrehel], nodes: int, again: int, states: int
) -> None:
    """All nodes want the token, once or twice: never do two have it, and everybody gets it in the end."""

    def all_are_served(world: World) -> bool:
        return bool(world.ghost == (0, nodes * (1 + again)))

    model = Model(
        machines=tuple(Busy(peer(NodeId(node), is_instant=False), again) for node in range(nodes)),
        requests=tuple((node, Acquire()) for node in range(nodes)),
        ghost=(0, 0),
        observe=observe,
        invariants=(at_most_one_has_the_token,),
        goal=all_are_served,
    )
    result = check(model)
    assert (result.verdict, result.states) == (Verdict.HOLDS, states)
