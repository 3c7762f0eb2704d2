"""A worker process: takes calls from a pipe, runs them one after the other, writes the results to another.

The main thread reads calls and runs them. A second thread waits on a control pipe. When the main process asks for calls
back (another worker is idle), this thread returns those that have not begun, also from the pipe, even while a long call
runs. The answer to a call that asks whether its outcome counts comes the same way: yes, or never, since a worker with
an unwanted call is killed. When the pipe ends, the main process is gone, and the second thread ends this process with
all that it has started, whatever it is doing.

*Frames.* The messages between the main process and its workers: a kind, a number, and some bytes.

main to worker    FUNCTION  what to call, once for each worker       number: the function's
                  CALL      its function's number and its arguments  number: the call's
worker to main    HELLO     the worker is ready
                  PRINTED   the end of what a call has printed       number: the call's
                  RESULT    a call's result                          number: the call's
                  ERROR     why it has none                          number: the call's
                  BEAT      the running call is alive                number: the call's
                  BEGUN     the running call has all it needs        number: the call's
                  SEAL      does the call's outcome count?           number: the call's
                  RETURNED  a call that was not begun                number: the call's, or 0 after the last
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from solvent.errors import SolventError
from solvent.services.current_call import CURRENT, end_if_forked
from solvent.services.function_codec import encode, unpack_function
from solvent.services.prints import noting_prints
from solvent.workflows.formats.python.import_guard import importing

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.services.current_call import CallIdentity

FUNCTION, CALL, HELLO, RESULT, ERROR, BEAT, RETURNED, BEGUN, SEAL, PRINTED = range(10)

SEALED = b"!"
"""On the control pipe: the outcome of the running call counts."""

_HEADER = struct.Struct("!BQQ")
_LENGTH = _HEADER.size
NUMBER = struct.Struct("!Q")
CHUNK = 1 << 18


def frame(kind: int, number: int, payload: bytes = b"") -> bytes:
    """Return a frame."""
    return header(kind, number, len(payload)) + payload


def header(kind: int, number: int, length: int) -> bytes:
    """Return the header of a frame, to be followed by its payload."""
    return _HEADER.pack(kind, number, length)


class Frames:
    """Assembles frames from the pieces in which they arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        #: The incomplete frame, and how much of it has arrived.
        self._long: tuple[int, int, int] | None = None
        self._payload: bytearray | None = None
        self._arrived = 0

    def feed(self, data: bytes) -> list[tuple[int, int, bytes | bytearray | None]]:
        """Take some bytes and return the frames that are complete now.

        A payload is `None` if there was no memory for it: it was dropped.
        """
        found = list[tuple[int, int, bytes | bytearray | None]]()
        if self._long is not None:
            data = self._go_on(data, found)
        buffer = self._buffer
        buffer += data
        start, end = 0, len(buffer)
        while end - start >= _LENGTH:
            kind, number, length = _HEADER.unpack_from(buffer, start)
            stop = start + _LENGTH + length
            if stop > end:
                # Into its final buffer: a long payload must not be in memory twice.
                self._begin(kind, number, length)
                self._go_on(buffer[start + _LENGTH :], found)
                start = end
                break
            found.append((kind, number, bytes(buffer[start + _LENGTH : stop])))
            start = stop
        del buffer[:start]
        return found

    def _begin(self, kind: int, number: int, length: int) -> None:
        self._long = kind, number, length
        self._arrived = 0
        try:
            self._payload = bytearray(length)
        except MemoryError:
            self._payload = None

    def _go_on(self, data: bytes | bytearray, found: list[tuple[int, int, bytes | bytearray | None]]) -> bytes:
        """Add bytes to the incomplete frame, and return the rest."""
        assert self._long is not None
        kind, number, length = self._long
        count = min(len(data), length - self._arrived)
        if self._payload is not None:
            self._payload[self._arrived : self._arrived + count] = memoryview(data)[:count]
        self._arrived += count
        if self._arrived == length:
            found.append((kind, number, self._payload))
            self._long = self._payload = None
        return bytes(data[count:])


