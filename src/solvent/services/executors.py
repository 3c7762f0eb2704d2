"""Python functions in an executor that the user brought along: a pool of `concurrent.futures`, of Dask, of MPI.

What such an executor cannot do, we cannot either. A call that has begun is not stopped, its result is dropped. A
time-out counts from when the executor says that the call runs, where it says so at all: while a call waits in the
executor's queue, its time begins anew. Signs of life reach us from threads of this process only.
"""

from __future__ import annotations

import pickle
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import WorkflowProblem
from solvent.services.failure import Failure, cause_of, failure_of
from solvent.services.signs import CURRENT
from solvent.services.threads import report_fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor, Future

    from solvent.services.call import Attempt
    from solvent.workflow.model import Service


def in_executor(service: Service, function: Callable[..., Any], executor: Executor) -> Callable[[Attempt], None]:
    """Make a launch that runs a function in an executor."""
    nearby = isinstance(executor, ThreadPoolExecutor)
    if service.policy.heartbeat is not None and not nearby:
        raise WorkflowProblem(
            "W158",
            f"service `{service.name}`: signs of life do not get through a {type(executor).__name__}",
            hint="use Solvent's own threads or worker processes, or a `timeout` instead of a `heartbeat`",
        )

    def launch(attempt: Attempt) -> None:
        try:
            if nearby:
                future = executor.submit(_run_nearby, attempt, function)
            else:
                future = executor.submit(function, *attempt.arguments, **attempt.keywords)
        except (BrokenExecutor, RuntimeError) as error:
            attempt.fail("LOST", f"the executor takes no calls: {cause_of(error)}")
            return
        if not nearby:
            attempt.begin_when(future.running)
        attempt.on_stop(lambda: _drop(future))
        future.add_done_callback(lambda future: _report(attempt, future))

    return launch


def _run_nearby(attempt: Attempt, function: Callable[..., Any]) -> Any:
    """Run a function in a thread of this process."""
    CURRENT.set(attempt)
    attempt.begin()
    return function(*attempt.arguments, **attempt.keywords)


def _drop(future: Future[Any]) -> None:
    future.cancel()


def _report(attempt: Attempt, future: Future[Any]) -> None:
    try:
        attempt.settle(*_outcome(future))
    except Exception:  # noqa: BLE001 -- a fault of the callback; executors would hide it
        report_fault()


def _outcome(future: Future[Any]) -> tuple[Any, Failure | None]:
    """Read a future that is done."""
    try:
        error = future.exception()
        if error is None:
            return future.result(), None
    except CancelledError:
        return None, Failure("LOST", "the executor dropped the call")
    if isinstance(error, BrokenExecutor):
        return None, Failure("LOST", f"the executor is broken: {cause_of(error)}")
    failure = failure_of(error)
    if isinstance(error, pickle.PicklingError) or "pickle" in str(error):
        text = f"it cannot be passed between processes: {failure.text}"
        failure = msgspec.structs.replace(failure, text=text)
    return None, failure


__all__ = ["in_executor"]
