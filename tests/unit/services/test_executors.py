"""Executors that users bring along: threads, processes, loky's, Dask's."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

from solvent.errors import WorkflowProblem
from solvent.services import Caller, Failure, cancelled, heartbeat
from tests.unit.services import functions
from tests.unit.services.outcomes import LONG, Time, call, python, start, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def processes() -> Iterator[ProcessPoolExecutor]:
    """Give a pool of the library's processes."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        yield executor


def test_threads_of_the_library(time_: Time) -> None:
    """A thread pool that was brought along runs the calls, also under a policy."""

    def beat() -> str:
        for _ in range(4):
            time_.passes(40, caller.clock)
            heartbeat()
        return "done"

    with ThreadPoolExecutor(2, "brought") as executor:
        name = python(lambda: threading.current_thread().name)
        with Caller([name, python(beat, "beat", heartbeat=60, timeout=600)], executor=executor) as caller:
            assert call(caller).value().startswith("brought")
            assert call(caller, "beat").value() == "done"


def test_a_call_in_a_thread_that_was_brought_can_be_cancelled() -> None:
    """A running function in somebody else's thread sees that it is cancelled; one that waits never runs."""
    ran = list[str]()
    running = threading.Event()

    def work() -> None:
        running.set()
        wait_until(cancelled)

    with (
        ThreadPoolExecutor(1) as executor,
        Caller([python(work), python(ran.append, "note")], executor=executor) as caller,
    ):
        outcomes = [start(caller), start(caller, "note", "ran")]
        assert running.wait(LONG)
        for _, handle in reversed(outcomes):
            handle.cancel()
        assert [outcome.failure().kind for outcome, _ in outcomes] == ["CANCELLED", "CANCELLED"]
    assert ran == []


def test_processes_of_the_library(processes: ProcessPoolExecutor, tmp_path: Path) -> None:
    """A process pool that was brought along runs the calls; failures and bad results are told."""
    services = [
        python(functions.double),
        python(functions.fail, "fail", retries=1, backoff=0.0),
        python(functions.make_lock, "lock"),
        python(functions.wait_for, "wait", timeout=0.3),
    ]
    with Caller(services, executor=processes) as caller:
        assert call(caller, "s", 2).wait() == (4, None, 1)
        failure = call(caller, "fail", "x").failure()
        assert (failure.kind, failure.text, failure.attempts) == ("FAILED", "ValueError: x", 2)
        assert call(caller, "lock").failure().text.startswith("its result cannot be passed between processes")
        assert call(caller, "wait", str(tmp_path / "go")).failure() == Failure("TIMEOUT", "no result after 0.3 s")
        (tmp_path / "go").touch()


def test_a_broken_pool_loses_its_calls(processes: ProcessPoolExecutor) -> None:
    """When a process of the library's pool dies, the call is lost, and so are all later ones."""
    with Caller([python(functions.die), python(functions.double, "double")], executor=processes) as caller:
        assert call(caller).failure().kind == "LOST"
        failure = call(caller, "double", 1).failure()
    assert failure.kind == "LOST"
    assert failure.text.startswith("the executor accepts no calls: BrokenProcessPool")


def test_signs_of_life_from_afar_are_refused(processes: ProcessPoolExecutor) -> None:
    """A heartbeat that could never arrive is refused before anything runs."""
    with pytest.raises(WorkflowProblem, match="heartbeats cannot be sent from a ProcessPoolExecutor"):
        Caller([python(functions.double, heartbeat=1.0)], executor=processes)


def test_an_executor_that_is_shut_down_takes_no_calls() -> None:
    """A call to an executor that has ended fails instead of raising."""
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with Caller([python(functions.double)], executor=executor) as caller:
        assert call(caller, "s", 1).failure().text.startswith("the executor accepts no calls")


def test_loky() -> None:
    """Loky's executor runs lambdas, partial functions and local ones, and its broken pool loses calls."""
    loky = pytest.importorskip("loky")
    factor = 3

    def times(number: int) -> int:
        return factor * number

    services = [
        python(lambda number: number + 1, "more"),
        python(times, "times"),
        python(partial(times, 7), "partial"),
        python(functions.die, "die"),
    ]
    with (
        loky.ProcessPoolExecutor(1, timeout=LONG) as executor,
        Caller(services, executor=executor) as caller,
    ):
        assert call(caller, "more", 1).value() == 2
        assert call(caller, "times", 2).value() == 6
        assert call(caller, "partial").value() == 21
        assert call(caller, "die").failure().kind == "LOST"


def test_dask(tmp_path: Path) -> None:
    """Dask's executor runs every call, tells failures and bad results, and its calls can take too long."""
    distributed = pytest.importorskip("distributed")
    services = [
        python(functions.double),
        python(functions.process_id, "pid"),
        python(functions.fail, "fail"),
        python(functions.make_lock, "lock"),
        python(functions.wait_for, "wait", timeout=0.5),
        python(lambda number: [os.getpid(), number], "lambda"),
    ]
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
        Caller(services, executor=executor) as caller,
    ):
        outcomes = [call(caller, "s", number) for number in range(100)]
        assert [one.value() for one in outcomes] == [2 * number for number in range(100)]
        assert call(caller, "pid").value() != os.getpid()
        assert call(caller, "lambda", 1).value() == [call(caller, "pid").value(), 1]
        assert call(caller, "fail", "x").failure().text == "ValueError: x"
        assert call(caller, "lock").failure().text.startswith("its result cannot be passed between processes")
        assert call(caller, "wait", str(tmp_path / "go")).failure().kind == "TIMEOUT"
        (tmp_path / "go").touch()
