"""A running shell command: its process group, its pipes, its end.

The command leads a process group of its own, so that all it starts can be ended with it: asked to (TERM), and after
a grace made to (KILL). It has ended when its shell has ended; something that it left behind in the background may
keep the pipes open, and is not waited for. When the command is being ended, that is different: then its end is the end
of all that hold the pipes, or that of the grace, and nothing of the group is left after it. Should this process be
killed, its `guard` ends the group. There is no moment at which a command runs and its guard does not know it: it begins
when it has read a line that is written when the guard was told, and ends if nobody is left to write that.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
from time import monotonic
from typing import IO, TYPE_CHECKING

from solvent.services.guard import GUARD
from solvent.services.output import End, TooMuch, Whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from solvent.services.clock import Clock

CHUNK = 1 << 16
GRACE_SECONDS = 2.0
_GATE = "read -r SOLVENT_GATE || exit 1; "
LOOK_SECONDS = 0.05
"""How often to look where the system does not tell of a process's end."""


class Command:
    """A command that has been started."""

    def __init__(
        self,
        text: str,
        parameters: Sequence[str] = (),
        *,
        stdin: bytes | None,
        cwd: Path | None,
        env: Mapping[str, str] | None,
        out: Whole | End,
        beat: Callable[[], None],
    ) -> None:
        self._beat = beat
        self._stdin = memoryview(stdin) if stdin is not None else None
        self.out = out
        self.errors = End()
        self._lock = threading.Lock()
        self._ends_at: float | None = None
        # In the first line of the text, which has the numbers that it had, and by the shell that is there anyway.
        begins = _GATE if stdin is not None else f"{_GATE}exec < /dev/null; "
        self._process = subprocess.Popen(  # noqa: S603 -- running what the workflow says is the purpose
            ["/bin/sh", "-c", begins + text, "sh", *parameters],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
            start_new_session=True,
            bufsize=0,
        )
        GUARD.begin(self._process.pid)
        self._open_gate()

    def _open_gate(self) -> None:
        """Let the command begin; what it reads comes behind the line that it waits for."""
        pipe = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError):
            pipe.write(b"\n")
        if self._stdin is None:
            pipe.close()
            self._process.stdin = None

    def run(self) -> int:
        """Feed and read it until it ends; gives the exit code. Raises `TooMuch`, having ended it."""
        try:
            self._attend()
        except TooMuch:
            self.signal(signal.SIGKILL)
            raise
        finally:
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            code = self._reap()
        return code

    def stop(self, clock: Clock) -> None:
        """End the whole group: ask, and after a grace do not ask any more."""
        self._ends_at = monotonic() + GRACE_SECONDS
        self.signal(signal.SIGTERM)
        clock.after(GRACE_SECONDS, lambda: self.signal(signal.SIGKILL))

    def signal(self, number: int) -> None:
        """Send a signal to the whole group, unless it was reaped: its number may be another's by now."""
        with self._lock:
            if self._process.returncode is None:
                with contextlib.suppress(OSError):
                    os.killpg(self._process.pid, number)

    def _reap(self) -> int:
        """Wait for the shell's end. Not under the lock until it is near: a signal must get through."""
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        if self._ends_at is not None:
            self.signal(signal.SIGKILL)
        GUARD.end(self._process.pid)
        with self._lock:
            return self._process.wait()

    def _attend(self) -> None:
        """Pass data until all pipes are closed or the shell has ended."""
        process = self._process
        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
            for pipe, keeper in ((process.stdout, self.out), (process.stderr, self.errors)):
                assert pipe is not None
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, keeper)
            if process.stdin is not None:
                os.set_blocking(process.stdin.fileno(), False)
                selector.register(process.stdin, selectors.EVENT_WRITE, None)
            ended, is_over = None, False
            if hasattr(os, "pidfd_open"):
                ended = os.pidfd_open(process.pid)
                stack.callback(os.close, ended)
                selector.register(ended, selectors.EVENT_READ, None)
            while any(key.fd != ended for key in selector.get_map().values()):
                events = selector.select(self._patience(is_told=ended is not None))
                has_ended = ended is None and not events and _has_ended(process.pid)
                for key, _ in events:
                    if key.fd == ended:
                        has_ended = True
                    elif not self._serve(key):
                        selector.unregister(key.fileobj)
                if has_ended:
                    is_over = True
                if is_over and not self._wait_for_others(selector, ended):
                    return

    def _patience(self, *, is_told: bool) -> float | None:
        """Say how long to wait for something to happen."""
        if self._ends_at is not None:
            return max(LOOK_SECONDS, self._ends_at - monotonic())
        return None if is_told else LOOK_SECONDS

    def _wait_for_others(self, selector: selectors.BaseSelector, ended: int | None) -> bool:
        """Read what is left now that the shell has ended; tell whether to wait for what it started."""
        for key in list(selector.get_map().values()):
            if key.fd == ended or not self._serve(key, until_empty=True):
                selector.unregister(key.fileobj)
        return self._ends_at is not None and monotonic() < self._ends_at

    def _serve(self, key: selectors.SelectorKey, *, until_empty: bool = False) -> bool:
        """Read from or write to a pipe; false when it is done with."""
        if key.data is None:
            return self._feed(key.fd)
        while True:
            try:
                data = os.read(key.fd, CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            key.data.add(data)
            self._beat()
            if not until_empty:
                return True

    def _feed(self, pipe: int) -> bool:
        assert self._stdin is not None
        try:
            self._stdin = self._stdin[os.write(pipe, self._stdin[:CHUNK]) :]
        except BlockingIOError:
            return True
        except OSError:
            self._stdin = self._stdin[:0]  # It does not want more, which is its right.
        if self._stdin:
            return True
        stdin: IO[bytes] | None = self._process.stdin
        assert stdin is not None
        stdin.close()
        return False


def _has_ended(process: int) -> bool:
    """Tell whether a child has ended, without taking its exit code from whoever waits for it."""
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


__all__ = ["GRACE_SECONDS", "Command"]
