"""A node's process: its port, its visitors and its work.

A node's folder holds its part of the program and its journal. The molecules it begins with are in the part until they
are in the journal; from then on only the journal counts. So a process that dies at any moment can be started again in
the same folder, and goes on.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from solvent.engine.reaction import Stopped
from solvent.errors import ReactionFailed, SolventError, exception_text
from solvent.net import Identity
from solvent.protocols.machine import NodeId
from solvent.runs.nodes.control import AskStatus, Begin, Collect, Collected, End, Halt, Load, Part, Problem, Status
from solvent.runs.nodes.keeping import InFolder, save_part
from solvent.runs.nodes.listening import Door, Listener, Visitor
from solvent.runs.nodes.work import Work

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from solvent.lang.functions import Functions
    from solvent.net import Codec
    from solvent.net.tls import Tls

_LAST = ("halted", "failed")


class NodeProcess:
    """A node, from the moment its port is open; `functions` finds those that a part names."""

    def __init__(
        self,
        folder: Path,
        listening: socket.socket,
        secret: bytes,
        functions: Callable[[str | None], Functions],
        *,
        tls: Tls | None = None,
    ) -> None:
        self.folder = folder
        self.phase = "empty"
        self.problem: Problem | None = None
        # Set by signals too, in the middle of a computation.
        self.is_stopping = False
        #: Whether it was ended after its run had come to its end.
        self.is_over = False
        self._functions = functions
        self._tls = tls
        self._listener = Listener(listening, secret, self._on_request, tls=tls)
        self._listener.greeted = self._greet
        self._ended = asyncio.Event()
        self._work: Work | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, part: Part | None) -> None:
        """Serve until somebody ends it."""
        if part is not None:
            await self._load(part)
        await self._listener.open()
        try:
            await self._ended.wait()
        finally:
            await self._halt()
            await self._listener.close()

    def end(self) -> None:
        """Let the process go as soon as its molecules are safe."""
        self.is_over = self.phase == "inert"
        self.is_stopping = True
        self._ended.set()

    # --- Visitors.

    def _greet(self, visitor: Visitor) -> None:
        visitor.tell(self.status())
        if self.problem is not None:
            visitor.tell(self.problem)

    def _on_request(self, visitor: Visitor, request: Any) -> None:
        work = self._work
        match request:
            case Load(part):
                self._spawn(self._take(part))
            case Begin() if work is not None:
                work.begin()
            case AskStatus():
                visitor.tell(self.status())
            case Collect():
                visitor.tell(work.collected() if work is not None else Collected(()))
            case Halt():
                self._spawn(self._halt())
            case End():
                self.end()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def status(self) -> Status:
        """Say how things are."""
        if self._work is None:
            return Status(self.phase, process=os.getpid(), at=time.monotonic())
        return self._work.status(self.phase)

    def _be(self, phase: str) -> None:
        if phase != self.phase and self.phase not in _LAST:
            self.phase = phase
            self._listener.tell(self.status())

    # --- Work.

    async def _take(self, part: Part) -> None:
        """Be a node of a run that a launcher elsewhere has dealt out."""
        if self._work is None:
            save_part(self.folder, part)
            await self._load(part)

    async def _load(self, part: Part) -> None:
        try:
            functions = self._functions(part.functions)
            self._work = work = Work(
                part,
                functions,
                InFolder(self.folder),
                self._door,
                told_phase=self._be,
                should_stop=lambda: self.is_stopping,
            )
            await work.start()
        except Exception as error:  # noqa: BLE001 - whoever sent the part is told
            self._fail(error)
        else:
            self._spawn(self._watch(work))

    def _door(self, part: Part, protocol: str, codec: Codec) -> Door:
        """Give the way to other nodes: through the port that is open already."""
        identity = Identity(part.node, protocol, part.run, self._listener.identity.secret)
        peers = {NodeId(node): at for node, at in enumerate(part.addresses) if node != part.node}
        door = Door(identity, codec, peers=peers, tls=self._tls)
        door.listener = self._listener
        return door

    async def _watch(self, work: Work) -> None:
        try:
            await work.host.wait()
        except Stopped:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it was, visitors are told
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if os.environ.get("SOLVENT_DEBUG"):
            import traceback

            traceback.print_exception(error, file=sys.stderr)
        self.problem = problem_from(error)
        self._be("failed")
        self._listener.tell(self.problem)

    async def _halt(self) -> None:
        self.is_stopping = True
        if self._work is not None:
            await self._work.stop()
        self._be("halted")


def problem_from(error: BaseException) -> Problem:
    """Give the fields of an error."""
    if not isinstance(error, SolventError):
        return Problem("fault", "H999", f"a fault in Solvent itself: {exception_text(error)}")
    is_reaction = isinstance(error, ReactionFailed)
    return Problem(
        type(error).__name__,
        error.code,
        error.message,
        hint=error.hint,
        note=error.note,
        rule=error.rule if isinstance(error, ReactionFailed) else "",
        reactants=error.reactants if isinstance(error, ReactionFailed) else (),
        place=(error.span.start, error.span.end) if is_reaction and error.span is not None else None,
    )


__all__ = ["NodeProcess", "problem_from"]
