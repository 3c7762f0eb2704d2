"""Machines on a clock in milliseconds, over a network with faults, from one seed.

    faults = Faults(max_latency_ms=30, loss=0.1, crashes_every_ms=500, until_ms=60_000)
    run = TimedRun(machines, environment, seed=7, faults=faults, invariants=(each_molecule_has_one_holder,))
    ending = run.run(max_ms=120_000)        # Ending.OVER, Ending.QUIET or Ending.LIMIT
    run.now, run.counts, run.world, run.history

Node n runs `machines[n]`. One thing happens at a time; after it (or after every `check_every`-th) the invariants are
looked at, and one that does not hold ends the run with an `InvariantBroken`, which shows the last events and the line
that plays the same run again.

**Crashes.** A crash loses the node's state and timers, the answers it waits for, what a program in it was going to ask
for, and what is under way to it; of what it has sent itself and has not arrived, all is lost or nothing, as chance has
it. Half of the crashes happen between two events, the other half while the node carries out effects: the first of them
are done, the others never. What is sent to a node that is down is lost. A restart calls `start(saved, life)` with the
records saved, in order.

**Who tells of restarts.** A reliable link finds out by itself that a peer has restarted. For machines that are run
without one, `tells_restarts=True` does it for them: `PeerRestarted` is the first thing that every peer hears from the
restarted node, nothing of its former life comes after that, and what a peer sends before it has heard it is lost, since
it was meant for the former life.

`Choose` and `Ask` are answered at once, unless answers take time (`Faults.max_answer_ms`); the environment is asked
at the moment of the question all the same. It may be late news when it arrives.
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
    PeerRestarted,
    Received,
    Report,
    Requested,
    Save,
    Send,
    SetTimer,
    TimerFired,
)
from solvent_lab.simulator.clock import Clock
from solvent_lab.simulator.environment import Ending, collecting_rarely
from solvent_lab.simulator.history import Counts, Crashed, Healed, History, Lost, Parted, Restarted
from solvent_lab.simulator.network import FOREVER, Faults, Network, Outages, encoded_size
from solvent_lab.simulator.world import (
    Arrival,
    CrashDue,
    Doom,
    Healing,
    InvariantBroken,
    Node,
    Notice,
    PartitionDue,
    Reply,
    Request,
    Restart,
    Timer,
    World,
    broken_among,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from solvent.protocols.machine import Effect, Effects, Event, Machine
    from solvent_lab.simulator.environment import Environment
    from solvent_lab.simulator.world import Invariant

_HISTORY_LENGTH = 60


class Notices:
    """The news of restarts, for machines that run without a link: who has heard of whose latest life.

    The news is the first thing that a peer hears from a restarted node. It is never lost: where the peer is down or cut
    off, it comes when that is over.
    """

    def __init__(self, nodes: Sequence[Node], clock: Clock, network: Network) -> None:
        self._nodes = nodes
        self._clock = clock
        self._network = network
        #: The latest life of a peer that a node has heard of, unless it is the first: by node and peer.
        self._heard: dict[tuple[NodeId, NodeId], int] = {}

    def announce(self, node: Node) -> None:
        """Let all others hear that a node has restarted, and let it hear of those that did while it was down."""
        for other in self._nodes:
            if other is not node and other.is_up:
                self._send(node, other)
                self._send(other, node)

    def _send(self, peer: Node, to: Node) -> None:
        if not self.has_heard(to.number, peer.number, peer.life):
            arrives_at = self._network.arrival(peer.number, to.number, self._clock.now)
            self._clock.put(arrives_at, Notice(peer.number, to.number, peer.life))

    def has_heard(self, node: NodeId, peer: NodeId, life: int) -> bool:
        """Return whether a node knows of a life of a peer."""
        return life == 0 or node == peer or self._heard.get((node, peer), 0) >= life

    def hear(self, node: NodeId, peer: NodeId, life: int) -> int:
        """Note that a node knows of a life of a peer, and return the one it knew of before."""
        before = self._heard.get((node, peer), 0)
        self._heard[node, peer] = life
        return before


class TimedRun:
    """One run of machines on a clock, from one seed."""

    def __init__(
        self,
        machines: Sequence[Machine[Any]],
        environment: Environment,
        *,
        seed: int,
        faults: Faults = Faults(),  # noqa: B008 - a frozen value
        size: Callable[[Any], int] = encoded_size,
        invariants: Sequence[Invariant] = (),
        check_every: int = 1,
        max_history: int | None = _HISTORY_LENGTH,
        tells_restarts: bool = False,
        replay: str = "",
    ) -> None:
        self.machines = machines
        self.environment = environment
        self.seed = seed
        #: The only source of chance.
        self.chance = Random(seed)
        self.faults = faults
        self.invariants = tuple(invariants)
        self.check_every = check_every
        self.history = History(max_history)
        #: The command that plays this run again.
        self.replay = replay
        self.counts = Counts()
        self.nodes = [Node(NodeId(number)) for number in range(len(machines))]
        self._clock = Clock()
        self.world = World(self.nodes, self._clock, environment)
        self._network = Network(faults, self.chance, size)
        self._notices = Notices(self.nodes, self._clock, self._network) if tells_restarts else None
        self._outages = Outages(faults, self.chance)
        self._told = environment.told if environment.listens else None
        self._is_started = False
        #: Answers that the machine at work has not seen yet.
        self._answers: list[Event] = []
        #: When the last answer that a node waits for arrives: answers keep the order of the questions.
        self._answer_at: dict[NodeId, float] = {}
        #: Nodes that crash while they carry out the effects of their next step, and for how long.
        self._doomed: dict[NodeId, float] = {}
        #: What is on the clock and can wake nobody: partitions to come and to heal.
        self._idle_count = 0

    @property
    def now(self) -> float:
        """The time, in milliseconds since the start."""
        return self._clock.now

    # --- From outside.

    def run(self, *, max_ms: float = FOREVER, max_events: float = FOREVER) -> Ending:
        """Run until the environment says it is over, nothing can happen any more, or a limit is reached."""
        is_over = self.environment.is_over
        with collecting_rarely():
            if not self._is_started:
                self._start()
            while not is_over():
                if len(self._clock) <= self._idle_count:
                    return Ending.QUIET
                if self.counts.events >= max_events:
                    return Ending.LIMIT
                taken = self._clock.take(max_ms)
                if taken is None:
                    return Ending.LIMIT
                self._happen(*taken)
        return Ending.OVER

    def request(self, node: NodeId, request: Any, *, after_ms: float = 0.0, is_from_within: bool = False) -> None:
        """Let a node's machine hear a request; if the node is down then, nobody does.

        A request from within, of a program that runs in the node, is lost when the node crashes before it is heard. One
        from outside is not, and the next life may hear it.
        """
        self._clock.put(self.now + after_ms, Request(node, request, is_from_within))

    def crash(self, node: NodeId, downtime_ms: float) -> None:
        """Let a node crash now, and come back after a time; to be called between runs, not while a machine works."""
        self._doomed.pop(node, None)
        one = self.nodes[node]
        one.state, one.is_up, one.timers = None, False, {}
        loses_sent = self._outages.takes_what_was_sent()
        self.counts.crashes += 1
        self.history.add(self.counts.events, self.now, node, Crashed())
        self._answer_at.pop(node, None)
        self._clock.cancel_where(lambda item: _dies_with(node, item))
        self._lose(lambda item: item.to == node or (loses_sent and item.sender == node))
        self.environment.crashed(node, int(self.now))
        self._clock.put(self.now + downtime_ms, Restart(node))

    def part(self, one_side: Collection[NodeId], duration_ms: float) -> None:
        """Let the nodes on one side and all others not hear each other for a time; the last partition counts."""
        self._network.part(one_side, self.now + duration_ms)
        self.counts.partitions += 1
        self.history.add(self.counts.events, self.now, None, Parted(tuple(sorted(one_side))))
        self._idle_count += 1
        self._clock.put(self.now + duration_ms, Healing())

    # --- What happens.

    def _start(self) -> None:
        self._is_started = True
        for node, machine in zip(self.nodes, self.machines, strict=True):
            node.state, effects = machine.start()
            self._carry_out(node.number, effects)
        self._plan(self._outages.next_crash(self.now), CrashDue())
        self._plan_partition(self.now)
        self._check()

    def _happen(self, ticket: int, item: Any) -> None:
        """Let one thing happen."""
        counts = self.counts
        counts.events += 1
        match item:
            case Arrival():
                self._on_arrival(ticket, item)
            case Timer(node, name):
                del self.nodes[node].timers[name]
                self._take(node, TimerFired(name, int(self.now)))
            case Reply(node, event):
                self._take(node, event)
            case Request(node, request):
                if self.nodes[node].is_up:
                    self._take(node, Requested(request))
            case Notice():
                self._on_notice(ticket, item)
            case Restart(node):
                self._restart(self.nodes[node])
            case CrashDue():
                self._on_crash_due()
            case Doom(node):
                self.crash(node, self._doomed[node])
            case PartitionDue():
                self._on_partition_due()
            case _:
                self._on_healing()
        if counts.events % self.check_every == 0:
            self._check()

    def _on_arrival(self, ticket: int, item: Arrival) -> None:
        sender, to = item.sender, item.to
        if self._network.is_parted(sender, to, self.now):
            if self.faults.partitions_lose:
                self._note_loss(item)
            else:
                self._clock.put_back(self._network.heals_at, ticket, item)
            return
        # The message may have overtaken the news that its sender has restarted.
        self._tell_restart(sender, to, item.life)
        if not self.nodes[to].is_up:
            self._note_loss(item)
            return
        self.counts.received += 1
        self._take(to, Received(sender, item.message, int(self.now)), item.sent_in)

    def _on_notice(self, ticket: int, item: Notice) -> None:
        if self._network.is_parted(item.peer, item.to, self.now):
            self._clock.put_back(self._network.heals_at, ticket, item)
        elif self.nodes[item.to].is_up:
            self._tell_restart(item.peer, item.to, item.life)

    def _tell_restart(self, peer: NodeId, to: NodeId, life: int) -> None:
        notices = self._notices
        if notices is None or notices.has_heard(to, peer, life):
            return
        before = notices.hear(to, peer, life)
        if self.faults.may_reorder:
            # Otherwise what the former life had sent has arrived by now.
            self._lose(lambda item: item.to == to and item.sender == peer and item.life < life)
        self._take(to, PeerRestarted(peer))
        if not self.nodes[to].is_up:
            # It crashed over the news, perhaps before it could save what follows from it: it is told again.
            notices.hear(to, peer, before)

    def _on_crash_due(self) -> None:
        victim = self._outages.victim([node.number for node in self.nodes if node.is_up])
        if victim is not None:
            downtime = self._outages.downtime()
            if self._outages.strikes_within_a_step() and victim not in self._doomed:
                self._doomed[victim] = downtime
                self._clock.put(min(self.now + downtime, self.faults.until_ms), Doom(victim))
            else:
                self.crash(victim, downtime)
        self._plan(self._outages.next_crash(self.now), CrashDue())

    def _on_partition_due(self) -> None:
        self._idle_count -= 1
        heals_at = self._outages.healing(self.now)
        self.part(self._outages.one_side(len(self.nodes)), heals_at - self.now)
        self._plan_partition(heals_at)

    def _on_healing(self) -> None:
        self._idle_count -= 1
        self.history.add(self.counts.events, self.now, None, Healed())

    def _restart(self, node: Node) -> None:
        node.is_up = True
        node.life += 1
        self.counts.restarts += 1
        self.history.add(self.counts.events, self.now, node.number, Restarted(node.life))
        self.environment.restarted(node.number, int(self.now))
        if self._notices is not None:
            # Before anything the machine may send: on a channel that keeps its order, the news comes first.
            self._notices.announce(node)
        node.state, effects = self.machines[node.number].start(tuple(node.saved), node.life)
        self._carry_out(node.number, effects)

    # --- What a node does.

    def _take(self, number: NodeId, event: Event, sent_in: int = 0) -> None:
        self.history.add(self.counts.events, self.now, number, event, sent_in)
        node = self.nodes[number]
        node.state, effects = self.machines[number].step(node.state, event)
        self._carry_out(number, effects)

    def _carry_out(self, number: NodeId, effects: Effects) -> None:
        """Do effects in order, and then all that follows from answers given at once."""
        node, answers = self.nodes[number], self._answers
        while True:
            is_struck = bool(effects) and number in self._doomed
            for effect in effects[: self.chance.randrange(len(effects))] if is_struck else effects:
                if type(effect) is Send:
                    self._send(node, effect.to, effect.message)
                else:
                    self._other(node, effect)
            if is_struck:
                answers.clear()
                self.crash(number, self._doomed[number])
                return
            if not answers:
                return
            event = answers.pop(0)
            self.history.add(self.counts.events, self.now, number, event)
            node.state, effects = self.machines[number].step(node.state, event)

    def _send(self, node: Node, to: NodeId, message: Any) -> None:
        self.counts.sent += 1
        item = Arrival(node.number, to, message, node.life, self.counts.events)
        recipient = self.nodes[to]
        # What is meant for a life that is over does not reach the next.
        is_late = self._notices is not None and not self._notices.has_heard(node.number, to, recipient.life)
        if is_late or not recipient.is_up:
            self._note_loss(item)
            return
        times = self._network.arrivals(node.number, to, message, self.now)
        if not times:
            self._note_loss(item)
        self.counts.duplicated += len(times) > 1
        for time in times:
            self._clock.put(time, item)

    def _other(self, node: Node, effect: Effect) -> None:
        """Do what is no `Send`."""
        match effect:
            case Ask(question):
                self._answer_later(node, Answered(self.environment.answer(node.number, question, self.chance)))
            case Report(outcome):
                self.history.add(self.counts.events, self.now, node.number, effect)
                if self._told is not None:
                    self._told(node.number, outcome, int(self.now))
            case Save(record):
                node.saved.append(record)
            case Choose(options):
                self._answers.append(Chosen(int(self.chance.random() * options)))
            case SetTimer(name, after):
                self._cancel(node, name)
                node.timers[name] = self._clock.put(self.now + after, Timer(node.number, name))
            case CancelTimer(name):
                self._cancel(node, name)
            case _:
                raise TypeError(f"node {node.number} gave {effect!r}, which is no effect")

    def _answer_later(self, node: Node, event: Event) -> None:
        faults = self.faults
        if faults.max_answer_ms == 0.0:
            self._answers.append(event)
            return
        time = self.now + self.chance.uniform(faults.min_answer_ms, faults.max_answer_ms)
        # Answers keep the order of the questions.
        self._answer_at[node.number] = time = max(time, self._answer_at.get(node.number, 0.0))
        self._clock.put(time, Reply(node.number, event))

    def _cancel(self, node: Node, name: str) -> None:
        ticket = node.timers.pop(name, None)
        if ticket is not None:
            self._clock.cancel(ticket)

    # --- Losses, plans and judgement.

    def _lose(self, is_lost: Callable[[Arrival], bool]) -> None:
        """Lose messages that are under way."""
        for item in self._clock.cancel_where(lambda item: type(item) is Arrival and is_lost(item)):
            self._note_loss(item)

    def _note_loss(self, item: Arrival) -> None:
        self.counts.lost += 1
        self.history.add(self.counts.events, self.now, item.to, Lost(item.sender, item.message), item.sent_in)

    def _plan(self, time: float | None, item: Any) -> None:
        if time is not None:
            self._clock.put(time, item)

    def _plan_partition(self, after: float) -> None:
        time = self._outages.next_partition(after)
        if time is not None:
            self._idle_count += 1
            self._clock.put(time, PartitionDue())

    def _check(self) -> None:
        broken = broken_among(self.invariants, self.world)
        if broken is not None:
            name, found = broken
            drawn = self.history.draw()
            raise InvariantBroken(
                name, found, at_ms=self.now, events=self.counts.events, seed=self.seed, replay=self.replay, drawn=drawn
            )


def _dies_with(node: NodeId, item: Any) -> bool:
    """Return whether a crash of a node loses what is to happen: what the node would have done itself."""
    if type(item) is Request:
        return item.is_from_within and item.node == node
    return isinstance(item, Timer | Reply | Doom) and item.node == node
