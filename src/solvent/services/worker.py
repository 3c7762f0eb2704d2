"""A worker process: takes calls from a pipe, runs them one after the other, writes the results to another.

The main thread reads calls and runs them. A second thread sleeps on a control pipe. When the main process asks for
calls back (another worker has nothing to do), it takes those that are not begun, also out of the pipe, and returns
them, even while a long call is running. The answer to a call that asks whether its outcome counts comes the same way:
yes, or nothing, since a worker whose call nobody wants any more is killed. When the pipe ends, the main process is
gone, and the second thread ends this process with all that it has started, whatever it is doing.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from solvent.services.frames import (
    BEAT,
    BEGUN,
    CHUNK,
    ERROR,
    FUNCTION,
    HELLO,
    RESULT,
    RETURNED,
    SEAL,
    SEALED,
    Frames,
    frame,
)
from solvent.services.shipping import unpack_function
from solvent.services.signs import CURRENT, end_if_forked

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.services.signs import CallIdentity


class Worker:
    """The state of this process; for a running function, the call it belongs to."""

    over = False
    """A call that is no longer wanted is ended by killing this process, so it never learns of it."""
    identity: CallIdentity | None = None

    def __init__(self, calls: int, results: int, control: int) -> None:
        self._from, self._to, self._control = calls, results, control
        self._frames = Frames()
        self._functions: dict[int, Callable[..., Any] | str] = {}
        self._queue: deque[tuple[int, bytes]] = deque()
        self._running = 0
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self._sealed = threading.Event()

    def serve(self) -> None:
        """Run calls until the main process has no more."""
        threading.Thread(target=self._watch, daemon=True).start()
        CURRENT.set(self)
        home = os.getpid()
        self._send(frame(HELLO, home))
        while True:
            try:
                number, payload = self._queue.popleft()
            except IndexError:
                with self._reading:
                    if not self._receive():
                        return
                continue
            self._running = number
            answer = self._run(number, payload)
            end_if_forked(home)
            self._send(answer)

    def beat(self) -> None:
        """Pass a sign of life on."""
        self._send(frame(BEAT, self._running))

    def begun(self) -> None:
        """Say that the running call has all it needs."""
        self._send(frame(BEGUN, self._running))

    def seal(self) -> bool:
        """Ask whether the outcome of the running call counts; if not, this process is killed while it waits."""
        self._sealed.clear()
        self._send(frame(SEAL, self._running))
        return self._sealed.wait()

    def _run(self, number: int, payload: bytes) -> bytes:
        try:
            function_number, arguments, keywords, *known = pickle.loads(payload)  # noqa: S301 -- from our own main process
            self.identity = known[0] if known else None
            function = self._functions[function_number]
            if isinstance(function, str):
                return _error(number, function)
            value = function(*arguments, **keywords)
        except BaseException as error:  # noqa: BLE001 -- `sys.exit` in a service fails the call, not the worker
            from solvent.services.failure import failure_of

            failure = failure_of(error)
            return _error(number, failure.text, failure.output)
        try:
            return frame(RESULT, number, pickle.dumps(value, 5))
        except BaseException as error:  # noqa: BLE001 -- pickle raises whatever the object's own methods raise
            from solvent.services.failure import cause_of

            return _error(number, f"its result cannot be passed between processes: {cause_of(error)}")

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        with self._writing:
            while view:
                view = view[os.write(self._to, view) :]

    def _receive(self) -> bool:
        """Read once from the pipe, waiting if there is nothing; false at its end. Only under `_reading`."""
        data = os.read(self._from, CHUNK)
        for kind, number, payload in self._frames.feed(data):
            if kind == FUNCTION:
                self._functions[number] = _load(payload)
            else:
                self._queue.append((number, payload))
        return bool(data)

    def _watch(self) -> None:
        while wish := os.read(self._control, 1):
            if wish == SEALED:
                self._sealed.set()
            else:
                self._give_back()
        os.killpg(0, signal.SIGKILL)

    def _give_back(self) -> None:
        """Return what is not begun. If the main thread is reading it has nothing to run, so it may keep it."""
        returned = []
        if self._reading.acquire(blocking=False):
            try:
                ready = select.poll()
                ready.register(self._from, select.POLLIN)
                while ready.poll(0) and self._receive():
                    pass
                while self._queue:
                    returned.append(self._queue.pop()[0])
            except IndexError:
                pass  # The main thread took the last one.
            finally:
                self._reading.release()
        self._send(b"".join(frame(RETURNED, number) for number in (*returned, 0)))


def _load(payload: bytes) -> Callable[..., Any] | str:
    """Get a function, or the reason why there is none; that is told to each call of it."""
    try:
        return unpack_function(payload)
    except BaseException as error:  # noqa: BLE001 -- importing runs a user's code
        from solvent.services.failure import cause_of

        return f"a worker process cannot load the function: {cause_of(error)}"


def _error(number: int, text: str, output: str = "") -> bytes:
    return frame(ERROR, number, pickle.dumps((text, output), 5))


def main() -> None:
    """Be a worker process; the arguments are the three pipes."""
    calls, results, control = (int(text) for text in sys.argv[1:4])
    del sys.argv[1:]
    for pipe in (calls, results, control):
        os.set_inheritable(pipe, False)
    # An interrupt at the terminal is the main process's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Who is to have the result may be dead, and this process then ends at once as well.
    with suppress(BrokenPipeError):
        Worker(calls, results, control).serve()


__all__ = ["main"]
