"""The numbers of an agent: what its calls came to, what the store costs, what waits, what the process uses."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from solvent.runs.observing.metrics import Metrics
from solvent.runs.observing.tasks import OpenTasks
from solvent.runs.registry import MESSAGES
from solvent.services.observer import CallSeen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.runs.agents.agent import Agent
    from solvent.runs.agents.log import Told
    from solvent.services.current_call import CallIdentity
    from solvent.services.failure import Failure
    from solvent.services.observer import CallObserver
    from solvent.store import Append, Store

_JOURNAL = re.compile(r"runs/[^/]+/shard/\d+")
_MESSAGES = f"{MESSAGES}runs/"
_APPENDING = frozenset({"append", "append_all", "append_each", "append_soon"})


class AgentMetrics:
    """What is counted of an agent."""

    def __init__(self, agent: str, version: str) -> None:
        self.metrics = metrics = Metrics()
        metrics.gauge("solvent_agent_info", "Which agent it is.", lambda: [((agent, version), 1)], "agent", "version")
        self._calls = metrics.counter("solvent_calls_total", "Calls that have ended.", "service", "state")
        self._attempts = metrics.counter("solvent_attempts_total", "Attempts of calls that were made.", "service")
        self._retries = metrics.counter("solvent_retries_total", "Attempts that were not the first.", "service")
        self._seconds = metrics.histogram("solvent_call_seconds", "How long calls took, all attempts.", "service")
        self._lock = threading.Lock()
        self._running = 0
        metrics.gauge("solvent_calls_running", "Calls that are out.", lambda: self._running)
        self._tasks = metrics.counter("solvent_tasks_total", "Tasks none of whose calls is out any more.", "state")
        self._runs = metrics.counter("solvent_runs_total", "Runs that this agent has ended.", "state")
        self._taken = metrics.counter("solvent_shards_taken_total", "Shards of runs that were taken.")
        self._overs = metrics.counter("solvent_take_overs_total", "Places taken over from agents presumed dead.")
        self._lost = metrics.counter("solvent_shards_lost_total", "Shards that another agent has taken over.")
        self._journal = metrics.counter("solvent_journal_records_total", "Records appended to journals of shards.")
        self._messages = metrics.counter("solvent_messages_total", "Records of messages to shards that were appended.")
        self._refused = metrics.counter("solvent_appends_failed_total", "Appends that the store did not take.")
        self._append = metrics.histogram("solvent_append_seconds", "How long the store took for an append.", "what")
        _add_process(metrics)

    def watch(self, agent: Agent) -> None:
        """Look at an agent whenever the numbers are read."""
        gauge = self.metrics.gauge
        gauge("solvent_turns_total", "Turns that the agent has made.", lambda: agent.turns, kind="counter")
        gauge("solvent_runs", "Runs that the agent takes part in.", lambda: len(agent.runs))
        says = "Shards that the agent has: leases it holds."
        gauge("solvent_shards", says, lambda: sum(len(one.here) for one in list(agent.runs.values())))
        gauge("solvent_queue_length", "What waits to be taken or called.", lambda: _queues(agent), "queue")

    def observer(self) -> CallObserver:
        """Give who hears of the calls of a run."""
        return _Calls(self)

    def hear(self, told: Told) -> None:
        """Hear what an agent tells."""
        if told.event == "taken":
            self._taken.add()
            if told.taken_from:
                self._overs.add()
        elif told.event == "lost":
            self._lost.add()
        elif told.event in {"done", "failed"}:
            self._runs.add(told.event)

    # --- The store.

    def measured(self, store: Store) -> Store:
        """Give a store whose appends are counted and timed."""
        return cast("Store", _MeasuredStore(store, self))

    def note_append(self, name: str, appends: Sequence[Append], began: float, answer: Any) -> None:
        """Note an append that the store has taken, or some that it has refused."""
        journals = sum(_JOURNAL.fullmatch(one.log) is not None for one in appends)
        refused = sum(isinstance(one, Exception) for one in answer) if name == "append_each" else 0
        self._journal.add(by=max(0, journals - refused))
        self._refused.add(by=refused)
        self._messages.add(by=sum(one.log.startswith(_MESSAGES) for one in appends))
        if name != "append_soon":
            # Nobody waits for what is appended soon.
            self._append.note(time.perf_counter() - began, "journal" if journals else "other")

    def note_refused(self) -> None:
        """Note an append that the store did not take."""
        self._refused.add()

    # --- Calls.

    def begins(self) -> None:
        """Note that a call begins."""
        with self._lock:
            self._running += 1

    def attempted(self, service: str, number: int) -> None:
        """Note that an attempt is made."""
        self._attempts.add(service)
        if number > 1:
            self._retries.add(service)

    def ends(self, service: str, failure: Failure | None, seconds: float, *, is_last: bool) -> None:
        """Note that a call has ended, and perhaps its task."""
        with self._lock:
            self._running -= 1
        state = "done" if failure is None else failure.kind.lower()
        self._calls.add(service, state)
        self._seconds.note(seconds, service)
        if is_last:
            self._tasks.add(state)


class _Calls:
    """Hears of the calls of one run."""

    def __init__(self, agent: AgentMetrics) -> None:
        self.agent = agent
        self.tasks = OpenTasks[None]()

    def call(self, service: str, task: str, _identity: CallIdentity | None) -> CallSeen:
        """Hear that a service is called."""
        self.tasks.enter(task, lambda: None)
        self.agent.begins()
        return _Call(self, service, task)


class _Call(CallSeen):
    def __init__(self, calls: _Calls, service: str, task: str) -> None:
        self._calls = calls
        self._service = service
        self._task = task
        self._began = time.perf_counter()

    def attempt(self, number: int) -> str:
        self._calls.agent.attempted(self._service, number)
        return ""

    def inner(self, workflow: str) -> CallObserver | None:  # noqa: ARG002 - its calls count like any others
        return _Calls(self._calls.agent)

    def ended(self, failure: Failure | None, attempts: int) -> None:  # noqa: ARG002 - attempts are counted as made
        is_last = self._calls.tasks.leave(self._task)
        self._calls.agent.ends(self._service, failure, time.perf_counter() - self._began, is_last=is_last)


class _MeasuredStore:
    """Stands before a store, and is otherwise as it is."""

    def __init__(self, store: Store, metrics: AgentMetrics) -> None:
        self._store = store
        self._metrics = metrics

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in _APPENDING:
            found = _measured(name, found, self._metrics)
        if callable(found):
            # The next time it is found without asking; what is no method may change.
            setattr(self, name, found)
        return found


def _measured(name: str, do: Callable[..., Any], metrics: AgentMetrics) -> Callable[..., Any]:
    from solvent.errors import StoreError
    from solvent.store import Append

    def measured(what: Any, *more: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            answer = do(what, *more, **options)
        except StoreError:
            metrics.note_refused()
            raise
        metrics.note_append(name, [Append(what, b"")] if name == "append" else what, began, answer)
        return answer

    return measured


def _queues(agent: Agent) -> list[tuple[tuple[str], int]]:
    """Give how much has come and is not taken, and how many calls wait for a thread."""
    calls = sum(one.waiting for one in list(agent.runs.values()))
    return [(("answers",), agent.waiting()), (("calls",), calls)]


# --- The process, by the names that Prometheus's own libraries use.


def _add_process(metrics: Metrics) -> None:
    started = time.time()
    metrics.gauge("process_cpu_seconds_total", "Seconds of processor time.", time.process_time, kind="counter")
    metrics.gauge("process_start_time_seconds", "When it began, in seconds since 1970.", lambda: started)
    metrics.gauge("process_resident_memory_bytes", "Memory that it has.", _memory_bytes)
    if Path("/proc/self/fd").is_dir():
        metrics.gauge("process_open_fds", "Files and sockets that are open.", _open_files)


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _memory_bytes() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        import resource
        import sys

        # Where the system does not say how much it is now: the most that it was, in kilobytes but on macOS.
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")


__all__ = ["AgentMetrics"]
