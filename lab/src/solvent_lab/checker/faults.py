"""What goes wrong, as often as the model allows: messages get lost or doubled, nodes crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.protocols.machine import NodeId, PeerRestarted
from solvent_lab.checker.move import Kind, Label, Move
from solvent_lab.checker.world import Budget, Local

if TYPE_CHECKING:
    from solvent_lab.checker.model import Model
    from solvent_lab.checker.packed_worlds import Numbered, Packing, Row


class Faults:
    """Gives the moves that are faults."""

    def __init__(self, model: Model, packing: Packing, labels: Numbered[Label]) -> None:
        self._model = model
        self._packing = packing
        self._labels = labels
        self._nodes = range(len(model.machines))
        self._may_crash = self._nodes if model.crashes.nodes is None else model.crashes.nodes

    def crashes(self, row: Row, nodes: tuple[int, ...]) -> list[Move]:
        """Give a crash of each of these nodes that may crash."""
        count, queues, packing = len(self._nodes), self._packing.queues, self._packing
        requests, budget = packing.allowances[row[packing.allowance_at]]
        less = Budget(budget.losses, budget.duplicates, budget.crashes - 1)
        allowance = packing.allowances.number((requests, less))
        observe = self._model.observe_crash
        found = []
        for node in nodes:
            if node not in self._may_crash:
                continue
            before = packing.locals[row[node]]
            after = list(row)
            after[node] = packing.locals.number(Local(None, saved=before.saved, life=before.life, is_up=False))
            for peer in self._nodes if self._model.crashes.lose_messages else ():
                after[count + node * count + peer] = 0
                if peer != node:
                    # That a peer started anew, a node is told in its next life.
                    inward = count + peer * count + node
                    after[inward] = queues.missed_of(row[inward])
            if observe is not None:
                ghost = packing.ghosts[row[packing.ghost_at]]
                after[packing.ghost_at] = packing.ghosts.number(observe(ghost, NodeId(node)))
            after[packing.allowance_at] = allowance
            found.append(Move(self._labels.number(Label(Kind.CRASH, node)), after))
        return found

    def of_network(self, row: Row) -> list[Move]:
        """Give all losses and doublings that there may be."""
        count, queues, packing = len(self._nodes), self._packing.queues, self._packing
        requests, budget = packing.allowances[row[packing.allowance_at]]
        less = Budget(budget.losses - 1, budget.duplicates, budget.crashes)
        fewer = Budget(budget.losses, budget.duplicates - 1, budget.crashes)
        may_lose = self._model.network.may_lose
        found = []
        for slot, queue in enumerate(row[count : packing.ghost_at]):
            if not queue:
                continue
            sender, to = divmod(slot, count)
            # A message that is not the next to arrive can be lost when it is.
            losable = queues.fronts[queue] if budget.losses else ()
            doublable = tuple(dict.fromkeys(queues.contents[queue])) if budget.duplicates else ()
            ways = [(Kind.LOSE, less, item) for item in losable] + [(Kind.DOUBLE, fewer, item) for item in doublable]
            for kind, left, item in ways:
                if isinstance(queues.items[item], PeerRestarted):
                    continue
                if kind is Kind.LOSE and may_lose is not None and not may_lose(queues.items[item]):
                    continue
                after = list(row)
                changed = queues.pull(queue, item) if kind is Kind.LOSE else queues.push(queue, item)
                after[count + slot] = changed
                after[packing.allowance_at] = packing.allowances.number((requests, left))
                found.append(Move(self._labels.number(Label(kind, to, sender)), after, item))
        return found


__all__ = ["Faults"]
