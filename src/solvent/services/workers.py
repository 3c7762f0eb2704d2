"""The main process's side of one worker process: its pipes, and the calls it has been given.

A worker runs its calls in the order in which it got them and answers in that order, so the first of `given` is the
one that runs. Nothing here waits: what a pipe does not take stays in `_unsent`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections import deque
from time import monotonic
from typing import Any

from solvent.services.frames import CALL, CHUNK, FUNCTION, SEALED, Frames, frame

_START = "import sys; sys.path[:] = sys.argv[4:]; del sys.argv[4:]; from solvent.services.worker import main; main()"


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
                start_new_session=True,
            )
        except BaseException:
            for pipe in (self.calls, self.results, self.control):
                os.close(pipe)
            raise
        finally:
            for pipe in pipes:
                os.close(pipe)
        for pipe in (self.calls, self.results, self.control):
            os.set_blocking(pipe, False)
        # Ready to read when the process has ended, even if something it started holds its pipes open.
        self.ended = os.pidfd_open(self.process.pid) if hasattr(os, "pidfd_open") else None
        self.given: deque[Parcel] = deque()
        self.is_ready = False
        self.is_killed = False
        self.is_asked_back = False
        self.first_since = 0.0
        self._functions: set[int] = set()
        self._frames = Frames()
        self._unsent = bytearray()

    def give(self, parcel: Parcel, function: bytes) -> None:
        """Give it a call, and the function before the first call of it."""
        if parcel.function not in self._functions:
            self._functions.add(parcel.function)
            self._unsent += frame(FUNCTION, parcel.function, function)
        self._unsent += frame(CALL, parcel.number, parcel.payload)
        parcel.worker = self
        self.given.append(parcel)
        if len(self.given) == 1:
            self.note_first()

    def note_first(self) -> None:
        """Note that the first of its calls begins about now."""
        if self.given:
            self.first_since = monotonic()
            self.given[0].target.begin()

    def flush(self) -> bool:
        """Write what the pipe takes; false if something is left."""
        while self._unsent:
            try:
                written = os.write(self.calls, self._unsent[:CHUNK] if len(self._unsent) > CHUNK else self._unsent)
            except BlockingIOError:
                return False
            except OSError:
                self._unsent.clear()  # It is dead, which its other pipe will say.
                break
            del self._unsent[:written]
        return True

    def read(self) -> tuple[list[tuple[int, int, bytes]], bool]:
        """Read what has arrived; the second tells whether there may be more at once."""
        try:
            data = os.read(self.results, CHUNK)
        except OSError:
            return [], False
        return self._frames.feed(data), bool(data)

    def ask_back(self) -> None:
        """Ask for the calls that it has not begun."""
        self.is_asked_back = True
        # An error means it is dead, which its other pipe will say.
        with contextlib.suppress(OSError):
            os.write(self.control, b"?")

    def confirm(self) -> None:
        """Say that the outcome of its call counts."""
        with contextlib.suppress(OSError):
            os.write(self.control, SEALED)

    def kill(self) -> None:
        """Kill it and all that it has started."""
        self.is_killed = True
        # As long as nobody has asked for its exit code, its number cannot have passed to another process.
        if self.process.returncode is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except OSError:
                self.process.kill()

    def close(self) -> None:
        """Close the pipes and wait for its end: it is dead, or it ends when it finds no more calls."""
        os.close(self.calls)
        try:
            self.process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            self.kill()
            self.process.wait()
        os.close(self.results)
        os.close(self.control)
        if self.ended is not None:
            os.close(self.ended)

    def describe_end(self) -> str:
        """Say how it ended."""
        code = self.process.returncode
        if code is not None and code < 0:
            try:
                return f"worker process {self.process.pid} was killed by {signal.Signals(-code).name}"
            except ValueError:
                return f"worker process {self.process.pid} was killed by signal {-code}"
        return f"worker process {self.process.pid} ended by itself with exit code {code}"


__all__ = ["Parcel", "WorkerProcess"]
