"""All moves from a world: which events may happen next, and the world after each.

`model` says what the moves mean. Each belongs to a class (`Label`): deliver from a to b, timer t of node n, answer node
n, ...; fairness is about classes. `Steps` runs machines: what one event does to one node. The same event meets the same
node state many thousand times, in worlds that differ elsewhere, so outcomes are computed once for each pair and kept;
this is what makes the checker fast whatever the machine costs. `Faults` loses and doubles messages and crashes nodes,
as often as the model allows.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from msgspec.structs import replace

from solvent.protocols.machine import (
    Answered,
    Ask,
    CancelTimer,
    Choose,
    Chosen,
    Effects,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Save,
    Send,
    SetTimer,
    TimerFired,
)
from solvent_lab.checker.model import Asking, Timers
from solvent_lab.checker.packed_worlds import Numbered, Packing
from solvent_lab.checker.world import Budget, Local, Missed

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.protocols.machine import Event
    from solvent_lab.checker.model import Model
    from solvent_lab.checker.packed_worlds import Row


class Kind(StrEnum):
    """What happens in a move."""

    DELIVER = "deliver"
    TIMER = "timer"
    ANSWER = "answer"
    REQUEST = "request"
    GO_ON = "go on"
    START = "start"
    LOSE = "lose"
    DOUBLE = "double"
    CRASH = "crash"

    @property
    def is_fault(self) -> bool:
        """Whether nothing that must come about may need this."""
        return self in (Kind.LOSE, Kind.DOUBLE, Kind.CRASH)


class Label(NamedTuple):
    """A class of moves: what happens, at which node, from which other node, or to which timer."""

    kind: Kind
    node: int
    sender: int = -1
    timer: str = ""


class Outcome(NamedTuple):
    """What came of an event at a node."""

    #: The number of the node as it stands now; -1 where the machine failed.
    local: int
    #: Recipients and numbers of messages, in order.
    sends: tuple[tuple[int, int], ...] = ()
    reports: tuple[Any, ...] = ()
    #: The number of `reports`; 0 for none.
    reports_number: int = 0
    #: What was carried out, for people.
    effects: Effects = ()
    #: What the machine raised.
    failure: str = ""


class Move(NamedTuple):
    """One move: its class by number, the row after it, and what it was."""

    label: int
    #: The row after the move; empty where the machine failed.
    row: list[int]
    #: The number of the event, of the message lost or doubled; -1 where there is none.
    subject: int = -1
    outcome: Outcome | None = None


# ------------------------------------------------------------------------------------------------------- steps of nodes


class Steps:
    """Runs machines, each step once."""

    def __init__(self, model: Model, packing: Packing) -> None:
        self._machines = model.machines
        self._nodes_count = len(model.machines)
        self._packing = packing
        self._reports: dict[tuple[Any, ...], int] = {(): 0}
        self._known: dict[tuple[int, int, bool], Outcome] = {}
        self._continued: dict[tuple[int, bool], Outcome] = {}
        self._started: dict[tuple[int, int, bool], Outcome] = {}

    def take(self, node: int, local: int, event: int, value: Event, *, is_split: bool) -> Outcome:
        """Let a node take an event, `event` being its number; with `is_split` it may crash among the effects."""
        key = (local * self._nodes_count + node, event, is_split)
        known = self._known.get(key)
        if known is None:
            before = _without(self._packing.locals[local], value)
            machine = self._machines[node]
            known = self._known[key] = self._done(before, lambda: machine.step(before.state, value), is_split=is_split)
        return known

    def start(self, node: int, local: int, *, is_split: bool) -> Outcome:
        """Start a node that is down."""
        key = (node, local, is_split)
        known = self._started.get(key)
        if known is None:
            down = self._packing.locals[local]
            machine = self._machines[node]
            up = Local(None, saved=down.saved, life=down.life + 1)
            known = self._started[key] = self._done(up, lambda: machine.start(up.saved, up.life), is_split=is_split)
        return known

    def begin(self, node: int) -> Outcome:
        """Start a node for the first time."""
        machine = self._machines[node]
        return self._done(Local(None), machine.start, is_split=False)

    def go_on(self, local: int, *, is_split: bool) -> Outcome:
        """Carry out effects that were left."""
        key = (local, is_split)
        known = self._continued.get(key)
        if known is None:
            before = self._packing.locals[local]
            rest = replace(before, unfinished=())
            known = self._continued[key] = self._carried_out(rest, before.unfinished, is_split=is_split)
        return known

    def _done(self, before: Local, run: Callable[[], tuple[Any, Effects]], *, is_split: bool) -> Outcome:
        try:
            state, effects = run()
        except Exception as error:  # noqa: BLE001 - whatever a machine raises is what the checker is to find
            return Outcome(-1, failure=f"{type(error).__name__}: {error}".rstrip(": "))
        after = replace(before, state=state)
        return self._carried_out(after, tuple(effects), is_split=is_split)

    def _carried_out(self, local: Local, effects: Effects, *, is_split: bool) -> Outcome:
        timers, questions, saved = set(local.timers), list(local.questions), list(local.saved)
        sends: list[tuple[int, int]] = []
        reports: list[Any] = []
        unfinished: Effects = ()
        for place, effect in enumerate(effects):
            if is_split and place and isinstance(effect, Save | Report):
                effects, unfinished = effects[:place], effects[place:]
                break
            match effect:
                case Send(to, message):
                    sends.append((to, self._packing.queues.items.number(message)))
                case SetTimer(name):
                    timers.add(name)
                case CancelTimer(name):
                    timers.discard(name)
                case Save(record):
                    saved.append(record)
                case Ask() | Choose():
                    questions.append(effect)
                case Report(outcome):
                    reports.append(outcome)
                case _:
                    assert_never(effect)
        after = replace(
            local, timers=tuple(sorted(timers)), questions=tuple(questions), saved=tuple(saved), unfinished=unfinished
        )
        number = self._reports.setdefault(tuple(reports), len(self._reports))
        return Outcome(self._packing.locals.number(after), tuple(sends), tuple(reports), number, effects)


def _without(local: Local, event: Event) -> Local:
    """Take away what the event uses up."""
    match event:
        case TimerFired(name):
            return replace(local, timers=tuple(one for one in local.timers if one != name))
        case Answered() | Chosen():
            return replace(local, questions=local.questions[1:])
        case Received() | Requested() | PeerRestarted():
            return local
        case _:
            assert_never(event)


# --------------------------------------------------------------------------------------------------------------- faults


class Faults:
    """Finds the moves that are faults."""

    def __init__(self, model: Model, packing: Packing, labels: Numbered[Label]) -> None:
        self._model = model
        self._packing = packing
        self._labels = labels
        self._nodes = range(len(model.machines))
        self._may_crash = self._nodes if model.crashes.nodes is None else model.crashes.nodes

    def crashes(self, row: Row, nodes: tuple[int, ...]) -> list[Move]:
        """Return a crash of each of these nodes that may crash."""
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
        """Return all losses and doublings that there may be."""
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


# ---------------------------------------------------------------------------------------------------------------- moves


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
    """Finds the moves of a model's worlds."""

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
        """Return the name of a node, for people."""
        return self.model.names[node] if node < len(self.model.names) else f"n{node}"

    # ------------------------------------------------------------------------------------------------ all moves

    def moves(self, row: Row) -> list[Move]:
        """Return all moves from a row."""
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
        """Return the classes of moves that a fair run has to make some time if they stay possible; no faults.

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
        """Return the number of the event that an item from a node is when it arrives."""
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


__all__ = ["Kind", "Label", "Move", "Moves"]
