"""Processes of this machine that are members of a run, started by somebody who need not stay.

They are forked, so that a member costs neither an interpreter's start nor its imports; whoever forks must have no
threads, no event loop and no open store. They have a session of their own and hold nothing of their launcher's: it may
be killed. What functions print goes nowhere, since nobody may be there to read it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
import secrets
import signal
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from solvent.runs.nodes.member import Member
from solvent.runs.nodes.shared import Board
from solvent.store import open_store
from solvent.store.heartbeat import split_off

if TYPE_CHECKING:
    from collections.abc import Container

    from solvent.lang.functions import Functions
    from solvent.net.tls import Tls
    from solvent.runs.nodes.shared import SharedRun
    from solvent.store.heartbeat import HeartbeatProcess

_SECONDS_TO_END = 5.0
_FRAMES = 20_000
_MAX_YOUNG = 200_000
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How to reach the store, and how members of this machine listen."""

    url: str = field(repr=False)
    is_durable: bool = True
    host: str = "127.0.0.1"
    tls: Tls | None = None


class Forked:
    """The members that this process has started."""

    def __init__(self, manner: Manner, record: SharedRun, functions: Functions) -> None:
        self._manner = manner
        self._record = record
        self._functions = functions
        self._numbers: dict[int, str] = {}

    def start(self, members: int, spares: int) -> None:
        """Start members that begin with a node each, and some that have none yet."""
        sys.stdout.flush()
        sys.stderr.flush()
        machine = _UNFIT.sub("-", socket.gethostname())[:40]
        for number in range(members + spares):
            name = f"{self._record.run}.{machine}-{secrets.token_hex(3)}"
            child = os.fork()
            if child == 0:
                self._be(f"{name}-{os.getpid()}", number if number < members else None)
            self._numbers[child] = f"{name}-{child}"

    def is_starting(self, seen: Container[str]) -> bool:
        """Say whether one of them is there, and nobody has seen it yet."""
        self._reap()
        return any(name not in seen for name in self._numbers.values())

    def end(self) -> None:
        """Wait until all of them have ended, but not for ever."""
        until = time.monotonic() + _SECONDS_TO_END
        while self._numbers and time.monotonic() < until:
            self._reap()
            time.sleep(0.005)

    def _reap(self) -> None:
        for number in list(self._numbers):
            if os.waitpid(number, os.WNOHANG)[0]:
                del self._numbers[number]

    # --- In the new process.

    def _be(self, name: str, first: int | None) -> NoReturn:
        """Be a member."""
        code = 70
        try:
            os.setsid()
            _let_go()
            sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))
            gc.freeze()
            gc.set_threshold(_MAX_YOUNG, 50, 100)
            # Before there are threads: a function that keeps the interpreter's lock must not keep it from being heard.
            heartbeat = split_off(self._manner.url, is_durable=self._manner.is_durable)
            asyncio.run(self._serve(name, first, heartbeat))
            code = 0
        except BaseException as error:  # noqa: BLE001 - a process of its own; nobody else will tell
            if os.environ.get("SOLVENT_DEBUG"):
                import traceback

                traceback.print_exception(error)
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(code)

    async def _serve(self, name: str, first: int | None, heartbeat: HeartbeatProcess | None) -> None:
        manner = self._manner
        with open_store(manner.url, is_durable=manner.is_durable) as store:
            member = Member(
                Board(store, self._record.run),
                self._record,
                name,
                self._functions,
                first=first,
                host=manner.host,
                url=manner.url,
                tls=manner.tls,
                heartbeat=heartbeat,
            )
            loop = asyncio.get_running_loop()

            def leave(_number: int, _frame: Any) -> None:
                # Noticed at once by whatever computes, and by the loop as soon as it can.
                for one in member.hosted.values():
                    one.is_stopping = True
                loop.call_soon_threadsafe(member.leave)

            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, leave)
            await member.run()


def _let_go() -> None:
    """Hold nothing that somebody may wait for the end of."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1) if os.environ.get("SOLVENT_DEBUG") else (0, 1, 2):
        os.dup2(nothing, number)
    os.close(nothing)


__all__ = ["Forked", "Manner"]
