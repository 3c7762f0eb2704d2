"""How the nodes of a run are, for people: asked of the nodes themselves, or read in the store that keeps the run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse, NodeProblem
from solvent.runs.nodes.control import AskStatus, Line
from solvent.runs.nodes.folder import load_run
from solvent.runs.nodes.shared import Board, runs_in
from solvent.store.leases import Heartbeats

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.runs.nodes.control import Status
    from solvent.store import Store

_SECONDS_TO_REACH = 2.0


def is_going_on(folder: Path) -> bool:
    """Say whether the launcher of a run is there."""
    try:
        os.kill(load_run(folder).process, 0)
    except PermissionError:
        return True
    except (OSError, Misuse):
        return False
    return True


class Nodes:
    """The nodes of a run, and how they said they are."""

    def __init__(self, run: str, program: str, count: int) -> None:
        self.run = run
        self.program = program
        self.count = count
        self.is_over = False
        #: Messages in a second, of each node.
        self.rates: dict[int, float] = {}
        self._last: dict[int, Status] = {}

    def look(self) -> dict[int, Status]:
        """See how every node is; those that do not answer are left out."""
        found = self._look()
        for node, status in found.items():
            before = self._last.get(node)
            if before is not None and before.process == status.process and status.at > before.at:
                self.rates[node] = (status.messages_sent - before.messages_sent) / (status.at - before.at)
        self._last = found
        return found

    def _look(self) -> dict[int, Status]:
        raise NotImplementedError

    def close(self) -> None:
        """Look no more."""

    def as_json(self, statuses: dict[int, Status]) -> dict[str, Any]:
        """Give all of it for a machine."""
        nodes = [
            {
                "node": node,
                "state": status.phase,
                "mode": status.mode,
                "rule": status.rule,
                "molecules": status.molecules,
                "known": status.known,
                "reactions": status.reactions,
                "messages": status.messages_sent,
                "messages_per_second": round(self.rates[node], 1) if node in self.rates else None,
                "kinds": status.kinds,
                "to": status.to,
                "life": status.life,
                "process": status.process,
            }
            for node, status in sorted(statuses.items())
        ]
        return {"run": self.run, "program": self.program, "nodes": nodes}


class AskedNodes(Nodes):
    """Nodes that are asked, each by a connection to it."""

    def __init__(self, folder: Path) -> None:
        self._record = load_run(folder)
        super().__init__(self._record.run, self._record.name, len(self._record.addresses))
        self._lines: dict[int, Line] = {}

    def _look(self) -> dict[int, Status]:
        found: dict[int, Status] = {}
        for node, address in enumerate(self._record.addresses):
            try:
                line = self._lines.get(node)
                if line is None:
                    secret = bytes.fromhex(self._record.secret)
                    line = self._lines[node] = Line(address, secret, max_seconds=_SECONDS_TO_REACH)
                    # It says how it is before it is asked; taken for the answer, all answers would be one look late.
                    if line.is_readable(_SECONDS_TO_REACH):
                        line.hear()
                found[node] = line.ask(AskStatus(), max_seconds=_SECONDS_TO_REACH)
            except NodeProblem:
                self._lines.pop(node, None)
        self.is_over = not found
        return found

    def close(self) -> None:
        """Look no more."""
        for line in self._lines.values():
            line.close()
        self._lines.clear()


class SharedNodes(Nodes):
    """Nodes of a run in a store, as they have said there; those that nobody has any more are left out."""

    def __init__(self, store: Store, run: str | None = None) -> None:
        self._board = Board(store, run or next(reversed(runs_in(store)), "-"))
        record = self._board.record()
        super().__init__(record.run, record.name, record.nodes)
        self._heartbeats = Heartbeats(store, ttl=record.ttl)

    def _look(self) -> dict[int, Status]:
        self._heartbeats.look()
        seen, statuses = self._board.look(), self._board.statuses()
        self.is_over = seen.ending is not None
        if self.is_over:
            return statuses
        return {
            node: statuses[node]
            for node, holder in seen.holders.items()
            if node in statuses and holder.agent and not self._heartbeats.is_presumed_dead(holder.agent)
        }


__all__ = ["AskedNodes", "Nodes", "SharedNodes", "is_going_on"]
