"""One node's part in finding out that all is inert: a coloured probe on a ring, in rounds.

The setting. Every message that can make a node active is *counted*: the link acknowledges it after the recipient took
it. A node is active while it works, while a call of it is out, and while a counted message of it is not acknowledged.
So whatever is under way has an active sender, and a passive node becomes active only by a message of a node that is
active at that moment. That is the setting of Dijkstra, Feijen and van Gasteren (Derivation of a termination detection
algorithm for distributed computations, 1983), where messages take no time, and their colours suffice. Safra's
counters, made for messages that nobody acknowledges, are not needed; nor would they survive a crash: what was sent to
a node that died is counted as sent and never as received, and the sum is never zero again.

The round. The lowest node, the initiator, sends a probe along the ring. Every node holds it until it is passive and
then passes it on, black if the node sent a counted message since it passed an earlier round on. A probe that comes
back white, to an initiator that is white and passive, says: all is inert. For suppose that a visited node became active
again, and take the first. A message of some node *s* did it, and *s* was active, so it had not been visited; it was
passive when it passed the earlier round, so it sent that message since then, and will blacken the probe.

"An earlier round" must be over before this round begins, or the argument fails: a probe that was late, or doubled,
would whiten a node after the new round had begun. Probes do get lost, doubled and late here, and the initiator begins
a new round when one is overdue, so rounds overlap. Therefore a probe names the round it relies on (`after`), complete
when the probe set out, and a node remembers the first round it passed since it last sent (`since`): it is white if
that is not later than `after`. A node that has never sent anything is white for every round.

Crash. A node that comes back is active and black; what it sent in its former life may still be under way and would
have no active sender. So it says `Awake` to every node. That is counted, so the node is active until all have heard
of its new life, and from then on the link drops what the former life said. The initiator, which hears of it too, ends
its epoch: rounds under way are void, for the node may have been visited before its crash, and no round of the new
epoch relies on one of the old, which a late probe could make the node pass in its new life. So nothing about rounds
need be saved. The initiator's own rounds are greater in each life.

From outside. A user who puts a molecule in makes a passive node active without a message. That node says `Awake` to
the initiator, which ends the epoch as above. Until it has heard, it may announce what is true no longer; nobody can
know better. Then it takes the announcement back, and announces the end of the next epoch anew.
"""

from __future__ import annotations

from typing import Any, TypeAlias, assert_never

from msgspec.structs import replace

from solvent.protocols.inertia.messages import (
    NEVER,
    Active,
    Announce,
    Awake,
    Confirm,
    Inert,
    Passive,
    Probe,
    Resumed,
    Round,
    Roused,
    Sent,
    Settled,
)
from solvent.protocols.machine import (
    Answered,
    CancelTimer,
    Chosen,
    Effects,
    Event,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Send,
    SetTimer,
    Step,
    TimerFired,
    Value,
)

ROUND = "inertia"
"""The initiator's timer: begin a round, or repeat an announcement."""


class Lead(Value, frozen=True, gc=False):
    """What only the initiator knows."""

    epoch: int = 0
    #: The last round begun in this epoch.
    number: int = 0
    #: The last round of this epoch that came back.
    completed: Round = NEVER
    #: The timer ran out while the initiator was active: begin a round as soon as it is passive.
    is_due: bool = False
    #: Who has not confirmed the announcement yet.
    missing: frozenset[NodeId] = frozenset()


class DetectorState(Value, frozen=True, gc=False):
    """One node's state."""

    life: int
    is_active: bool
    #: The first round passed on since this node last sent a counted message.
    since: Round | None
    #: The last round passed on.
    passed: Round = NEVER
    #: A probe that waits until the node is passive.
    held: Probe | None = None
    #: The last announcement heard, or made.
    heard: Round = NEVER
    #: The announcement that holds, as far as this node knows.
    inert: Round | None = None
    lead: Lead | None = None


DetectorStep: TypeAlias = Step[DetectorState]


