"""What `solvent top` shows of a run that is kept in a space: what its nodes have said there last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.live.space import open_space
from solvent.live.space.leases import Pulses
from solvent.running.nodes.folder import RunRecord
from solvent.running.nodes.shared import Board, runs_in

if TYPE_CHECKING:
    from solvent.running.nodes.control import Status


class SharedStatuses:
    """The nodes of a run in a space; `record` is what a table's title and its rows need."""

    def __init__(self, url: str, run: str | None) -> None:
        self._space = open_space(url)
        self._board = Board(self._space, run or next(reversed(runs_in(self._space)), "-"))
        found = self._board.record()
        self._pulses = Pulses(self._space, ttl=found.ttl)
        nowhere = (("", 0),) * found.nodes
        self.record = RunRecord(found.run, found.name, None, nowhere, "", 0, is_local=False)
        self.is_over = False

    def look(self) -> dict[int, Status]:
        """Give how the nodes are; those are left out whose process is presumed dead and that nobody has taken over."""
        self._pulses.look()
        seen, statuses = self._board.look(), self._board.statuses()
        self.is_over = seen.ending is not None
        if self.is_over:
            return statuses
        return {
            node: statuses[node]
            for node, holder in seen.holders.items()
            if node in statuses and holder.agent and not self._pulses.is_presumed_dead(holder.agent)
        }


__all__ = ["SharedStatuses"]
