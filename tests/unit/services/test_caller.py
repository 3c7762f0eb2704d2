"""The caller: kinds, makers, closing, and that every start leads to exactly one outcome."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvent.errors import Misuse, WorkflowProblem
from solvent.services import Caller, cancelled
from solvent.workflows.model import Policy, Service
from tests.unit.services import functions
from tests.unit.services.outcomes import LONG, Outcome, call, python, start

if TYPE_CHECKING:
    from solvent.services.call import Attempt


def test_recorded_durations_are_waited_for() -> None:
    """A replayed call takes its time and answers with nothing; a thousand wait in one thread."""
    services = [Service("s", kind="replay", options={"seconds": 0.2})]
    began, threads = time.monotonic(), set(threading.enumerate())
    with Caller(services) as caller:
        outcomes = [call(caller) for _ in range(1_000)]
        assert len(set(threading.enumerate()) - threads) <= 1
    assert time.monotonic() - began >= 0.2
    assert [one.reports for one in outcomes] == [[(None, None, 1)]] * 1_000


@pytest.mark.parametrize("seconds", [-1, "2", None, True, float("nan")])
def test_a_duration_must_be_a_number(seconds: object) -> None:
    """A recorded duration that is none is refused."""
    with pytest.raises(WorkflowProblem, match="`seconds` must be a number"):
        Caller([Service("s", kind="replay", options={"seconds": seconds})])


def test_a_replayed_call_can_be_cancelled() -> None:
    """A call that waits for its recorded duration is cancelled at once."""
    with Caller([Service("s", kind="replay", options={"seconds": LONG})]) as caller:
        outcome, handle = start(caller)
        handle.cancel()
        assert outcome.failure().kind == "CANCELLED"


def test_makers_add_kinds() -> None:
    """A kind that needs upper layers comes with its maker: in threads, or on its own."""

    def make_program(service: Service, caller: Caller) -> object:
        return caller.in_threads(lambda number: (service.target, number))

    def make_workflow(service: Service, caller: Caller) -> object:
        def launch(attempt: Attempt) -> None:
            attempt.begin()
            attempt.succeed((attempt.task, attempt.number, attempt.service is service))

        return launch

    services = [Service("p", kind="hocl", target="a.hocl"), Service("w", kind="workflow")]
    with Caller(services, makers={"hocl": make_program, "workflow": make_workflow}) as caller:  # type: ignore[dict-item]
        assert call(caller, "p", 3).value() == ("a.hocl", 3)
        assert call(caller, "w").value() == ("T1", 1, True)


def test_an_unknown_kind_is_refused() -> None:
    """Without its maker, a kind is refused."""
    with pytest.raises(WorkflowProblem, match="the kind `hocl` cannot be called here"):
        Caller([Service("s", kind="hocl")])


def test_misuse_is_told() -> None:
    """A service that is not there and a caller that is closed are told."""
    caller = Caller([python(functions.double)])
    with pytest.raises(Misuse, match="there is no service `other`"):
        call(caller, "other")
    caller.close()
    caller.close(cancel=True)
    with pytest.raises(Misuse, match="a closed caller"):
        call(caller)


def test_an_error_in_the_block_cancels() -> None:
    """Leaving the caller's block by an exception cancels what runs."""
    go, outcome = threading.Event(), Outcome()

    def leave_by_error() -> None:
        with Caller([python(lambda: go.wait(LONG))]) as caller:
            caller.start("s", "T1", [], {}, outcome)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        leave_by_error()
    assert outcome.failure().kind == "CANCELLED"
    go.set()


async def dawdle(seconds: float) -> None:
    await asyncio.sleep(seconds)


def spin(seconds: float) -> None:
    """Take some time, or less if cancelled."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not cancelled():
        time.sleep(0.001)


def falter(seconds: float) -> None:
    """Take some time and fail half of the time."""
    time.sleep(seconds)
    if random.random() < 0.5:
        raise ValueError("bad luck")


POLICIES = st.builds(
    Policy,
    timeout=st.sampled_from([None, 0.002, 0.01]),
    retries=st.integers(0, 2),
    backoff=st.sampled_from([0.0, 0.002]),
    concurrency=st.sampled_from([None, 1, 3]),
    rate=st.sampled_from([None, 500.0]),
    heartbeat=st.sampled_from([None, 0.005]),
)
FUNCTIONS = st.sampled_from([dawdle, spin, falter])


@settings(max_examples=40)
@given(
    services=st.lists(st.tuples(FUNCTIONS, POLICIES), min_size=1, max_size=3),
    calls=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([0.0, 0.001, 0.004, 0.02]), st.booleans()), max_size=25
    ),
    jobs=st.integers(1, 4),
    cancel=st.booleans(),
)
def test_every_start_has_exactly_one_outcome(
    *, services: list[tuple[object, Policy]], calls: list[tuple[int, float, bool]], jobs: int, cancel: bool
) -> None:
    """Whatever is started, cancelled, timed out, retried, limited and closed: one outcome each, no more, no less."""
    made = [
        Service(f"s{number}", function=function, policy=policy) for number, (function, policy) in enumerate(services)
    ]
    caller = Caller(made, jobs=jobs)
    outcomes = list[Outcome]()
    for which, seconds, cancelling in calls:
        outcome, handle = start(caller, f"s{which % len(made)}", seconds)
        outcomes.append(outcome)
        if cancelling:
            threading.Timer(seconds / 2, handle.cancel).start()
    caller.close(cancel=cancel)
    for outcome in outcomes:
        outcome.wait()
    time.sleep(0.03)
    assert [len(outcome.reports) for outcome in outcomes] == [1] * len(calls)
    for outcome in outcomes:
        value, failure, attempts = outcome.reports[0]
        assert value is None
        assert failure is None or failure.attempts == attempts


@settings(max_examples=8)
@given(
    calls=st.lists(st.tuples(st.sampled_from(["s", "die", "sleep"]), st.booleans()), max_size=25),
    cancel=st.booleans(),
)
def test_every_start_has_exactly_one_outcome_with_processes(*, calls: list[tuple[str, bool]], cancel: bool) -> None:
    """Worker processes that die, are killed for a cancelled call or a time-out: one outcome each all the same."""
    services = [
        python(functions.double),
        python(functions.die, "die", retries=1, backoff=0.0),
        python(functions.sleep, "sleep", timeout=0.02),
    ]
    caller = Caller(services, jobs=2, processes=True)
    outcomes = list[Outcome]()
    for service, cancelling in calls:
        outcome, handle = start(caller, service, *([] if service == "die" else [0.01]))
        outcomes.append(outcome)
        if cancelling:
            threading.Timer(0.02, handle.cancel).start()
    caller.close(cancel=cancel)
    for outcome in outcomes:
        outcome.wait()
    assert [len(outcome.reports) for outcome in outcomes] == [1] * len(calls)


@pytest.mark.parametrize("policy", [Policy(), Policy(retries=1), Policy(concurrency=1)])
@pytest.mark.parametrize("kind", ["python", "replay"])
def test_calls_wait_until_they_may_begin(kind: str, policy: Policy) -> None:
    """While whoever calls must not act no call begins, and one that waits can be cancelled."""
    may = threading.Event()
    options = {"seconds": 0.0} if kind == "replay" else {}
    service = Service("s", kind=kind, function=dict, policy=policy, options=options)
    with Caller([service], may_begin=may.is_set) as caller:
        first, handle = start(caller)
        handle.cancel()
        assert first.failure().kind == "CANCELLED"
        second, _ = start(caller)
        time.sleep(0.15)
        assert second.reports == []
        may.set()
    assert [one[1] for one in second.reports] == [None]
