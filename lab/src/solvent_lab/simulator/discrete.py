"""Machines in discrete steps, as in the papers: what is sent in one step is received in the next.

    run = DiscreteRun(machines, environment, seed=7)
    ending = run.run(max_steps=10_000)      # Ending.OVER, Ending.QUIET or Ending.LIMIT
    run.step, run.sent, run.states

Node n runs `machines[n]`; one machine may stand at several places. In a step, timers that are due come first, then
requests from outside (`run.request`), then the messages of the step before. The nodes take turns in an order drawn
from the seed, and each takes all its messages at its turn, in the order in which they were sent. So every channel is
first in, first out, what arrives together is ordered by the turns its senders had in the step before, and nobody is
ahead because of its number. A `Choose` is drawn from the seed and an `Ask` is put to the environment at once, in the
same step, until the machine asks no more; the answers come when all effects of the step that asked are carried out.
`Report`s go to the environment if it listens, `Save`d records to `run.saved[node]` if the run keeps them.
`run.observe(sender, to, message, step)`, where given, is called for every message once the step in which it was sent
is complete. A timer fires `after` steps later, and at the soonest in the next.

`run.run` may be called again to go on. It ends when the environment says so (asked once a step), when nothing can
ever happen any more, or at the limit. Nodes that have nothing to do cost nothing, and the loop over messages is
written for speed: one `Received` is all that it makes.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from solvent.protocols.machine import (
    Answered,
    Ask,
    CancelTimer,
    Choose,
    Chosen,
    NodeId,
    Received,
    Report,
    Requested,
    Save,
    Send,
    SetTimer,
    TimerFired,
)
from solvent_lab.simulator.environment import Ending, collecting_rarely

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from solvent.protocols.machine import Effect, Event, Machine
    from solvent_lab.simulator.environment import Environment

    Observer: TypeAlias = Callable[[NodeId, NodeId, Any, int], None]


class DiscreteRun:
    """One run of machines in discrete steps, from one seed."""

    def __init__(
        self,
        machines: Sequence[Machine[Any]],
        environment: Environment,
        *,
        seed: int,
        keeps_saved: bool = False,
        observe: Observer | None = None,
    ) -> None:
        self.machines = machines
        self.environment = environment
        #: The only source of chance.
        self.chance = Random(seed)
        #: The steps that are complete; 0 is the start of the nodes.
        self.step = 0
        #: The messages received so far, those from oneself among them.
        self.received = 0
        self.states: list[Any] = []
        #: What each node has saved, in order, if the run keeps it.
        self.saved: list[list[Any]] | None = [[] for _ in machines] if keeps_saved else None
        self.observe = observe
        # One bound method for a machine that many nodes share stays in the processor's cache; many would not.
        bound = {id(machine): machine.step for machine in machines}
        self._steps = [bound[id(machine)] for machine in machines]
        self._answer = environment.answer
        self._told = environment.told if environment.listens else None
        # What arrives now, by recipient, and what is being sent. The two change places after every step.
        self._arriving: list[list[Received]] = [[] for _ in machines]
        self._inboxes: list[list[Received]] = [[] for _ in machines]
        #: Who has something in its inbox.
        self._recipients: list[NodeId] = []
        self._requests: list[tuple[NodeId, Any]] = []
        self._due_at: dict[tuple[NodeId, str], int] = {}
        self._due: dict[int, dict[tuple[NodeId, str], None]] = {}
        #: Answers that the machine at work has not seen yet.
        self._answers: list[Event] = []

    @property
    def sent(self) -> int:
        """The messages sent so far, those to oneself among them."""
        return self.received + sum([len(self._inboxes[node]) for node in self._recipients])

    def request(self, node: NodeId, request: Any) -> None:
        """Let a node's machine hear a request, in the next step."""
        self._requests.append((node, request))

    def run(self, max_steps: int) -> Ending:
        """Run until the environment says it is over, nothing can happen any more, or the limit is reached."""
        is_over = self.environment.is_over
        with collecting_rarely():
            if not self.states:
                self._start()
            while not is_over():
                if not (self._recipients or self._requests):
                    if not self._due:
                        return Ending.QUIET
                    # Nothing happens before the next timer.
                    self.step = min(min(self._due) - 1, max_steps)
                if self.step >= max_steps:
                    return Ending.LIMIT
                self._advance()
        return Ending.OVER

    def _start(self) -> None:
        for number, machine in enumerate(self.machines):
            state, effects = machine.start()
            self.states.append(state)
            self._carry_out(NodeId(number), effects)
            self._follow(NodeId(number))
        if self.observe is not None:
            self._show_sent(self.observe)

    def _advance(self) -> None:
        """Take one step."""
        self.step += 1
        recipients, self._recipients = self._recipients, []
        self._arriving, self._inboxes = self._inboxes, self._arriving
        due = self._due.pop(self.step, None)
        if due is not None:
            self._fire(list(due))
        if self._requests:
            requests, self._requests = self._requests, []
            for node, request in requests:
                self._take(node, Requested(request))
        # Sorting by random keys is several times as fast as `shuffle`.
        keys = dict(zip(recipients, iter(self.chance.random, None), strict=False))
        recipients.sort(key=keys.__getitem__)
        self._deliver(recipients)
        if self.observe is not None:
            self._show_sent(self.observe)

    def _deliver(self, recipients: list[NodeId]) -> None:
        """Hand out what arrives. The hot loop: everything in it is a local name."""
        now, told, saved, states, steps = self.step, self._told, self.saved, self.states, self._steps
        arriving, inboxes, answers = self._arriving, self._inboxes, self._answers
        add_recipient, other, follow, then = self._recipients.append, self._other, self._follow, now + 1
        received = 0
        for node in recipients:
            step = steps[node]
            box = arriving[node]
            received += len(box)
            for event in box:
                states[node], effects = step(states[node], event)
                for effect in effects:
                    if type(effect) is Send:
                        to = effect.to
                        inbox = inboxes[to]
                        if not inbox:
                            add_recipient(to)
                        inbox.append(Received(node, effect.message, then))
                    elif type(effect) is Report:
                        if told is not None:
                            told(node, effect.outcome, now)
                    elif type(effect) is Save:
                        if saved is not None:
                            saved[node].append(effect.record)
                    else:
                        other(node, effect)
                if answers:
                    follow(node)
            box.clear()
        self.received += received

    def _take(self, node: NodeId, event: Event) -> None:
        """Let a machine take an event, away from the hot loop."""
        self.states[node], effects = self._steps[node](self.states[node], event)
        self._carry_out(node, effects)
        self._follow(node)

    def _follow(self, node: NodeId) -> None:
        """Let a machine take the answers it waits for, and those to what it asks on them."""
        answers = self._answers
        while answers:
            self.states[node], effects = self._steps[node](self.states[node], answers.pop(0))
            self._carry_out(node, effects)

    def _carry_out(self, node: NodeId, effects: tuple[Effect, ...]) -> None:
        inboxes, then = self._inboxes, self.step + 1
        for effect in effects:
            if type(effect) is Send:
                inbox = inboxes[effect.to]
                if not inbox:
                    self._recipients.append(effect.to)
                inbox.append(Received(node, effect.message, then))
            elif type(effect) is Ask:
                self._answers.append(Answered(self._answer(node, effect.question, self.chance)))
            elif type(effect) is Report:
                if self._told is not None:
                    self._told(node, effect.outcome, self.step)
            else:
                self._other(node, effect)

    def _other(self, node: NodeId, effect: Effect) -> None:
        """Do what is no `Send`."""
        if type(effect) is Ask:
            self._answers.append(Answered(self._answer(node, effect.question, self.chance)))
            return
        match effect:
            case Report(outcome):
                if self._told is not None:
                    self._told(node, outcome, self.step)
            case Save(record):
                if self.saved is not None:
                    self.saved[node].append(record)
            case Choose(options):
                self._answers.append(Chosen(int(self.chance.random() * options)))
            case SetTimer(name, after):
                self._cancel(node, name)
                due = self.step + max(1, after)
                self._due_at[node, name] = due
                self._due.setdefault(due, {})[node, name] = None
            case CancelTimer(name):
                self._cancel(node, name)
            case _:
                raise TypeError(f"node {node} gave {effect!r}, which is no effect")

    def _cancel(self, node: NodeId, name: str) -> None:
        due = self._due_at.pop((node, name), None)
        # A timer that is due in this very step stands in no list any more.
        if due is not None and due in self._due:
            timers = self._due[due]
            del timers[node, name]
            if not timers:
                del self._due[due]

    def _fire(self, timers: list[tuple[NodeId, str]]) -> None:
        self.chance.shuffle(timers)
        for node, name in timers:
            # One that fired just now may have stopped or renewed another.
            if self._due_at.get((node, name)) == self.step:
                del self._due_at[node, name]
                self._take(node, TimerFired(name, self.step))

    def _show_sent(self, observe: Observer) -> None:
        """Show the observer what was sent in the step that is complete."""
        for node in self._recipients:
            for received in self._inboxes[node]:
                observe(received.sender, node, received.message, self.step)
