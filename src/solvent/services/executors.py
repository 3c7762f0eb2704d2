"""Python functions in an executor of the user: a pool of `concurrent.futures`, of loky, of Dask, of MPI.

Such an executor sets the limits. A call that has begun is not stopped; its result is dropped. A time-out counts from
when the executor reports that the call runs (this is polled, so a call may have up to twice its time); Dask never does,
and there it counts from the start of the call, with the time in Dask's queue. Heartbeats arrive from threads of this
process only.
"""

from __future__ import annotations

import pickle
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.errors import WorkflowProblem
from solvent.services.current_call import CURRENT
from solvent.services.failure import Failure, cause_of, failure_of
from solvent.services.function_codec import encode, pack_function, unpack_function
from solvent.services.prints import noting_prints
from solvent.services.threads import ThreadJob, report_fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor, Future

    from solvent.services.call import Attempt
    from solvent.services.current_call import CallIdentity
    from solvent.services.failure import Kind
    from solvent.workflows.model import Service

Outcome: TypeAlias = tuple[Any, Failure | None]
Answer: TypeAlias = tuple[bytes | None, str, str]


def in_executor(
    service: Service, function: Callable[..., Any], executor: Executor, *, lends: bool = False
) -> Callable[[Attempt], None]:
    """Return a launch that runs a function in an executor; resources can be lent to threads of this process only."""
    submit: Callable[[Attempt], Future[Any]]
    if isinstance(executor, ThreadPoolExecutor):
        submit = _near(function, executor)
    elif lends:
        raise WorkflowProblem(
            "W163",
            f"service `{service.name}`: resources cannot be used in a {type(executor).__name__}",
            hint="use Solvent's own threads or worker processes",
        )
    elif service.policy.heartbeat is None:
        submit = _far(pack_function(service.name, function), executor)
    else:
        raise WorkflowProblem(
            "W178",
            f"service `{service.name}`: heartbeats cannot be sent from a {type(executor).__name__}",
            hint="use Solvent's own threads or worker processes, or a `timeout` instead of a `heartbeat`",
        )

    def launch(attempt: Attempt) -> None:
        try:
            future = submit(attempt)
        except (BrokenExecutor, RuntimeError) as error:
            attempt.fail("LOST", f"the executor accepts no calls: {cause_of(error)}")
            return
        attempt.on_stop(lambda: _drop(future))
        future.add_done_callback(lambda future: _report(attempt, future))

    return launch


def _near(function: Callable[..., Any], executor: Executor) -> Callable[[Attempt], Future[Outcome]]:
    """Submit to threads of this process."""

    def run(attempt: Attempt) -> Outcome:
        CURRENT.set(attempt)
        attempt.begin()
        try:
            return function(*attempt.arguments, **attempt.keywords), None
        except BaseException as error:  # noqa: BLE001 -- `sys.exit` in a service fails the call, not the worker
            return None, failure_of(error)

    return lambda attempt: executor.submit(run, attempt)


def _far(packed: bytes, executor: Executor) -> Callable[[Attempt], Future[Answer]]:
    """Submit to other processes, perhaps on other machines."""
    numbers = count()
    tells = type(executor).__module__.startswith(("concurrent.futures", "loky", "mpi4py"))

    def submit(attempt: Attempt) -> Future[Answer]:
        data = encode((attempt.arguments, attempt.keywords, attempt.identity))
        # Each call has a number of its own, since Dask runs calls of a function with equal arguments only once.
        future = executor.submit(run_far, packed, data, next(numbers))
        attempt.begin_when(future.running if tells else _surely)
        return future

    return submit


def run_far(packed: bytes, data: bytes, _number: int) -> Answer:
    """Run a function in another process.

    The result is bytes, or text, which can always be passed on. Executors hang (Dask) or break (the library's) on a
    result or an exception that cannot be.
    """
    job: FarJob | None = None
    try:
        arguments, keywords, identity = pickle.loads(data)  # noqa: S301 -- from our own main process
        if identity is not None:
            job = FarJob(identity)
        CURRENT.set(job)
        with noting_prints():
            value = _unpack(packed)(*arguments, **keywords)
    except BaseException as error:  # noqa: BLE001 -- `sys.exit` in a service fails the call, not the worker
        failure = failure_of(error).after("" if job is None else job.printed)
        return None, failure.text, failure.output
    try:
        return encode(value), "", "" if job is None else job.printed
    except BaseException as error:  # noqa: BLE001 -- pickle raises whatever the object's own methods raise
        return None, f"its result cannot be passed between processes: {cause_of(error)}", ""


class FarJob(ThreadJob):
    """The call of a function that runs elsewhere."""

    __slots__ = ("_identity",)

    def __init__(self, identity: CallIdentity) -> None:
        super().__init__(FarJob, [], {})
        self._identity = identity

    @property
    def identity(self) -> CallIdentity | None:
        """The identity of the call."""
        return self._identity


@lru_cache(maxsize=256)
def _unpack(packed: bytes) -> Callable[..., Any]:
    return unpack_function(packed)


def _surely() -> bool:
    return True


def _drop(future: Future[Any]) -> None:
    future.cancel()


def _report(attempt: Attempt, future: Future[Any]) -> None:
    try:
        attempt.settle(*_outcome(attempt, future))
    except Exception:  # noqa: BLE001 -- a fault of the callback; executors would hide it
        report_fault()


def _outcome(attempt: Attempt, future: Future[Any]) -> Outcome:
    """Read a future that is done."""
    try:
        error = future.exception()
        if error is not None:
            kind: Kind = "LOST" if isinstance(error, BrokenExecutor) or "Killed" in type(error).__name__ else "FAILED"
            return None, Failure(kind, f"the executor failed: {cause_of(error)}")
        answer = future.result()
        if len(answer) == 2:
            outcome: Outcome = answer
            return outcome
        data, text, output = answer
        if data is None:
            return None, Failure("FAILED", text, output)
        attempt.printed = output
        return pickle.loads(data), None  # noqa: S301
    except CancelledError:
        return None, Failure("LOST", "the executor dropped the call")
    except BaseException as error:  # noqa: BLE001 -- unpickling runs a user's code
        return None, Failure("FAILED", f"its result cannot be passed between processes: {cause_of(error)}")


__all__ = ["in_executor", "run_far"]