class Detector:
    """One node of the ring.

    `nodes` are all nodes of the system. `pause` is the time between a round that came back black and the next, and
    `patience` the time after which a probe or an announcement counts as lost.
    """

    def __init__(self, node: NodeId, nodes: tuple[NodeId, ...], *, pause: int = 20, patience: int = 250) -> None:
        ring = sorted(nodes)
        self.node = node
        self.initiator = ring[0]
        self.next = ring[(ring.index(node) + 1) % len(ring)]
        self.others = tuple(other for other in ring if other != node)
        self.pause = pause
        self.patience = patience

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> DetectorStep:
        """Begin active; after a crash, let every other node know of the new life."""
        del saved
        leads = self.node == self.initiator
        state = DetectorState(life, is_active=True, since=None if life else NEVER, lead=Lead() if leads else None)
        told = tuple(Send(other, Awake()) for other in self.others) if life else ()
        timer = (SetTimer(ROUND, self.pause),) if leads else ()
        return state, (*told, *timer)

    def step(self, state: DetectorState, event: Event) -> DetectorStep:
        """Take one event."""
        match event:
            case Received(sender, message):
                return self._on_message(state, sender, message)
            case Requested(request):
                return self._on_request(state, request)
            case TimerFired():
                return self._on_timer(state)
            case PeerRestarted() | Answered() | Chosen():
                # The peer says `Awake` itself.
                return state, ()
            case _:
                assert_never(event)

    def _on_message(self, state: DetectorState, sender: NodeId, message: Any) -> DetectorStep:
        match message:
            case Probe():
                return self._on_probe(state, message)
            case Announce(round_):
                return self._on_announce(state, sender, round_)
            case Confirm(round_):
                return self._on_confirm(state, sender, round_)
            case Awake():
                return self._new_epoch(state)
            case _:
                return state, ()

    def _on_request(self, state: DetectorState, request: Any) -> DetectorStep:
        match request:
            case Active():
                return self._on_active(state)
            case Passive():
                return self._on_passive(state)
            case Sent():
                return replace(state, since=None), ()
            case Roused():
                return self._on_roused(state)
            case _:
                return state, ()

    # ---------------------------------------------------------------------------------------------- activity

    def _on_active(self, state: DetectorState) -> DetectorStep:
        state = replace(state, is_active=True)
        if state.inert is not None and state.lead is not None:
            # A message woke the initiator, so something from outside woke its sender, which will say so.
            return self._new_epoch(state)
        return self._resume(state)

    def _on_roused(self, state: DetectorState) -> DetectorStep:
        state = replace(state, is_active=True)
        if state.lead is not None:
            return self._new_epoch(state)
        # No round that the node has passed so far covers what it will do now, whenever it is announced.
        state, effects = self._resume(replace(state, since=None, heard=max(state.heard, state.passed)))
        return state, (*effects, Send(self.initiator, Awake()))

    def _on_passive(self, state: DetectorState) -> DetectorStep:
        state = replace(state, is_active=False)
        if state.held is not None:
            return self._let_go(state, state.held)
        if state.lead is not None and state.lead.is_due:
            return self._begin(state, state.lead)
        return state, ()

    def _resume(self, state: DetectorState) -> DetectorStep:
        """Take note that an announcement holds no longer."""
        if state.inert is None:
            return state, ()
        return replace(state, inert=None), (Report(Resumed(state.inert)),)

    # ------------------------------------------------------------------------------------------------- probe

    def _on_probe(self, state: DetectorState, probe: Probe) -> DetectorStep:
        if not self._is_news(state, probe.round):
            # Doubled, or overtaken by a later round, or of an epoch that is over.
            return state, ()
        effects: Effects = ()
        if state.inert is not None and probe.round[:2] > state.inert[:2]:
            state, effects = self._resume(state)
        state = replace(state, held=probe)
        if state.is_active:
            return state, effects
        state, more = self._let_go(state, probe)
        return state, effects + more

    def _is_news(self, state: DetectorState, round_: Round) -> bool:
        if state.held is not None and round_ <= state.held.round:
            return False
        lead = state.lead
        if lead is None:
            return round_ > state.passed
        return state.inert is None and round_ > lead.completed and round_[:2] == (state.life, lead.epoch)

    def _let_go(self, state: DetectorState, probe: Probe) -> DetectorStep:
        """Pass the probe on, or conclude from it; the node is passive."""
        is_black = probe.is_black or state.since is None or state.since > probe.after
        since = probe.round if state.since is None else state.since
        state = replace(state, held=None, since=since, passed=probe.round)
        if state.lead is not None:
            return self._conclude(state, state.lead, probe.round, is_black=is_black)
        return state, (Send(self.next, replace(probe, is_black=is_black)),)

    # --------------------------------------------------------------------------------------------- initiator

    def _on_timer(self, state: DetectorState) -> DetectorStep:
        lead = state.lead
        assert lead is not None, "only the initiator has a timer"
        if state.inert is not None:
            repeated = tuple(Send(node, Announce(state.inert)) for node in sorted(lead.missing))
            return state, (*repeated, SetTimer(ROUND, self.patience)) if repeated else ()
        if state.is_active:
            return replace(state, lead=replace(lead, is_due=True)), ()
        return self._begin(state, lead)

    def _begin(self, state: DetectorState, lead: Lead) -> DetectorStep:
        lead = replace(lead, number=lead.number + 1, is_due=False)
        probe = Probe((state.life, lead.epoch, lead.number), lead.completed, is_black=False)
        state = replace(state, lead=lead)
        if not self.others:
            return self._let_go(state, probe)
        return state, (Send(self.next, probe), SetTimer(ROUND, self.patience))

    def _conclude(self, state: DetectorState, lead: Lead, round_: Round, *, is_black: bool) -> DetectorStep:
        lead = replace(lead, completed=round_, is_due=False)
        if is_black:
            return replace(state, lead=lead), (SetTimer(ROUND, self.pause),)
        lead = replace(lead, missing=frozenset(self.others))
        state = replace(state, lead=lead, inert=round_, heard=round_)
        found = Report(Inert(round_))
        if not self.others:
            return state, (found, Report(Settled(round_)))
        told = tuple(Send(other, Announce(round_)) for other in self.others)
        return state, (found, *told, SetTimer(ROUND, self.patience))

    def _on_confirm(self, state: DetectorState, sender: NodeId, round_: Round) -> DetectorStep:
        lead = state.lead
        if lead is None or state.inert != round_ or sender not in lead.missing:
            # Doubled, or of an epoch that is over.
            return state, ()
        missing = lead.missing - {sender}
        state = replace(state, lead=replace(lead, missing=missing))
        return state, () if missing else (CancelTimer(ROUND), Report(Settled(round_)))

    def _new_epoch(self, state: DetectorState) -> DetectorStep:
        """Begin again: what rounds found so far may not hold for a node that something from outside made active."""
        lead = state.lead
        if lead is None:
            return state, ()
        state, effects = self._resume(state)
        lead = Lead(epoch=lead.epoch + 1)
        return replace(state, held=None, lead=lead), (*effects, SetTimer(ROUND, self.pause))

    # ------------------------------------------------------------------------------------------------- others

    def _on_announce(self, state: DetectorState, sender: NodeId, round_: Round) -> DetectorStep:
        if state.inert == round_:
            # Announced again: the confirmation was lost.
            return state, (Send(sender, Confirm(round_)),)
        is_covered = state.heard < round_ <= state.passed and round_[:2] == state.passed[:2]
        if state.is_active or state.lead is not None or not is_covered:
            # Late, or something from outside has happened since. While it matters it is said again.
            return state, ()
        state = replace(state, inert=round_, heard=round_)
        return state, (Report(Inert(round_)), Send(sender, Confirm(round_)))


__all__ = ["ROUND", "Detector", "DetectorState", "DetectorStep", "Lead"]
