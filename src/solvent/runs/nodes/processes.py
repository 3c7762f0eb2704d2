"""Processes of this machine, one for each node, that can be started again.

A node's port is opened here and inherited, and stays open while its process is dead: whoever connects meanwhile waits
instead of being sent away. Processes are forked, so that a node costs neither an interpreter's start nor its imports;
whoever forks must have no threads and no event loop. When the launcher dies, however it dies, its nodes end too: they
hold a pipe that only it could write to.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING, NoReturn

from solvent.runs.nodes.node import NodeProcess

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from solvent.lang.functions import Functions
    from solvent.net import Address
    from solvent.net.tls import Tls
    from solvent.runs.nodes.control import Part

_SECONDS_TO_END = 5.0
_BACKLOG = 128
_FRAMES = 20_000
_MAX_YOUNG = 200_000


class Processes:
    """The processes of a run's nodes."""

    def __init__(
        self, nodes: int, secret: bytes, functions: Callable[[str | None], Functions], *, tls: Tls | None = None
    ) -> None:
        self._secret = secret
        self._tls = tls
        self._functions = functions
        self._ports = [_opened() for _ in range(nodes)]
        self._numbers: dict[int, int] = {}
        self._statuses: dict[int, int] = {}
        self._pipe = os.pipe()

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Where the nodes listen."""
        return tuple(port.getsockname()[:2] for port in self._ports)

    def start(self, node: int, folder: Path, part: Part) -> None:
        """Start a node's process, for the first time or again."""
        sys.stdout.flush()
        sys.stderr.flush()
        number = os.fork()
        if number == 0:
            self._be(node, folder, part)
        self._numbers[node] = number

    def is_there(self, node: int) -> bool:
        """Say whether a node's process has not ended."""
        number = self._numbers.get(node)
        if number is None:
            return False
        found, status = os.waitpid(number, os.WNOHANG)
        if found:
            del self._numbers[node]
            self._statuses[node] = status
        return not found

    def reap(self, node: int) -> str:
        """Wait for the end of a process that has closed its connection; say how it ended."""
        number = self._numbers.pop(node, None)
        status = self._statuses.pop(node, 0) if number is None else _waited(number)
        if os.WIFSIGNALED(status):
            return f"was killed by signal {os.WTERMSIG(status)}"
        return f"ended with code {os.WEXITSTATUS(status)}"

    def end(self) -> None:
        """Wait until all processes have ended; end those that do not."""
        os.close(self._pipe[1])
        os.close(self._pipe[0])
        for number in self._numbers.values():
            _waited(number)
        self._numbers.clear()
        for port in self._ports:
            port.close()

    # --- In the new process.

    def _be(self, node: int, folder: Path, part: Part) -> NoReturn:
        """Be the node."""
        code = 70
        try:
            os.close(self._pipe[1])
            for number, port in enumerate(self._ports):
                if number != node:
                    port.close()
            sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))
            gc.freeze()
            gc.set_threshold(_MAX_YOUNG, 50, 100)
            process_run(
                lambda: NodeProcess(folder, self._ports[node], self._secret, self._functions, tls=self._tls),
                part,
                ignored=(signal.SIGINT,),
                lifeline=self._pipe[0],
            )
            code = 0
        except BaseException as error:  # noqa: BLE001 - a process of its own; nobody else will tell
            if os.environ.get("SOLVENT_DEBUG"):
                import traceback

                traceback.print_exception(error)
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)


def process_run(
    make: Callable[[], NodeProcess],
    part: Part | None,
    *,
    ignored: tuple[signal.Signals, ...] = (),
    lifeline: int | None = None,
    started: Callable[[NodeProcess], None] | None = None,
) -> None:
    """Run a node in this process until it is ended, by a visitor, by a signal, or by the end of its lifeline."""

    async def serve() -> None:
        process = make()
        loop = asyncio.get_running_loop()

        def stop(_number: int = 0, _frame: object = None) -> None:
            # Noticed at once by whatever computes, and by the loop as soon as it can.
            process.is_stopping = True
            loop.call_soon_threadsafe(process.end)

        def cut() -> None:
            loop.remove_reader(lifeline or 0)
            stop()

        for which in (signal.SIGINT, signal.SIGTERM):
            signal.signal(which, signal.SIG_IGN if which in ignored else stop)
        if lifeline is not None:
            loop.add_reader(lifeline, cut)
        if started is not None:
            started(process)
        await process.run(part)

    asyncio.run(serve())


def _opened() -> socket.socket:
    port = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port.bind(("127.0.0.1", 0))
    port.listen(_BACKLOG)
    port.setblocking(False)
    return port


def _waited(number: int) -> int:
    """Wait for a process, but not for ever."""
    until = time.monotonic() + _SECONDS_TO_END
    while time.monotonic() < until:
        found, status = os.waitpid(number, os.WNOHANG)
        if found:
            return status
        time.sleep(0.002)
    os.kill(number, signal.SIGKILL)
    return os.waitpid(number, 0)[1]


__all__ = ["Processes", "process_run"]
