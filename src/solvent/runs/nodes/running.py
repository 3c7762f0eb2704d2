"""A program over nodes, from its text to the solution that is left."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from solvent.hocl.process_settings import deep_stack
from solvent.hocl.program import Program, parse, read_text
from solvent.lang.solution import Solution
from solvent.protocols.machine import NodeId
from solvent.runs.nodes.control import Part
from solvent.runs.nodes.dealing import Deal, text_of_rules
from solvent.runs.nodes.folder import PROGRAM, RunRecord, load_run, new_folder, node_folder, save_run
from solvent.runs.nodes.keeping import load_part, save_part
from solvent.runs.nodes.launcher import Ended, Launcher
from solvent.runs.nodes.processes import Processes
from solvent.runs.nodes.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.lang.functions import Functions
    from solvent.net import Address
    from solvent.net.tls import Tls


class NodesRun:
    """One run over nodes: dealt out, or taken up again from its folder."""

    def __init__(
        self,
        program: Program,
        folder: Path,
        record: RunRecord,
        parts: list[Part],
        *,
        keeps: bool,
        tls: Tls | None = None,
    ) -> None:
        self.program = program
        self.folder = folder
        self.record = record
        self.parts = parts
        # Whether the folder stays when the run has ended well.
        self.keeps = keeps
        self._tls = tls
        self.ended = Ended()

    def run(self, *, max_seconds: float | None = None, tell: Callable[[str], None] = lambda _: None) -> Ended:
        """Run until all is inert."""
        secret = bytes.fromhex(self.record.secret)
        processes = None
        if self.record.is_local:
            # Forked processes have what this one has imported.
            processes = Processes(len(self.parts), secret, lambda _: self.program.functions, tls=self._tls)
            self._move(processes.addresses)
        launcher = Launcher(
            self.folder,
            self.parts,
            secret,
            processes=processes,
            source=self.program.source,
            max_seconds=max_seconds,
            tell=tell,
            tls=self._tls,
        )
        self.ended = launcher.ended
        launcher.run()
        self.discard()
        return self.ended

    @property
    def nodes_count(self) -> int:
        """How many nodes there are."""
        return len(self.parts)

    @property
    def why_together(self) -> str:
        """Why everything is at one node, if it is."""
        return self.record.why_together

    #: Whether this process has started none that takes part, and halts none.
    is_only_watched = False

    @property
    def how_to_go_on(self) -> str:
        """What a user should know whose run has ended early."""
        return f"the run is kept in {self.folder}: `solvent run --resume {self.folder}` goes on with it"

    def discard(self) -> None:
        """Remove the folder, unless somebody wanted it."""
        if not self.keeps:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _move(self, addresses: tuple[Address, ...]) -> None:
        """Let the nodes be where their ports are now."""
        self.record = msgspec.structs.replace(self.record, addresses=addresses, process=os.getpid())
        save_run(self.folder, self.record)
        for node, part in enumerate(self.parts):
            self.parts[node] = msgspec.structs.replace(part, addresses=addresses)
            save_part(node_folder(self.folder, node), self.parts[node])

    def solution(self) -> Solution:
        """Give the whole solution as it is now."""
        writing = Writing(self.program)
        with deep_stack():
            return Solution(map(writing.read, (*self.record.copies, *self.ended.texts)))


class Dealt(NamedTuple):
    """A program, dealt out: the parts of nodes, what is with none of them, and why all is at one node, if it is."""

    run: str
    parts: list[Part]
    copies: tuple[str, ...]
    why_together: str


def dealt(
    program: Program,
    nodes: int,
    *,
    functions: str | None = None,
    peers: tuple[Address, ...] = (),
    reacts_locally: bool = True,
) -> Dealt:
    """Deal a program out."""
    name = Path(program.source.name).stem if program.source.name != "<stdin>" else "stdin"
    run = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    writing = Writing(program)
    with deep_stack():
        deal = Deal(program, program.solution(), nodes)
        copies = tuple(map(writing.write, deal.copies))
    text = text_of_rules(program)
    parts = [
        Part(
            run,
            NodeId(node),
            peers,
            program.source.name,
            text,
            None if functions is None else str(Path(functions).resolve()),
            tuple(deal.standing),
            tuple(deal.endless),
            tuple(deal.words),
            deal.homes,
            tuple(share),
            is_together=bool(deal.why_together),
            reacts_locally=reacts_locally,
        )
        for node, share in enumerate(deal.shares)
    ]
    return Dealt(run, parts, copies, deal.why_together)


def deal_out(
    program: Program,
    nodes: int,
    *,
    functions: str | None = None,
    state: str | None = None,
    peers: tuple[Address, ...] = (),
    secret: bytes = b"",
    reacts_locally: bool = True,
    tls: Tls | None = None,
) -> NodesRun:
    """Deal a program out over nodes of this machine, or over nodes elsewhere."""
    run, parts, copies, why_together = dealt(
        program, nodes, functions=functions, peers=peers, reacts_locally=reacts_locally
    )
    folder = new_folder(run, state)
    record = RunRecord(
        run,
        program.source.name,
        parts[0].functions,
        peers,
        (secret if peers else secrets.token_bytes(16)).hex(),
        os.getpid(),
        is_local=not peers,
        copies=copies,
        why_together=why_together,
        started_at=time.time(),
    )
    save_run(folder, record, program.source.text)
    return NodesRun(program, folder, record, parts, keeps=state is not None, tls=tls)


def take_up(folder: Path, functions: Callable[[str | None], Functions], *, tls: Tls | None = None) -> NodesRun:
    """Go on with a run from its folder."""
    record = load_run(folder)
    text = read_text(folder / PROGRAM)
    program = parse(text, name=record.name, functions=functions(record.functions))
    found = [load_part(node_folder(folder, node)) for node in range(len(record.addresses))]
    parts = [part for part in found if part is not None]
    return NodesRun(program, folder, record, parts, keeps=True, tls=tls)


__all__ = ["Dealt", "NodesRun", "deal_out", "dealt", "take_up"]
