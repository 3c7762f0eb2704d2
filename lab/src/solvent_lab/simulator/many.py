"""Many runs from one seed, over all processors.

    gathered = run_many(job, seed=7, runs=50)       # job(seed) -> result, in other processes
    gathered.results, gathered.is_complete

Every run gets a seed of its own, drawn from the one given. Results come in the order of the runs, whichever ends
first. A run that fails ends the whole with the error of the first run that failed, counted in that same order, so
this too depends on nothing but the seed. Whoever interrupts (`should_stop`, or Ctrl-C) gets what is done.

A job is sent to other processes, and so are its results: both must be picklable (a function of a module, perhaps
within `functools.partial`).
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from queue import Empty, Queue
from random import Random
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from solvent.errors import SolventError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Result = TypeVar("Result")

_LOOK_SECONDS = 0.1


class ProcessGone(SolventError):
    """A process at work on runs ended without a word."""

    exit_code = 1


@dataclass(frozen=True)
class Gathered(Generic[Result]):
    """What came of many runs."""

    results: tuple[Result, ...]
    """The results of the runs that are done, in the order of the runs."""
    runs: int
    """How many were wanted."""

    @property
    def is_complete(self) -> bool:
        """Whether all runs were done."""
        return len(self.results) == self.runs


def seeds_from(seed: int, runs: int) -> tuple[int, ...]:
    """Draw a seed for each run; a single run keeps the one given, so that it can be played again."""
    if runs == 1:
        return (seed,)
    chance = Random(seed)
    return tuple(chance.getrandbits(48) for _ in range(runs))


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_many(
    job: Callable[[int], Result],
    *,
    seed: int,
    runs: int,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Gathered[Result]:
    """Run a job once for each seed.

    Args:
        processes: how many at a time, one per processor unless given; zero: in this process, one after the other.
        progress: `progress(done, runs)` hears how far it is, several times a second.
        should_stop: asked as often; when it says so, runs that are not done are broken off.
    """
    hear = progress if progress is not None else _hear_nothing
    stops = should_stop if should_stop is not None else _goes_on
    seeds = seeds_from(seed, runs)
    if processes == 0:
        return Gathered(tuple(_one_by_one(job, seeds, hear, stops)), runs)
    with ProcessPoolExecutor(min(processes or processors(), max(1, runs)), initializer=_ignore_interrupts) as pool:
        try:
            futures = [pool.submit(_guarded, job, one) for one in seeds]
        except BrokenProcessPool:
            # The first ones have ended before the last were given out.
            raise _process_gone() from None
        try:
            is_stopped = _wait(futures, hear, stops)
        except KeyboardInterrupt:
            is_stopped = True
        if is_stopped:
            # Runs that are half done may take long, and nobody will read them.
            at_work = list((pool._processes or {}).values())  # noqa: SLF001 - only from Python 3.14 on is there a name
            pool.shutdown(wait=False, cancel_futures=True)
            for process in at_work:
                # Not by a signal that a run could have learnt to ignore from the process it was forked from.
                process.kill()
    return Gathered(tuple(_results(futures, is_stopped=is_stopped)), runs)


def _one_by_one(
    job: Callable[[int], Result],
    seeds: Sequence[int],
    hear: Callable[[int, int], None],
    stops: Callable[[], bool],
) -> Iterator[Result]:
    try:
        for done, seed in enumerate(seeds):
            hear(done, len(seeds))
            if stops():
                return
            yield job(seed)
    except KeyboardInterrupt:
        return
    hear(len(seeds), len(seeds))


def _wait(futures: Sequence[Future[Any]], hear: Callable[[int, int], None], stops: Callable[[], bool]) -> bool:
    """Wait until all is done or somebody wants to stop, and return whether it is the latter."""
    # Not a `SimpleQueue`: a signal can make a wait there endless, until Python 3.13.
    ended: Queue[int] = Queue()
    for place, future in enumerate(futures):
        future.add_done_callback(lambda _, place=place: ended.put(place))  # type: ignore[misc]
    done, first_failed = 0, len(futures)
    while done < len(futures):
        hear(done, len(futures))
        if stops():
            return True
        try:
            place = ended.get(timeout=_LOOK_SECONDS)
        except Empty:
            continue
        done += 1
        if place < first_failed and _has_failed(futures[place]):
            # Later runs need not begin: only an earlier one can still change what is said.
            first_failed = place
            for future in futures[place + 1 :]:
                future.cancel()
    hear(done, len(futures))
    return False


def _has_failed(future: Future[Any]) -> bool:
    if future.cancelled():
        return False
    return future.exception() is not None or isinstance(future.result(), _Failure)


def _results(futures: Sequence[Future[Any]], *, is_stopped: bool) -> Iterator[Any]:
    for future in futures:
        if future.cancelled():
            continue
        try:
            result = future.result()
        except BrokenProcessPool:
            # What was broken off has no result, and that is no failure of the run.
            if is_stopped:
                continue
            raise _process_gone() from None
        if isinstance(result, _Failure):
            raise result.error()
        yield result


def _process_gone() -> ProcessGone:
    hint = "perhaps there was not enough memory: run fewer at a time"
    return ProcessGone("P402", "a process that ran a simulation ended by itself", hint=hint)


def _hear_nothing(_done: int, _runs: int) -> None:
    pass


def _goes_on() -> bool:
    return False


# --- In the other processes.


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that gathers: it decides what becomes of the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@dataclass(frozen=True)
class _Failure:
    """An error with its fields, which does not survive the way between processes as itself."""

    kind: type[SolventError]
    fields: dict[str, Any]

    def error(self) -> SolventError:
        error = self.kind.__new__(self.kind, self.fields["message"])
        error.__dict__.update(self.fields)
        return error


def _guarded(job: Callable[[int], Any], seed: int) -> Any:
    try:
        return job(seed)
    except SolventError as error:
        return _Failure(type(error), dict(error.__dict__))
