"""The sandbox: starts the processes of the playground, passes them questions, and ends them.

A process answers one question. The next one is started in advance, so that an answer need not wait for Python. A
process that takes too long is killed; so is one whose viewer has left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec

from solvent.errors import Misuse
from solvent.web.playground.process import READY
from solvent.web.playground.question import MAX_ANSWER, MAX_MEMORY, Question, problem

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")

GRACE_SECONDS = 2.0
"""How much longer a process may live than it may compute: it also reads and writes."""
START_SECONDS = 60.0
"""How long a process may take to start, on a busy machine."""
MAX_WAITING = 16
"""The number of questions that may wait for a process."""
_COMMAND = (sys.executable, "-P", "-m", "solvent.web.playground.process")
_KEPT = ("HOME", "LANG", "LC_ALL", "PATH", "PYTHONPATH", "SYSTEMROOT", "APPDATA", "VIRTUAL_ENV")
"""The environment variables that a process gets: enough to find Python's modules."""

Process = subprocess.Popen[bytes]


class Job:
    """A question under way."""

    def __init__(self) -> None:
        self.future: Future[bytes]
        self._process: Process | None = None
        self._is_over = False
        self._lock = threading.Lock()

    def begin(self, process: Process) -> bool:
        """Set the process that works on it; return whether an answer is still wanted."""
        with self._lock:
            self._process = process
            return not self._is_over

    def end(self) -> None:
        """End it, whether or not it has begun."""
        with self._lock:
            self._is_over = True
            if self._process is not None:
                self._process.kill()


class Sandbox:
    """Answers questions, a few at a time."""

    def __init__(self, *, max_processes: int | None = None) -> None:
        count = max_processes or max(2, min(4, (os.cpu_count() or 2) // 2))
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="playground")
        self._lock = threading.Lock()
        self._spare: Process | None = None
        self._jobs: set[Job] = set()
        self._room = count + MAX_WAITING
        self._is_closed = False

    def warm(self) -> None:
        """Start a process for the next question."""
        with self._lock:
            if not self._is_closed and (self._spare is None or self._spare.poll() is not None):
                self._spare = _started()

    def ask(self, question: Question) -> Job:
        """Begin to answer a question; the answer is JSON."""
        job = Job()
        with self._lock:
            if self._is_closed or len(self._jobs) >= self._room:
                raise Misuse("H372", "too many programs are waiting to be run", hint="try again in a few seconds")
            self._jobs.add(job)
        job.future = self._threads.submit(self._answer, job, question)
        job.future.add_done_callback(lambda _: self._jobs.discard(job))
        return job

    def close(self) -> None:
        """End all questions and processes."""
        with self._lock:
            self._is_closed = True
            spare, self._spare = self._spare, None
            jobs = list(self._jobs)
        for job in jobs:
            job.end()
        if spare is not None:
            _end(spare)
        self._threads.shutdown(cancel_futures=True)

    def _answer(self, job: Job, question: Question) -> bytes:
        with self._lock:
            process, self._spare = self._spare, None
        if process is None or process.poll() is not None:
            process = _started()
        self.warm()
        is_late = threading.Event()

        def too_late() -> None:
            is_late.set()
            process.kill()

        data = b""
        try:
            if job.begin(process) and _in_time(START_SECONDS, too_late, lambda: _is_ready(process)):
                # Its time counts from here: it has started.
                seconds, asked = question.max_seconds + GRACE_SECONDS, msgspec.json.encode(question)
                data = _in_time(seconds, too_late, lambda: _asked(process, asked))
        finally:
            _end(process)
        if 0 < len(data) <= MAX_ANSWER and not is_late.is_set():
            return data
        return msgspec.json.encode({"problems": [_why_ended(process, question, is_late=is_late.is_set())]})


def _started() -> Process:
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    pipe = subprocess.PIPE
    # The command is this Python; a program reaches it as data.
    return subprocess.Popen(  # noqa: S603
        _COMMAND, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
    )


def _in_time(seconds: float, too_late: Callable[[], None], work: Callable[[], Result]) -> Result:
    """Run `work`; call `too_late`, which ends it, if it takes too long."""
    timer = threading.Timer(seconds, too_late)
    timer.daemon = True
    timer.start()
    try:
        return work()
    finally:
        timer.cancel()


def _is_ready(process: Process) -> bool:
    """Wait until a process has started; return whether it has."""
    assert process.stdout is not None
    return process.stdout.read(len(READY)) == READY


def _asked(process: Process, question: bytes) -> bytes:
    """Send a process its question, and read its answer, up to one byte more than allowed."""
    assert process.stdin is not None
    assert process.stdout is not None
    # A process that was killed reads nothing.
    with suppress(BrokenPipeError):
        process.stdin.write(question)
        process.stdin.close()
    return process.stdout.read(MAX_ANSWER + 1)


def _end(process: Process) -> None:
    """End a process, and close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def _why_ended(process: Process, question: Question, *, is_late: bool) -> dict[str, object]:
    """Return the error of a process that has given no answer."""
    # The limit of processor time also ends a process by a signal.
    if is_late or process.returncode == -getattr(signal, "SIGXCPU", 0):
        said = f"no answer after {question.max_seconds:g} seconds: the program was ended"
        return problem("H502", said, "allow more seconds, or try it with less data")
    said = f"the program was ended: it needs more than {MAX_MEMORY // 2**20} MB of memory, or is nested too deeply"
    return problem("H505", said, "try it with less data")


__all__ = ["Sandbox"]
