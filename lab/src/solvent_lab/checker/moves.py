"""All moves from a world: which events may happen next, and the world after each.

See `model` for what the moves mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.protocols.machine import (
    Answered,
    Choose,
    Chosen,
    NodeId,
    PeerRestarted,
    Received,
    Requested,
    TimerFired,
)
from solvent_lab.checker.faults import Faults
from solvent_lab.checker.model import Asking, Timers
from solvent_lab.checker.move import Kind, Label, Move
from solvent_lab.checker.packed_worlds import Numbered, Packing
from solvent_lab.checker.steps import Outcome, Steps
from solvent_lab.checker.world import Budget, Local, Missed

if TYPE_CHECKING:
    from solvent.protocols.machine import Event
    from solvent_lab.checker.model import Model
    from solvent_lab.checker.packed_worlds import Row


class _Facts(NamedTuple):
    """What a node as it stands is ready for."""

    is_up: bool
    has_unfinished: bool
    #: The oldest question without an answer.
    question: Any
    #: Whether the node takes no other event before that answer.
    is_blocked: bool
    timers: tuple[str, ...]


class Moves:
    """Gives the moves of a model's worlds."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.packing = Packing(model)
        self.labels: Numbered[Label] = Numbered()
        self.events: Numbered[Event] = Numbered()
        self.steps = Steps(model, self.packing)
        self._nodes = range(len(model.machines))
        self._facts: list[_Facts] = []
        self._ghosts: dict[tuple[int, int, int], int] = {}
        self._received: dict[tuple[int, int], int] = {}
        self._has_crashes = model.crashes.count > 0
        self._deliver = [
            self.labels.number(Label(Kind.DELIVER, to, sender)) for sender in self._nodes for to in self._nodes
        ]
        self._at = {
            kind: [self.labels.number(Label(kind, node)) for node in self._nodes]
            for kind in (Kind.ANSWER, Kind.REQUEST, Kind.GO_ON, Kind.START)
        }
        self._faults = Faults(model, self.packing, self.labels)
        #: Classes and events of timers, by node and name.
        self._fired: dict[tuple[int, str], tuple[int, int]] = {}

    # ------------------------------------------------------------------------------------------------ the first

    def first(self) -> tuple[Row, str]:
        """Start all nodes and give the first row, or what went wrong."""
        packing, count = self.packing, len(self._nodes)
        requests = tuple(
            sorted(packing.requests.number((NodeId(node), request)) for node, request in self.model.requests)
        )
        network = self.model.network
        budget = Budget(network.losses, network.duplicates, self.model.crashes.count)
        blank = packing.locals.number(Local(None))
        row = [blank] * count + [0] * (count * count)
        row += [packing.ghosts.number(self.model.ghost), packing.allowances.number((requests, budget))]
        for node in self._nodes:
            outcome = self.steps.begin(node)
            if outcome.failure:
                return tuple(row), f"{self.name(node)} cannot start: {outcome.failure}"
            self._apply(row, node, outcome)
        return tuple(row), ""

    def name(self, node: int) -> str:
        """Give the name of a node, for people."""
        return self.model.names[node] if node < len(self.model.names) else f"n{node}"

    # ------------------------------------------------------------------------------------------------ all moves

    def moves(self, row: Row) -> list[Move]:
        """Give all moves from a row."""
        packing = self.packing
        ready = self._ready(row)
        requests, budget = packing.allowances[row[packing.allowance_at]]
        is_split = self.model.crashes.within_step and budget.crashes > 0
        found: list[Move] = []
        for node, one in enumerate(ready):
            if one.has_unfinished:
                outcome = self.steps.go_on(row[node], is_split=is_split)
                found.append(self._moved(row, self._at[Kind.GO_ON][node], node, outcome, -1))
            elif one.question is not None:
                answers = self._answers(row, node, one.question, is_split=is_split)
                if answers and self.model.asking is Asking.AT_ONCE:
                    return answers + (self._faults.crashes(row, (node,)) if budget.crashes else [])
                found += answers
        self._deliveries(row, ready, found, is_split=is_split)
        is_quiet = self.model.timers is Timers.ANY_TIME or not found
        for node, one in enumerate(ready):
            if one.is_blocked:
                continue
            if one.timers and is_quiet:
                found += self._timers(row, node, one.timers, is_split=is_split)
            if not one.is_up:
                found.append(self._start(row, node, is_split=is_split))
        for request in dict.fromkeys(requests):
            node, wanted = packing.requests[request]
            if ready[node].is_up and not ready[node].is_blocked:
                found.append(self._requested(row, node, wanted, request, is_split=is_split))
        if budget.losses or budget.duplicates:
            found += self._faults.of_network(row)
        if budget.crashes:
            found += self._faults.crashes(row, tuple(node for node in self._nodes if ready[node].is_up))
        return found

    def possible(self, row: Row) -> set[int]:
        """Give the classes of moves that a fair run has to make some time if they stay possible; no faults.

        A node that waits for an answer it can get, or is amid its effects, takes no other event now. It will soon, so
        what waits for it is possible all the same.
        """
        packing, count = self.packing, len(self._nodes)
        ready = self._ready(row)
        found: set[int] = set()
        is_stuck = [False] * count
        for node, one in enumerate(ready):
            if one.has_unfinished:
                found.add(self._at[Kind.GO_ON][node])
            elif one.question is not None:
                if self._answers(row, node, one.question, is_split=False):
                    found.add(self._at[Kind.ANSWER][node])
                else:
                    is_stuck[node] = one.is_blocked
        can_act = [one.is_up and not stuck for one, stuck in zip(ready, is_stuck, strict=True)]
        for slot, queue in enumerate(row[count : packing.ghost_at]):
            if queue and can_act[slot % count]:
                found.add(self._deliver[slot])
        is_quiet = self.model.timers is Timers.ANY_TIME or not found
        for node, one in enumerate(ready):
            if not one.is_up:
                found.add(self._at[Kind.START][node])
            elif can_act[node] and is_quiet:
                found |= {self.labels.number(Label(Kind.TIMER, node, timer=name)) for name in one.timers}
        requests, _ = packing.allowances[row[packing.allowance_at]]
        wanted = {packing.requests[request][0] for request in requests}
        return found | {self._at[Kind.REQUEST][node] for node in wanted if can_act[node]}

    def _ready(self, row: Row) -> list[_Facts]:
        facts, locals_ = self._facts, self.packing.locals
        if len(facts) < len(locals_):
            facts += [self._facts_of(one) for one in locals_.values[len(facts) :]]
        return [facts[row[node]] for node in self._nodes]

    def _facts_of(self, local: Local) -> _Facts:
        question = local.questions[0] if local.questions else None
        waits = question is not None and (isinstance(question, Choose) or self.model.asking is not Asking.MEANWHILE)
        return _Facts(
            is_up=local.is_up,
            has_unfinished=bool(local.unfinished),
            question=question,
            is_blocked=bool(local.unfinished) or waits,
            timers=local.timers,
        )

    # ------------------------------------------------------------------------------------------ kinds of moves

    def _answers(self, row: Row, node: int, question: Any, *, is_split: bool) -> list[Move]:
        events: list[Event]
        if isinstance(question, Choose):
            events = [Chosen(option) for option in range(question.options)]
        else:
            world = self.packing.world(row)
            events = [Answered(one) for one in self.model.answers(world, NodeId(node), question.question)]
        label = self._at[Kind.ANSWER][node]
        return [self._taken(row, label, node, self.events.number(event), is_split=is_split) for event in events]

    def _deliveries(self, row: Row, ready: list[_Facts], found: list[Move], *, is_split: bool) -> None:
        count = len(self._nodes)
        queues = self.packing.queues
        for slot, queue in enumerate(row[count : self.packing.ghost_at]):
            if not queue:
                continue
            sender, to = divmod(slot, count)
            if ready[to].is_blocked or not ready[to].is_up:
                continue
            for item in queues.fronts[queue]:
                event = self._received.get((sender, item))
                if event is None:
                    event = self.event_of(sender, item)
                outcome = self.steps.take(to, row[to], event, self.events.values[event], is_split=is_split)
                after = list(row)
                after[count + slot] = queues.pull(queue, item)
                if outcome.failure:
                    after = []
                else:
                    self._apply(after, to, outcome)
                found.append(Move(self._deliver[slot], after, event, outcome))

    def event_of(self, sender: int, item: int) -> int:
        """Give the number of the event that an item from a node is when it arrives."""
        what = self.packing.queues.items[item]
        event = PeerRestarted(what.peer) if isinstance(what, PeerRestarted) else Received(NodeId(sender), what)
        number = self._received[sender, item] = self.events.number(event)
        return number

    def _timers(self, row: Row, node: int, names: tuple[str, ...], *, is_split: bool) -> list[Move]:
        found = []
        for name in names:
            known = self._fired.get((node, name))
            if known is None:
                label = self.labels.number(Label(Kind.TIMER, node, timer=name))
                known = self._fired[node, name] = label, self.events.number(TimerFired(name))
            found.append(self._taken(row, known[0], node, known[1], is_split=is_split))
        return found

    def _requested(self, row: Row, node: int, wanted: Any, request: int, *, is_split: bool) -> Move:
        at = self.packing.allowance_at
        requests, budget = self.packing.allowances[row[at]]
        rest = list(requests)
        rest.remove(request)
        after = list(row)
        after[at] = self.packing.allowances.number((tuple(rest), budget))
        event = self.events.number(Requested(wanted))
        return self._taken(tuple(after), self._at[Kind.REQUEST][node], node, event, is_split=is_split)

    def _start(self, row: Row, node: int, *, is_split: bool) -> Move:
        outcome = self.steps.start(node, row[node], is_split=is_split)
        count, queues = len(self._nodes), self.packing.queues
        before = list(row)
        if self.model.crashes.are_noticed:
            for peer in self._nodes:
                if peer != node:
                    is_up = self.packing.locals[row[peer]].is_up
                    notice = (PeerRestarted if is_up else Missed)(NodeId(node))
                    slot = count + node * count + peer
                    before[slot] = queues.push(before[slot], queues.items.number(notice))
        return self._moved(tuple(before), self._at[Kind.START][node], node, outcome, -1)

    # ----------------------------------------------------------------------------------------- doing one of them

    def _taken(self, row: Row, label: int, node: int, event: int, *, is_split: bool) -> Move:
        outcome = self.steps.take(node, row[node], event, self.events.values[event], is_split=is_split)
        return self._moved(row, label, node, outcome, event)

    def _moved(self, row: Row, label: int, node: int, outcome: Outcome, subject: int) -> Move:
        after: list[int] = []
        if not outcome.failure:
            after = list(row)
            self._apply(after, node, outcome)
        return Move(label, after, subject, outcome)

    def _apply(self, row: list[int], node: int, outcome: Outcome) -> None:
        """Put what came of an event at a node into a row."""
        row[node] = outcome.local
        if outcome.sends:
            count, queues = len(self._nodes), self.packing.queues
            first, has_crashes = count + node * count, self._has_crashes
            for to, item in outcome.sends:
                if has_crashes and self._is_lost(row, node, to):
                    continue
                row[first + to] = queues.push(row[first + to], item)
        if outcome.reports_number:
            at = self.packing.ghost_at
            key = (row[at], node, outcome.reports_number)
            after = self._ghosts.get(key)
            if after is None:
                ghost = self.packing.ghosts[row[at]]
                for one in outcome.reports:
                    ghost = self.model.observe(ghost, NodeId(node), one)
                after = self._ghosts[key] = self.packing.ghosts.number(ghost)
            row[at] = after

    def _is_lost(self, row: list[int], node: int, to: int) -> bool:
        """Whether a message cannot reach the life it is meant for."""
        if node == to:
            return False
        if not self.packing.locals[row[to]].is_up:
            return True
        count = len(self._nodes)
        is_unheard = self.packing.queues.has_notice[row[count + to * count + node]]
        return is_unheard and self.model.crashes.lose_messages


__all__ = ["Moves"]
