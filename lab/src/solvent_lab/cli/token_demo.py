"""`solvent lab serve token --nodes N`: a ring of processes of this machine, and what is seen of it.

Each process is `solvent lab serve token` and tells what happens as lines of JSON; here they come together. One that
has the lock may be killed now and then: it is started again from its journal, and how long the others were without is
told.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.cli.render import complain, show_error
from solvent.errors import INTERRUPTED, SolventError
from solvent_lab.cli.token_view import view_of

if TYPE_CHECKING:
    from argparse import Namespace

    from solvent_lab.cli.token_view import View

_LOCK_EVERY = 0.25
_RESTART_SECONDS = 1.0
_END_SECONDS = 10.0
_MAX_LINE_BYTES = 1 << 22


def run_demo(options: Namespace) -> int:
    """Run a ring until somebody stops it (130) or its time is over."""
    with tempfile.TemporaryDirectory() as folder, view_of(options.format, is_whole=True) as view:
        is_stopped = asyncio.run(_Demo(options, Path(options.journal or folder), view).run())
    if is_stopped:
        complain("the ring stopped")
    return INTERRUPTED if is_stopped else 0


class _Demo:
    """A ring of processes."""

    def __init__(self, options: Namespace, folder: Path, view: View) -> None:
        self._options = options
        self._folder = folder
        self._view = view
        self._began = time.monotonic()
        self._peers = _free_places(options.nodes)
        self._processes = dict[int, asyncio.subprocess.Process]()
        self._reading = set[asyncio.Task[None]]()
        self._killed_at: float | None = None
        self._fault = ""

    async def run(self) -> bool:
        """Run it; tell whether somebody stopped it."""
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        for which in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(which, stopped.set)
        await asyncio.gather(*[self._start(node) for node in range(self._options.nodes)])
        killing = asyncio.create_task(self._kill_holders())
        with suppress(TimeoutError):
            async with asyncio.timeout(self._options.seconds):
                await stopped.wait()
        for which in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(which)
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)
        await self._end()
        return stopped.is_set()

    async def _start(self, node: int) -> None:
        options = self._options
        every = _LOCK_EVERY if options.lock_every is None else options.lock_every
        words = ["--node", str(node), "--peers", self._peers, "--format", "json", "--run", f"demo {os.getpid()}"]
        words += ["--lock-every", str(every), "--hold", str(options.hold), "--patience", str(options.patience)]
        words += ["--journal", str(self._folder / f"node-{node}.journal")]
        for text in options.say:
            words += ["--say", text]
        self._processes[node] = process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "solvent",
            "lab",
            "serve",
            "token",
            *words,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_MAX_LINE_BYTES,
            # Ctrl-C is for this process; it ends the others in good order.
            start_new_session=True,
        )
        task = asyncio.create_task(self._read(node, process))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _read(self, node: int, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        while line := await process.stdout.readline():
            with suppress(ValueError):
                event = json.loads(line)
                if event["event"] != "ended":
                    self._take(node, event)
        said = (await process.stderr.read()).decode(errors="replace")
        if await process.wait() in (1, 2):
            self._fault = said

    def _take(self, node: int, event: dict[str, Any]) -> None:
        now = time.monotonic()
        event |= {"node": node, "seconds": round(now - self._began, 4)}
        self._view.take(event)
        if event["event"] == "locked" and self._killed_at is not None:
            gap, self._killed_at = now - self._killed_at, None
            self._view.take({"event": "back", "node": node, "seconds": event["seconds"], "gap": round(gap, 4)})

    def _tell(self, kind: str, node: int) -> None:
        self._view.take({"event": kind, "node": node, "seconds": round(time.monotonic() - self._began, 4)})

    async def _kill_holders(self) -> None:
        every = self._options.kill_every
        while every is not None:
            await asyncio.sleep(every)
            # Nobody is killed while another's loss is still felt.
            while self._view.board.locker is None or self._killed_at is not None:  # noqa: ASYNC110 - it soon is
                await asyncio.sleep(0.001)
            node = self._view.board.locker
            process = self._processes[node]
            process.kill()
            self._killed_at = time.monotonic()
            self._tell("killed", node)
            await process.wait()
            await asyncio.sleep(_RESTART_SECONDS)
            self._tell("started", node)
            await self._start(node)

    async def _end(self) -> None:
        """Let all processes end in good order, and those that do not, end all the same."""
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await asyncio.gather(*[process.wait() for process in self._processes.values()])
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.kill()
        await asyncio.gather(*self._reading)
        if self._fault:
            _show(self._fault)


def _show(said: str) -> None:
    """Say what a process has said, which told it as JSON."""
    for line in said.splitlines():
        try:
            error = json.loads(line)["error"]
            show_error(SolventError(error["code"], error["message"], hint=error.get("hint", "")))
        except (ValueError, KeyError, TypeError):
            complain(line)


def _free_places(count: int) -> str:
    """Give nodes addresses of this machine that nobody has now."""
    from solvent.net.ports import LOOPBACK, free_ports

    return ",".join(f"{node}={LOOPBACK}:{port}" for node, port in enumerate(free_ports(count)))


__all__ = ["run_demo"]