class Worker:
    """The state of this process, and the call of the running function."""

    over = False
    """An unwanted call is ended by killing this process, so it is never told."""
    identity: CallIdentity | None = None
    printed = ""

    def __init__(self, calls: int, results: int, control: int) -> None:
        self._from, self._to, self._control = calls, results, control
        self._frames = Frames()
        # The bytes of each function until its first call: importing a user's file must not block the second thread.
        self._functions: dict[int, bytes | bytearray | Callable[..., Any] | str | None] = {}
        self._queue: deque[tuple[int, bytes | bytearray | None]] = deque()
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
            self._running, self.printed = number, ""
            answer = self._run(number, payload)
            end_if_forked(home)
            # Before the next one: it may be large.
            del payload
            if self.printed:
                self._send(frame(PRINTED, number, self.printed.encode(errors="backslashreplace")))
            self._send(*answer)
            del answer

    def beat(self) -> None:
        """Pass a heartbeat on."""
        self._send(frame(BEAT, self._running))

    def begun(self) -> None:
        """Report that the running call has its resources."""
        self._send(frame(BEGUN, self._running))

    def seal(self) -> bool:
        """Ask whether the outcome of the running call counts; if not, this process is killed while it waits."""
        self._sealed.clear()
        self._send(frame(SEAL, self._running))
        return self._sealed.wait()

    def _run(self, number: int, payload: bytes | bytearray | None) -> tuple[bytes, ...]:
        if payload is None:
            return _error(number, "its arguments cannot be passed between processes: MemoryError")
        try:
            (function_number,) = NUMBER.unpack_from(payload)
            function = self._functions[function_number]
            if function is None or isinstance(function, bytes | bytearray):
                function = self._functions[function_number] = _load(function)
            if isinstance(function, str):
                return _error(number, function)
            with importing():
                arguments, keywords, *known = pickle.loads(memoryview(payload)[NUMBER.size :])  # noqa: S301 -- from our own main process
            self.identity = known[0] if known else None
            value = function(*arguments, **keywords)
        except BaseException as error:  # noqa: BLE001 -- `sys.exit` in a service fails the call, not the worker
            from solvent.services.failure import failure_of

            failure = failure_of(error)
            return _error(number, failure.text, failure.output)
        try:
            data = encode(value)
            return header(RESULT, number, len(data)), data
        except BaseException as error:  # noqa: BLE001 -- pickle raises whatever the object's own methods raise
            from solvent.services.failure import cause_of

            return _error(number, f"its result cannot be passed between processes: {cause_of(error)}")

    def _send(self, *parts: bytes) -> None:
        with self._writing:
            for part in parts:
                view = memoryview(part)
                while view:
                    view = view[os.write(self._to, view) :]

    def _receive(self) -> bool:
        """Read once from the pipe, blocking if it is empty; return false at its end. Only under `_reading`."""
        data = os.read(self._from, CHUNK)
        for kind, number, payload in self._frames.feed(data):
            if kind == FUNCTION:
                self._functions[number] = payload
            else:
                self._queue.append((number, payload))
        return bool(data)

    def _watch(self) -> None:
        try:
            while wish := os.read(self._control, 1):
                if wish == SEALED:
                    self._sealed.set()
                else:
                    self._give_back()
        finally:
            # Also after an error: calls cannot be given back to a main process that is gone.
            os.killpg(0, signal.SIGKILL)

    def _give_back(self) -> None:
        """Return the calls that have not begun. If the main thread is reading, it is idle, and keeps what it reads."""
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


def _load(payload: bytes | bytearray | None) -> Callable[..., Any] | str:
    """Return a function, or the error that each call of it reports."""
    if payload is None:
        return "a worker process cannot load the function: MemoryError"
    try:
        return unpack_function(payload)
    except BaseException as error:  # noqa: BLE001 -- importing runs a user's code
        from solvent.services.failure import cause_of

        cause = f"[{error.code}] {error.message}: {error.hint}" if isinstance(error, SolventError) else cause_of(error)
        return f"a worker process cannot load the function: {cause}"


def _error(number: int, text: str, output: str = "") -> tuple[bytes, ...]:
    return (frame(ERROR, number, pickle.dumps((text, output), 5)),)


def main() -> None:
    """Run a worker process; the arguments are the three pipes."""
    calls, results, control = (int(text) for text in sys.argv[1:4])
    del sys.argv[1:]
    for pipe in (calls, results, control):
        os.set_inheritable(pipe, False)
    # The main process handles an interrupt at the terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The main process may be dead; this process then ends at once as well.
    with suppress(BrokenPipeError), noting_prints():
        Worker(calls, results, control).serve()


__all__ = [
    "BEAT",
    "BEGUN",
    "CALL",
    "CHUNK",
    "ERROR",
    "FUNCTION",
    "HELLO",
    "NUMBER",
    "PRINTED",
    "RESULT",
    "RETURNED",
    "SEAL",
    "SEALED",
    "Frames",
    "frame",
    "header",
    "main",
]
