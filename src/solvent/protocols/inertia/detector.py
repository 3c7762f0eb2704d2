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
    InertiaMessage,
    InertiaRequest,
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
    Configured,
    Draft,
    Event,
    NodeId,
    NodeState,
    PeerRestarted,
    Received,
    Requested,
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


class DetectorState(NodeState, gc=False):
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


class Circuit:
    """The nodes as one of them sees them.

    `pause` is the time between a round that came back black and the next, and `patience` the time after which a probe
    or an announcement counts as lost.
    """

    def __init__(self, node: NodeId, nodes: tuple[NodeId, ...], pause: int, patience: int) -> None:
        ring = sorted(nodes)
        self.node = node
        self.initiator = ring[0]
        self.next = ring[(ring.index(node) + 1) % len(ring)]
        self.others = tuple(other for other in ring if other != node)
        self.pause = pause
        self.patience = patience


Now: TypeAlias = Draft[Circuit, DetectorState]
Detector: TypeAlias = Configured[Circuit, DetectorState]


def detector_node(node: NodeId, nodes: tuple[NodeId, ...], *, pause: int = 20, patience: int = 250) -> Detector:
    """Make the machine of a node."""
    return Configured(start, step, Circuit(node, nodes, pause, patience))


def start(circuit: Circuit, _saved: tuple[Any, ...] = (), life: int = 0) -> Step[DetectorState]:
    """Begin active; after a crash, let every other node know of the new life."""
    leads = circuit.node == circuit.initiator
    state = DetectorState(life, is_active=True, since=None if life else NEVER, lead=Lead() if leads else None)
    now = Draft(circuit, state)
    for other in circuit.others if life else ():
        now.send(other, Awake())
    if leads:
        look_after(now, circuit.pause)
    return state, tuple(now.effects)


def step(circuit: Circuit, state: DetectorState, event: Event) -> Step[DetectorState]:
    """Take one event."""
    now = Draft(circuit, replace(state))
    match event:
        case Received(sender, message):
            on_message(now, sender, message)
        case Requested(request):
            on_request(now, request)
        case TimerFired():
            on_timer(now)
        case PeerRestarted() | Answered() | Chosen():
            # The peer says `Awake` itself.
            pass
        case _:
            assert_never(event)
    return now.state, tuple(now.effects)


def on_message(now: Now, sender: NodeId, message: InertiaMessage) -> None:
    """Take a message."""
    match message:
        case Probe():
            on_probe(now, message)
        case Announce(round_):
            on_announce(now, sender, round_)
        case Confirm(round_):
            on_confirm(now, sender, round_)
        case Awake():
            begin_epoch(now)
        case _:
            assert_never(message)


def on_request(now: Now, request: InertiaRequest) -> None:
    """Take what the node is told of itself."""
    match request:
        case Active():
            on_active(now)
        case Passive():
            on_passive(now)
        case Sent():
            now.state.since = None
        case Roused():
            on_roused(now)
        case _:
            assert_never(request)


# --------------------------------------------------------------------------------------------------------- activity


def on_active(now: Now) -> None:
    """Become active by a message."""
    state = now.state
    state.is_active = True
    if state.inert is not None and state.lead is not None:
        # A message woke the initiator, so something from outside woke its sender, which will say so.
        begin_epoch(now)
    else:
        resume(now)


def on_roused(now: Now) -> None:
    """Become active by something from outside."""
    state = now.state
    state.is_active = True
    if state.lead is not None:
        begin_epoch(now)
        return
    # No round that the node has passed so far covers what it will do now, whenever it is announced.
    state.since, state.heard = None, max(state.heard, state.passed)
    resume(now)
    now.send(now.config.initiator, Awake())


def on_passive(now: Now) -> None:
    """Let a probe go that waited for this, or begin a round."""
    state = now.state
    state.is_active = False
    if state.held is not None:
        let_go(now, state.held)
    elif state.lead is not None and state.lead.is_due:
        begin_round(now, state.lead)


def resume(now: Now) -> None:
    """Take note that an announcement holds no longer."""
    inert, now.state.inert = now.state.inert, None
    if inert is not None:
        now.report(Resumed(inert))


# ------------------------------------------------------------------------------------------------------------ probe


