"""A pool of worker processes.

    start ─ pickle ─▶ inbox ──▶ one thread ──▶ pipe of a worker ──▶ function(…)
    done ◀───────────────────── one thread ◀── pipe of a worker ◀── result

One thread does all the writing, reading and bookkeeping, so there are no locks; calls and requests reach it through a
list. It gives each worker some calls in advance, so a worker need not wait for the next one; if another worker is idle
while these are stuck behind a long call, they are asked back.

A worker that dies loses only the call it was running (kind `LOST`); the others go to its successor. A call that is
cancelled or takes too long is ended by killing its worker. If workers die before they are ready, several times in a
row, the waiting calls fail.

A worker runs its calls in the order in which it got them and answers in that order, so the first of `given` is the one
that runs. Nothing blocks: bytes that a pipe does not accept stay in `_unsent`.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from itertools import count, islice
from time import monotonic
from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem
from solvent.services.failure import Failure, cause_of
from solvent.services.function_codec import encode, pack_function
from solvent.services.guard import GUARD
from solvent.services.threads import report_fault
from solvent.services.worker import (
    BEAT,
    BEGUN,
    CALL,
    CHUNK,
    ERROR,
    FUNCTION,
    HELLO,
    NUMBER,
    PRINTED,
    RESULT,
    RETURNED,
    SEAL,
    SEALED,
    Frames,
    header,
)
from solvent.workflows.formats.python.import_guard import refuse_run_while_importing

if TYPE_CHECKING:
    from collections.abc import Callable

_START = "import sys; sys.path[:] = sys.argv[4:]; del sys.argv[4:]; from solvent.services.worker import main; main()"


MAX_CLOSE_SECONDS = 2.0
"""How long a worker without calls may take to end."""
_DEPTH = "SOLVENT_WORKER_DEPTH"


def depth_here() -> int:
    """Return how deeply this process is nested in worker processes: 0 outside of all."""
    return int(os.environ.get(_DEPTH, "0"))


class Parcel:
    """A call on its way to a worker process and back."""

    __slots__ = ("function", "number", "payload", "target", "worker")

    def __init__(self, function: int, payload: bytes, target: Any) -> None:
        self.function = function
        self.payload = payload
        self.target = target
        self.number = 0
        self.worker: WorkerProcess | None = None


class WorkerProcess:
    """A worker process as the main process sees it."""

    def __init__(self) -> None:
        calls, self.calls = os.pipe()
        self.results, results = os.pipe()
        control, self.control = os.pipe()
        pipes = (calls, results, control)
        try:
            self.process = subprocess.Popen(  # noqa: S603 -- this same Python
                [sys.executable, "-c", _START, *map(str, pipes), *sys.path],
                stdin=subprocess.DEVNULL,
                pass_fds=pipes,
                env={**os.environ, _DEPTH: str(depth_here() + 1)},
                start_new_session=True,
            )
        except BaseException:
            for pipe in (self.calls, self.results, self.control):
                os.close(pipe)
            raise
        finally:
            for pipe in pipes:
                os.close(pipe)
        # The worker ends itself when its pipe does, unless its function blocks all other threads.
        GUARD.begin(self.process.pid)
        for pipe in (self.calls, self.results, self.control):
            os.set_blocking(pipe, False)
        # Ready to read when the process has ended, even if something it started holds its pipes open.
        self.ended = os.pidfd_open(self.process.pid) if hasattr(os, "pidfd_open") else None
        self.given: deque[Parcel] = deque()
        self.is_ready = False
        self.is_killed = False
        self.is_asked_back = False
        self._is_hung_up = False
        self.first_since = 0.0
        self._functions: set[int] = set()
        self._frames = Frames()
        self._unsent: deque[bytearray | memoryview] = deque()

    def give(self, parcel: Parcel, function: bytes) -> None:
        """Send it a call, and the function before the first call of it."""
        if parcel.function not in self._functions:
            self._functions.add(parcel.function)
            self._add(FUNCTION, parcel.function, function)
        self._add(CALL, parcel.number, parcel.payload, NUMBER.pack(parcel.function))
        parcel.worker = self
        self.given.append(parcel)
        if len(self.given) == 1:
            self.note_first()

    def _add(self, kind: int, number: int, payload: bytes, before: bytes = b"") -> None:
        """Queue a frame: joined to those before it, or without a copy if it is long."""
        if not self._unsent or not isinstance(self._unsent[-1], bytearray):
            self._unsent.append(bytearray())
        last = self._unsent[-1]
        assert isinstance(last, bytearray)
        last += header(kind, number, len(before) + len(payload)) + before
        if len(payload) <= CHUNK:
            last += payload
        else:
            self._unsent.append(memoryview(payload))

    def note_first(self) -> None:
        """Record that the first of its calls begins about now."""
        if self.given:
            self.first_since = monotonic()
            self.given[0].target.begin()

    def flush(self) -> bool:
        """Write what the pipe accepts; return false if something is left."""
        while self._unsent:
            try:
                first = self._unsent[0]
                written = os.write(self.calls, first[:CHUNK] if len(first) > CHUNK else first)
            except BlockingIOError:
                return False
            except OSError:
                self._unsent.clear()  # It is dead, which its other pipe will show.
                break
            if written == len(first):
                self._unsent.popleft()
            elif isinstance(first, memoryview):
                self._unsent[0] = first[written:]
            else:
                del first[:written]
        return True

    def read(self) -> tuple[list[tuple[int, int, bytes | bytearray | None]], bool]:
        """Return the frames that have arrived, and whether there may be more at once."""
        try:
            data = os.read(self.results, CHUNK)
        except OSError:
            return [], False
        return self._frames.feed(data), bool(data)

    def ask_back(self) -> None:
        """Ask for the calls that it has not begun."""
        self.is_asked_back = True
        # An error means it is dead, which its other pipe will show.
        with contextlib.suppress(OSError):
            os.write(self.control, b"?")

    def confirm(self) -> None:
        """Confirm that the outcome of its call counts."""
        with contextlib.suppress(OSError):
            os.write(self.control, SEALED)

    def kill(self) -> None:
        """Kill it and all that it has started."""
        self.is_killed = True
        # Until its exit code is read, its number cannot be reused.
        if self.process.returncode is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except OSError:
                self.process.kill()

    def hang_up(self) -> None:
        """Close its pipe of calls, so that it ends."""
        if not self._is_hung_up:
            self._is_hung_up = True
            os.close(self.calls)

    def close(self) -> None:
        """Close the pipes and wait for its end."""
        self.hang_up()
        if not self._has_ended_within(MAX_CLOSE_SECONDS):
            self.kill()
            self._has_ended_within(None)
        GUARD.end(self.process.pid)
        self.process.wait()
        os.close(self.results)
        os.close(self.control)
        if self.ended is not None:
            os.close(self.ended)

    def _has_ended_within(self, seconds: float | None) -> bool:
        """Wait for its end, where possible without reaping it: until then its number cannot be reused."""
        if self.ended is not None:
            end = select.poll()
            end.register(self.ended, select.POLLIN)
            return bool(end.poll(None if seconds is None else 1000 * seconds))
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def describe_end(self) -> str:
        """Describe how it ended."""
        code = self.process.returncode
        if code is not None and code < 0:
            try:
                return f"worker process {self.process.pid} was killed by {signal.Signals(-code).name}"
            except ValueError:
                return f"worker process {self.process.pid} was killed by signal {-code}"
        return f"worker process {self.process.pid} ended by itself with exit code {code}"


MAX_AHEAD = 16
"""Calls that a worker has at most, with the one that runs."""
MAX_DEPTH = 2
"""How deep worker processes may start worker processes of their own; each level multiplies their number."""
STUCK_SECONDS = 0.002
MAX_STILLBORN = 3
LOOK_SECONDS = 0.5
"""How often to check the workers where the system does not report their end."""


class Processes:
    """A pool of worker processes that several runs can share: `run(..., processes=pool)`.

    `jobs` is how many there are; as many as there are cores by default. Import it from `solvent.services`.

    Raises `SolventError`: W177 where the system is not POSIX, W190 while a workflow file is imported, W191 too deep
    inside other worker processes.

    >>> from pathlib import Path
    >>> from solvent import load_python, run
    >>> from solvent.services import Processes
    >>> _ = Path("squares.py").write_text('''
    ... from solvent import service, workflow
    ... @service
    ... def square(number: int) -> int:
    ...     return number ** 2
    ... @workflow
    ... def squares(numbers: list[int]) -> list[int]:
    ...     return square.each(numbers)
    ... ''')
    >>> pool = Processes(jobs=1)
    >>> run(load_python("squares.py"), {"numbers": [1, 2, 3]}, processes=pool).results
    {'square': [1, 4, 9]}
    >>> pool.close()
    """

    def __init__(self, jobs: int | None = None) -> None:
        if os.name != "posix":
            raise WorkflowProblem("W177", "worker processes need a POSIX system", hint="use threads")
        refuse_run_while_importing()
        if depth_here() >= MAX_DEPTH:
            hint = "run the inner workflow without worker processes"
            raise WorkflowProblem("W191", f"worker processes are {MAX_DEPTH} deep already", hint=hint)
        self.jobs = jobs or os.cpu_count() or 1
        self._functions: list[bytes] = []
        self._function_numbers: dict[bytes, int] = {}
        self._inbox: deque[tuple[str, Any]] = deque()
        self._woken = False
        # Sockets and not a pipe: a closed one refuses, while the number of a closed pipe may be another file's.
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_in.setblocking(False)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        # All below belong to the thread.
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake_out, selectors.EVENT_READ, None)
        self._workers: list[WorkerProcess] = []
        self._waiting: deque[Parcel] = deque()
        self._numbers = count(1)
        self._stillborn = 0
        self._closing = False

    def add_function(self, name: str, function: Callable[..., Any]) -> int:
        """Register a function, before its first call, and return its number."""
        packed = pack_function(name, function)
        with self._lock:
            # A pool may serve many runs, which mostly call the same functions.
            if packed not in self._function_numbers:
                self._function_numbers[packed] = len(self._functions)
                self._functions.append(packed)
            return self._function_numbers[packed]

    def put(self, function: int, target: Any) -> None:
        """Call a function with the target's arguments; the target is notified when it begins, beats and ends."""
        try:
            known = target.identity
            whole = (target.arguments, target.keywords)
            payload = encode(whole if known is None else (*whole, known))
        except Exception as error:  # noqa: BLE001 -- pickle raises whatever the object's own methods raise
            text = f"its arguments cannot be passed between processes: {cause_of(error)}"
            target.settle(None, Failure("FAILED", text))
            return
        parcel = target.seat = Parcel(function, payload, target)
        self._tell("call", parcel)

    def give_up(self, target: Any) -> None:
        """End a call whose outcome is no longer wanted."""
        if target.seat is not None:
            self._tell("stop", target.seat)

    def close(self, *, cancel: bool = False) -> None:
        """End the workers: after all calls, or at once with `cancel`."""
        # A thread that was about to wake it may have been interrupted.
        self._woken = False
        self._tell("cancel" if cancel else "close", None)
        if self._thread is not threading.current_thread():
            self._thread_started().join()

    def wind_down(self) -> None:
        """End the workers after all calls that were made by now; `close` waits for that."""
        self._tell("close", None)

    def _tell(self, what: str, about: Any) -> None:
        self._inbox.append((what, about))
        if not self._woken:
            self._woken = True
            # An error means that it is full, which wakes the thread as well, or closed.
            with contextlib.suppress(OSError):
                self._wake_in.send(b"!")
        if self._thread is None:
            self._thread_started()

    def _thread_started(self) -> threading.Thread:
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._serve, name="solvent-processes", daemon=True)
                thread.start()
                self._thread = thread
            return self._thread

    # ------------------------------------------------------------------------------------ in the thread only

    def _serve(self) -> None:
        try:
            while True:
                self._distribute()
                # Only now: calls that were cancelled while they waited have just been dropped.
                if self._closing and not self._all_parcels():
                    return
                for key, _ in self._selector.select(self._patience()):
                    worker = key.data
                    if worker is None:
                        self._wake_out.recv(4096)
                    elif key.fd == worker.results:
                        if not self._listen(worker):
                            self._bury(worker)
                    elif key.fd == worker.ended:
                        self._bury(worker)
                self._take_inbox()
                if not hasattr(os, "pidfd_open"):
                    self._look_after_workers()
        finally:
            self._shut()

    def _take_inbox(self) -> None:
        # First the mark, then the list: entries added meanwhile are either seen here or wake the thread again.
        self._woken = False
        inbox = self._inbox
        while inbox:
            what, about = inbox.popleft()
            if what == "call":
                about.number = next(self._numbers)
                self._waiting.append(about)
            elif what == "stop":
                self._stop(about)
            else:
                self._closing = True
                # No worker need be started for cancelled calls.
                self._waiting = deque(one for one in self._waiting if not one.target.over)
                if what == "cancel":
                    for parcel in self._all_parcels():
                        _guarded(parcel.target.cancel)
                    self._waiting.clear()

    def _stop(self, parcel: Parcel) -> None:
        """End a call: kill the worker that runs it, or ask it back from one that has not begun it."""
        worker = parcel.worker
        if worker is None or parcel not in worker.given:
            return
        # An answer that has arrived makes another call the first one, which must not be killed.
        self._listen(worker)
        if worker.given and worker.given[0] is parcel:
            worker.kill()
        elif not worker.is_asked_back:
            worker.ask_back()

    def _distribute(self) -> None:
        """Send the waiting calls to the workers, always to one that has the fewest."""
        waiting = self._waiting
        if waiting:
            self._add_workers()
        ready = [one for one in self._workers if one.is_ready and not one.is_killed]
        while waiting and ready:
            worker = ready[0] if len(ready) == 1 else min(ready, key=_load_of)
            if len(worker.given) >= MAX_AHEAD:
                break
            parcel = waiting.popleft()
            if not parcel.target.over:
                worker.give(parcel, self._functions[parcel.function])
        for worker in ready:
            self._flush(worker)

    def _flush(self, worker: WorkerProcess) -> None:
        """Write queued frames, and register with the selector if some are left."""
        wanted = 0 if worker.flush() else selectors.EVENT_WRITE
        registered = worker.calls in self._selector.get_map()
        if wanted and not registered:
            self._selector.register(worker.calls, wanted, worker)
        elif registered and not wanted:
            self._selector.unregister(worker.calls)

    def _add_workers(self) -> None:
        wanted = min(self.jobs, len(self._waiting) + sum(bool(one.given) for one in self._workers))
        while len(self._workers) < wanted:
            try:
                worker = WorkerProcess()
            except OSError as error:
                if not self._workers:
                    self._fail_waiting(f"no worker process can be started: {cause_of(error)}")
                return
            self._workers.append(worker)
            self._selector.register(worker.results, selectors.EVENT_READ, worker)
            if worker.ended is not None:
                self._selector.register(worker.ended, selectors.EVENT_READ, worker)

    def _patience(self) -> float | None:
        """Ask calls back that are stuck while a worker is idle; return when to look again."""
        patience = None if hasattr(os, "pidfd_open") or not self._workers else LOOK_SECONDS
        if self._waiting or not any(one.is_ready and not one.given for one in self._workers):
            return patience
        now = monotonic()
        for worker in self._workers:
            if len(worker.given) > 1 and not worker.is_asked_back:
                rest = worker.first_since + STUCK_SECONDS - now
                if rest <= 0:
                    worker.ask_back()
                else:
                    patience = rest if patience is None else min(patience, rest)
        return patience

    def _listen(self, worker: WorkerProcess) -> bool:
        """Handle the frames of a worker; return false at the end of its pipe or if there were none."""
        frames, more = worker.read()
        for kind, number, payload in frames:
            if kind in {RESULT, ERROR}:
                self._end_call(worker, number, kind, payload)
            elif kind in {BEAT, BEGUN, SEAL}:
                if worker.given and worker.given[0].number == number:
                    _tell_of(worker, kind)
            elif kind == PRINTED:
                if worker.given and worker.given[0].number == number:
                    worker.given[0].target.printed = "" if payload is None else payload.decode()
            elif kind == HELLO:
                worker.is_ready = True
                self._stillborn = 0
            elif kind == RETURNED:
                self._take_back(worker, number)
        return more

    def _end_call(self, worker: WorkerProcess, number: int, kind: int, payload: bytes | bytearray | None) -> None:
        parcel = worker.given.popleft()
        assert parcel.number == number, "a worker answers in the order in which it was asked"
        value = failure = None
        try:
            if payload is None:
                raise MemoryError  # noqa: TRY301
            value = pickle.loads(payload)  # noqa: S301 -- from our own worker
            if kind == ERROR:
                failure = Failure("FAILED", *value)
                value = None
        except BaseException as error:  # noqa: BLE001 -- unpickling runs a user's code
            failure = Failure("FAILED", f"its result cannot be passed between processes: {cause_of(error)}")
        try:
            parcel.target.settle(value, failure)
        except Exception:  # noqa: BLE001 -- a fault of the callback; reported, and the pool goes on
            report_fault()
        worker.note_first()
        if worker.given and worker.given[0].target.over:
            worker.kill()

    def _take_back(self, worker: WorkerProcess, number: int) -> None:
        """Take a call back that was not begun; they come last one first."""
        if number == 0:
            worker.is_asked_back = False
            # It keeps what it is just reading; cancelled calls must not run, so it is asked again.
            if any(one.target.over for one in islice(worker.given, 1, None)):
                worker.ask_back()
            return
        parcel = next(one for one in reversed(worker.given) if one.number == number)
        worker.given.remove(parcel)
        parcel.worker = None
        if not parcel.target.over:
            self._waiting.appendleft(parcel)

    def _look_after_workers(self) -> None:
        for worker in list(self._workers):
            if worker.process.poll() is not None:
                self._bury(worker)

    def _bury(self, worker: WorkerProcess) -> None:
        """Clean up after a dead worker: the call it ran is lost, the others wait again."""
        if worker not in self._workers:
            return
        while self._listen(worker):
            pass
        self._workers.remove(worker)
        for pipe in (worker.results, worker.calls, worker.ended):
            if pipe is not None and pipe in self._selector.get_map():
                self._selector.unregister(pipe)
        was_killed = worker.is_killed
        worker.kill()
        worker.close()
        given = list(worker.given)
        worker.given.clear()
        # Killed for a call that ended at that moment, it had hardly begun the next one: that one waits again.
        if given and not (was_killed and not given[0].target.over):
            first = given.pop(0)
            _guarded(first.target.settle, None, Failure("LOST", worker.describe_end()))
        self._waiting.extendleft(one for one in reversed(given) if not one.target.over)
        if not worker.is_ready and not was_killed:
            self._stillborn += 1
            if self._stillborn >= MAX_STILLBORN:
                self._stillborn = 0
                self._fail_waiting(f"workers die before they are ready: {worker.describe_end()}")

    def _all_parcels(self) -> list[Parcel]:
        return [*self._waiting, *(parcel for worker in self._workers for parcel in worker.given)]

    def _fail_waiting(self, text: str) -> None:
        while self._waiting:
            _guarded(self._waiting.popleft().target.settle, None, Failure("LOST", text))

    def _shut(self) -> None:
        """End all workers, and fail all calls: after a fault of ours, none may wait for ever."""
        self._closing = True
        for parcel in self._all_parcels():
            _guarded(parcel.target.settle, None, Failure("LOST", "the pool of worker processes has ended"))
        # All at once; one that is still starting can be killed.
        for worker in self._workers:
            if worker.is_ready:
                worker.hang_up()
            else:
                worker.kill()
        for worker in self._workers:
            worker.close()
        self._selector.close()
        self._wake_out.close()
        self._wake_in.close()


def _tell_of(worker: WorkerProcess, kind: int) -> None:
    """Pass a message of the running call on to its target."""
    target = worker.given[0].target
    if kind == BEAT:
        target.beat()
    elif kind == BEGUN:
        target.begun()
    elif target.seal():
        worker.confirm()


def _load_of(worker: WorkerProcess) -> int:
    return len(worker.given)


def _guarded(function: Callable[..., Any], *arguments: Any) -> None:
    """Call a function whose faults must not stop the pool."""
    try:
        function(*arguments)
    except Exception:  # noqa: BLE001 -- reported, and the pool goes on
        report_fault()


__all__ = ["Parcel", "Processes", "WorkerProcess", "depth_here"]
