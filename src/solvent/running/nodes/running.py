"""A program over nodes, from its text to the solution that is left."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from solvent.chemistry.solution import Solution
from solvent.protocols.machine import NodeId
from solvent.running.nodes.control import Part
from solvent.running.nodes.dealing import Deal, text_of_rules
from solvent.running.nodes.folder import PROGRAM, RunRecord, load_run, new_folder, node_folder, save_run
from solvent.running.nodes.keeping import load_part, save_part
from solvent.running.nodes.launcher import Ended, Launcher
from solvent.running.nodes.processes import Processes
from solvent.running.nodes.writing import Writing
from solvent.running.program import Program, deep_stack, parse, read_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.chemistry.functions import Functions
    from solvent.live import Address


class NodesRun:
    """One run over nodes: dealt out, or taken up again from its folder."""

    def __init__(self, program: Program, folder: Path, record: RunRecord, parts: list[Part], *, keeps: bool) -> None:
        self.program = program
        self.folder = folder
        self.record = record
        self.parts = parts
        # Whether the folder stays when the run has ended well.
        self.keeps = keeps
        self.ended = Ended()

    def run(self, *, seconds_max: float | None = None, tell: Callable[[str], None] = lambda _: None) -> Ended:
        """Run until all is inert."""
        secret = bytes.fromhex(self.record.secret)
        processes = None
        if self.record.is_local:
            # Forked processes have what this one has imported.
            processes = Processes(len(self.parts), secret, lambda _: self.program.functions)
            self._move(processes.addresses)
        launcher = Launcher(
            self.folder,
            self.parts,
            secret,
            processes=processes,
            source=self.program.source,
            seconds_max=seconds_max,
            tell=tell,
        )
        self.ended = launcher.ended
        launcher.run()
        self.discard()
        return self.ended

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


def deal_out(
    program: Program,
    nodes: int,
    *,
    functions: str | None = None,
    state: str | None = None,
    peers: tuple[Address, ...] = (),
    secret: bytes = b"",
    reacts_locally: bool = True,
    protocol: str = "better",
) -> NodesRun:
    """Deal a program out over nodes of this machine, or over nodes elsewhere."""
    name = Path(program.source.name).stem if program.source.name != "<stdin>" else "stdin"
    run = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    writing = Writing(program)
    with deep_stack():
        deal = Deal(program, program.solution(), nodes)
        copies = tuple(map(writing.write, deal.copies))
    folder = new_folder(run, state)
    record = RunRecord(
        run,
        program.source.name,
        None if functions is None else str(Path(functions).resolve()),
        peers,
        (secret if peers else secrets.token_bytes(16)).hex(),
        os.getpid(),
        is_local=not peers,
        copies=copies,
        why_together=deal.why_together,
        started_at=time.time(),
    )
    save_run(folder, record, program.source.text)
    text = text_of_rules(program)
    parts = [
        Part(
            run,
            NodeId(node),
            peers,
            program.source.name,
            text,
            record.functions,
            tuple(deal.standing),
            tuple(deal.endless),
            tuple(deal.words),
            deal.homes,
            tuple(share),
            is_together=bool(deal.why_together),
            reacts_locally=reacts_locally,
            protocol=protocol,
        )
        for node, share in enumerate(deal.shares)
    ]
    return NodesRun(program, folder, record, parts, keeps=state is not None)


def take_up(folder: Path, functions: Callable[[str | None], Functions]) -> NodesRun:
    """Go on with a run from its folder."""
    record = load_run(folder)
    text = read_text(folder / PROGRAM)
    program = parse(text, name=record.name, functions=functions(record.functions))
    found = [load_part(node_folder(folder, node)) for node in range(len(record.addresses))]
    parts = [part for part in found if part is not None]
    return NodesRun(program, folder, record, parts, keeps=True)


__all__ = ["NodesRun", "deal_out", "take_up"]