def on_probe(now: Now, probe: Probe) -> None:
    """Hold a probe until the node is passive; one that is doubled, overtaken or of an epoch that is over is dropped."""
    state = now.state
    if not is_news(state, probe.round):
        return
    if state.inert is not None and probe.round[:2] > state.inert[:2]:
        resume(now)
    state.held = probe
    if not state.is_active:
        let_go(now, probe)


def is_news(state: DetectorState, round_: Round) -> bool:
    """Decide whether a round is later than those that have been here, and of this epoch."""
    if state.held is not None and round_ <= state.held.round:
        return False
    lead = state.lead
    if lead is None:
        return round_ > state.passed
    return state.inert is None and round_ > lead.completed and round_[:2] == (state.life, lead.epoch)


def let_go(now: Now, probe: Probe) -> None:
    """Pass the probe on, or conclude from it; the node is passive."""
    state = now.state
    is_black = probe.is_black or state.since is None or state.since > probe.after
    state.held, state.passed = None, probe.round
    state.since = probe.round if state.since is None else state.since
    if state.lead is not None:
        conclude(now, state.lead, probe.round, is_black=is_black)
    else:
        now.send(now.config.next, replace(probe, is_black=is_black))


# -------------------------------------------------------------------------------------------------------- initiator


def look_after(now: Now, ticks: int) -> None:
    """Set the timer."""
    now.effects.append(SetTimer(ROUND, ticks))


def on_timer(now: Now) -> None:
    """Begin a round, now or when the node is passive; or repeat an announcement."""
    state, lead = now.state, now.state.lead
    assert lead is not None, "only the initiator has a timer"
    if state.inert is not None:
        for node in sorted(lead.missing):
            now.send(node, Announce(state.inert))
        if lead.missing:
            look_after(now, now.config.patience)
    elif state.is_active:
        state.lead = replace(lead, is_due=True)
    else:
        begin_round(now, lead)


def begin_round(now: Now, lead: Lead) -> None:
    """Send a probe round."""
    state = now.state
    lead = state.lead = replace(lead, number=lead.number + 1, is_due=False)
    probe = Probe((state.life, lead.epoch, lead.number), lead.completed, is_black=False)
    if not now.config.others:
        let_go(now, probe)
        return
    now.send(now.config.next, probe)
    look_after(now, now.config.patience)


def conclude(now: Now, lead: Lead, round_: Round, *, is_black: bool) -> None:
    """Announce that all is inert, if the probe came back white; else try again."""
    state, others = now.state, now.config.others
    state.lead = replace(lead, completed=round_, is_due=False, missing=lead.missing if is_black else frozenset(others))
    if is_black:
        look_after(now, now.config.pause)
        return
    state.inert = state.heard = round_
    now.report(Inert(round_))
    if not others:
        now.report(Settled(round_))
        return
    for other in others:
        now.send(other, Announce(round_))
    look_after(now, now.config.patience)


def on_confirm(now: Now, sender: NodeId, round_: Round) -> None:
    """Count who has heard the announcement; one that is doubled, or of an epoch that is over, is dropped."""
    state, lead = now.state, now.state.lead
    if lead is None or state.inert != round_ or sender not in lead.missing:
        return
    lead = state.lead = replace(lead, missing=lead.missing - {sender})
    if not lead.missing:
        now.effects.append(CancelTimer(ROUND))
        now.report(Settled(round_))


def begin_epoch(now: Now) -> None:
    """Begin again: what rounds found so far may not hold for a node that something from outside made active."""
    state, lead = now.state, now.state.lead
    if lead is not None:
        resume(now)
        state.held, state.lead = None, Lead(epoch=lead.epoch + 1)
        look_after(now, now.config.pause)


# ----------------------------------------------------------------------------------------------------------- others


def on_announce(now: Now, sender: NodeId, round_: Round) -> None:
    """Believe an announcement and confirm it, unless it is late or something from outside has happened since."""
    state = now.state
    if state.inert != round_:
        is_covered = state.heard < round_ <= state.passed and round_[:2] == state.passed[:2]
        if state.is_active or state.lead is not None or not is_covered:
            # While it matters it is said again.
            return
        state.inert = state.heard = round_
        now.report(Inert(round_))
    # One that is announced again was confirmed before, and the confirmation was lost.
    now.send(sender, Confirm(round_))


__all__ = ["ROUND", "Detector", "DetectorState", "Lead", "detector_node"]
