"""ELMP whose processes may die at any moment: a machine around the other one.

Whoever hears of a death tells the lowest process that lives, as far as it knows. That one musters everybody that
lives: each stops, takes nothing of the old epoch any more, and says what it has. When all have answered, everybody gets
a seat and its places in a new epoch (`plan`), and goes on. So whatever was going on when somebody died (an exchange of
seats, a departure, a rebuilding, the token on its way) is forgotten, and what counts is kept: who holds, who waits and
in which order, where the data is. It costs three messages for each process, but deaths are rare.

If somebody dies meanwhile, or two repairs meet, the later ballot counts: who has answered it answers no earlier one, so
an earlier repair that needs its answer is not completed. A process may be in the new epoch already while another one
still is in the old: it has stopped there, so what it says it has is what it had. A claim that holds, and whose data was
at who died and has not been fetched, is granted again, with the version that survives.

Who is believed dead and lives is fenced: nobody takes what it says, and it hears so when it says something. Turns only
ever grow, so whoever guards the data can tell its claims from later ones.

Deaths are told by the host (`Died`: it must be right that nothing of that process counts any more, say since its lease
has run out; who comes back takes another name), or by a link (`PeerRestarted`). All that may live are known: `peers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.elmp.messages import Adopt, Attach, Enter, Hello, Own, Ranked, Seat, Token, Unknown, Welcome
from solvent.protocols.elmp.repair.messages import (
    Alarm,
    Ballot,
    Died,
    Expelled,
    Fenced,
    Muster,
    Present,
    Refused,
    Renew,
    Renewal,
    Repaired,
    Survivor,
    Within,
)
from solvent.protocols.elmp.repair.plan import Plan, planned
from solvent.protocols.elmp.repair.state import Mustering, SurvivingState, SurvivingStep
from solvent.protocols.elmp.state import ENTRUSTED, Departure, ElmpState, Idle, Joining, Out, Use
from solvent.protocols.elmp.vocabulary import Astray, Join
from solvent.protocols.machine import (
    Answered,
    Effect,
    Effects,
    Event,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Send,
    TimerFired,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.protocols.elmp.process import Elmp

_FOR_OUTSIDE = (Hello, Enter, Adopt, Attach, Ranked, Welcome, Unknown)
"""What may be said to a process that takes no part, or not yet."""


class Surviving:
    """One process that goes on when others die; `peers` are all that there may be."""

    def __init__(self, inner: Elmp, *, peers: Iterable[NodeId]) -> None:
        self.inner = inner
        self.node = inner.node
        self.peers = frozenset(peers) | {inner.node}

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> SurvivingStep:
        """Begin; after a crash outside, since the others went on without this process."""
        inner, effects = self.inner.start(saved, life)
        if life:
            inner = ElmpState(Out(), Seat(None))
        return SurvivingState(inner), self._wrapped(SurvivingState(inner), effects)

    def step(self, state: SurvivingState, event: Event) -> SurvivingStep:
        """Take one event."""
        match event:
            case Received(sender, Within() as within):
                return self._on_within(state, sender, within)
            case Received(sender, message):
                return self._on_repair_message(state, sender, message)
            case Requested(Died(peer)):
                return self._on_died(state, frozenset((peer,)))
            case PeerRestarted(peer):
                return self._on_restarted(state, peer)
            case Requested() | TimerFired() | Answered() if state.is_stopped:
                return replace(state, wishes=(*state.wishes, event)), ()
        return self._told(state, event)

    def _told(self, state: SurvivingState, event: Event) -> SurvivingStep:
        match event:
            case Requested(Join(known)) if known in state.dead:
                return state, (Report(Astray(known)),)
        inner, effects = self.inner.step(state.inner, event)
        state = replace(state, inner=inner)
        return state, self._wrapped(state, effects)

    def _wrapped(self, state: SurvivingState, effects: Effects) -> Effects:
        return tuple(
            Send(effect.to, Within(state.epoch, effect.message)) if isinstance(effect, Send) else effect
            for effect in effects
        )

    # --------------------------------------------------------------------------------------------------- epochs

    def _on_within(self, state: SurvivingState, sender: NodeId, within: Within) -> SurvivingStep:
        """Take what belongs to this epoch; keep what belongs to the next; forget what belongs to one that is over."""
        epoch, is_outside = within.epoch, type(state.inner.phase) in (Out, Joining)
        if is_outside and not isinstance(within.message, _FOR_OUTSIDE):
            # For a former life of this process, which took part.
            return state, ()
        if state.is_stopped:
            kept = ((sender, within.message),) if epoch == state.promised else ()
            return replace(state, early=state.early + kept), ()
        if epoch == state.epoch:
            return self._told(state, Received(sender, within.message))
        if epoch > state.epoch and is_outside:
            state = replace(state, epoch=epoch, promised=epoch)
            return self._told(state, Received(sender, within.message))
        if epoch > state.epoch:
            return self._expelled(replace(state, epoch=epoch, promised=epoch))
        # Who is about to join and has missed a repair hears of it, too.
        is_told = sender in state.dead or isinstance(within.message, Hello)
        return state, (Send(sender, Fenced(state.epoch)),) if is_told else ()

    def _on_fenced(self, state: SurvivingState, fenced: Fenced) -> SurvivingStep:
        """Take no part any more, since the others believe this process to be dead; or try again to join."""
        if fenced.epoch <= state.promised:
            return state, ()
        state = replace(state, epoch=fenced.epoch, promised=fenced.epoch)
        phase = state.inner.phase
        if isinstance(phase, Joining):
            return self._told(state, Received(phase.known, Unknown()))
        return (state, ()) if isinstance(phase, Out) else self._expelled(state)

    def _expelled(self, state: SurvivingState) -> SurvivingStep:
        """Forget everything but what was stored."""
        inner = ElmpState(Out(), Seat(None), asks=state.inner.asks, used=state.inner.used, stored=state.inner.stored)
        return replace(state, inner=inner, mustering=None, early=(), wishes=()), (Report(Expelled()),)

    # --------------------------------------------------------------------------------------------------- alarms

    def _on_died(self, state: SurvivingState, dead: frozenset[NodeId]) -> SurvivingStep:
        """See to it that a death is dealt with, by whoever is the lowest that lives."""
        dead = dead - state.dead - {self.node}
        if not dead:
            return state, ()
        state = replace(state, dead=state.dead | dead)
        lowest = min(self.peers - state.dead)
        # Who is making a repair waits for the dead one, or has counted it: it begins again.
        if lowest == self.node or state.mustering is not None:
            return self._muster(state)
        return state, (Send(lowest, Alarm(tuple(sorted(state.dead)))),)

    def _on_restarted(self, state: SurvivingState, peer: NodeId) -> SurvivingStep:
        """Deal with the death of a process that has come back; the lowest of the others hears of it as well."""
        is_known = peer in state.dead
        state = replace(state, dead=state.dead - {peer})
        is_lowest = self.node == min(self.peers - state.dead - {peer})
        if state.mustering is not None or (is_lowest and not is_known):
            return self._muster(state)
        return state, ()

    # --------------------------------------------------------------------------------------------------- repairs

    def _muster(self, state: SurvivingState) -> SurvivingStep:
        """Have everybody that lives stop and say what it has."""
        ballot = (state.promised[0] + 1, self.node)
        state, effects = self._stopped(replace(state, promised=ballot))
        others = self.peers - state.dead - {self.node}
        mustering = Mustering(ballot, others, (self._survivor(state.inner),))
        state = replace(state, mustering=mustering)
        dead = tuple(sorted(state.dead))
        asked = tuple(Send(node, Muster(ballot, dead)) for node in sorted(others))
        state, more = self._consider_renewing(state)
        return state, (*effects, *asked, *more)

    def _stopped(self, state: SurvivingState) -> SurvivingStep:
        """Forget what was early for an epoch that never began, and what a new process was about."""
        state = replace(state, early=(), mustering=None)
        phase = state.inner.phase
        if isinstance(phase, Joining):
            inner, effects = self.inner.step(state.inner, Received(phase.known, Unknown()))
            return replace(state, inner=inner), effects
        return state, ()

    def _on_repair_message(self, state: SurvivingState, sender: NodeId, message: Any) -> SurvivingStep:
        if sender in state.dead and not isinstance(message, Fenced):
            # Said before it died; or it lives, and the others go on without it.
            return state, (Send(sender, Fenced(state.epoch)),)
        match message:
            case Fenced():
                return self._on_fenced(state, message)
            case Alarm(dead):
                return self._on_died(state, frozenset(dead))
            case Muster():
                return self._on_muster(state, sender, message)
            case Present():
                return self._on_present(state, message)
            case Refused(ballot):
                return self._on_refused(state, ballot)
            case Renew():
                return self._on_renew(state, message)
        return state, ()

    def _on_muster(self, state: SurvivingState, sender: NodeId, muster: Muster) -> SurvivingStep:
        """Stop and say what is here, unless a later ballot was answered."""
        if muster.ballot <= state.promised:
            return state, (Send(sender, Refused(state.promised)),)
        dead = (state.dead | frozenset(muster.dead)) - {self.node, sender}
        if state.mustering is not None and self.node == min(self.peers - dead):
            # The other one may not know what this one knows; it gives way.
            return self._muster(replace(state, promised=muster.ballot, dead=dead))
        state, effects = self._stopped(replace(state, promised=muster.ballot, dead=dead))
        return state, (*effects, Send(sender, Present(muster.ballot, self._survivor(state.inner))))

    def _survivor(self, inner: ElmpState) -> Survivor:
        """Say what is here that counts across epochs."""
        places = tuple(place for place in inner.places if place.turn)
        is_member = type(inner.phase) not in (Out, Joining)
        return Survivor(self.node, inner.rank, is_member, places, inner.uses, inner.stored)

    def _on_present(self, state: SurvivingState, present: Present) -> SurvivingStep:
        """Count who has answered."""
        mustering, survivor = state.mustering, present.survivor
        if mustering is None or mustering.ballot != present.ballot:
            return state, ()
        mustering = replace(
            mustering,
            waiting=mustering.waiting - {survivor.node},
            survivors=(*mustering.survivors, survivor),
        )
        return self._consider_renewing(replace(state, mustering=mustering))

    def _on_refused(self, state: SurvivingState, ballot: Ballot) -> SurvivingStep:
        """Leave the repair to whoever makes a later one; but the lowest leaves it to nobody, who may be dead."""
        if state.mustering is None or ballot <= state.mustering.ballot:
            return state, ()
        if ballot[1] in state.dead or self.node == min(self.peers - state.dead):
            return self._muster(replace(state, promised=max(ballot, state.promised)))
        return replace(state, mustering=None), ()

    def _consider_renewing(self, state: SurvivingState) -> SurvivingStep:
        """When all have answered, let everybody go on."""
        mustering = state.mustering
        if mustering is None or mustering.waiting:
            return state, ()
        plan = self._plan(mustering.survivors, mustering.ballot)
        effects: list[Effect] = []
        for one in sorted(survivor.node for survivor in mustering.survivors):
            renew = Renew(mustering.ballot, plan.renewals.get(one), plan.is_new_token)
            if one != self.node:
                effects.append(Send(one, renew))
        own = Renew(mustering.ballot, plan.renewals.get(self.node), plan.is_new_token)
        state, more = self._on_renew(replace(state, mustering=None), own)
        return state, (*effects, *more)

    def _plan(self, survivors: tuple[Survivor, ...], ballot: Ballot) -> Plan:
        return planned(survivors, self.inner.config.order, ballot[0])

    def _on_renew(self, state: SurvivingState, renew: Renew) -> SurvivingStep:
        """Go on in the new epoch, first with what came too early."""
        if renew.ballot != state.promised or not state.is_stopped:
            return state, ()
        early, wishes = state.early, state.wishes
        state = replace(state, epoch=renew.ballot, early=(), wishes=())
        effects: list[Effect] = []
        if renew.renewal is not None:
            inner, more = self._renewed(state.inner, renew.renewal)
            state = replace(state, inner=inner)
            data = renew.renewal.data
            version = data.version if data is not None else None
            effects += (Report(Repaired(renew.ballot, renew.is_new_token, version)), *self._wrapped(state, more))
        for event in (*(Received(sender, message) for sender, message in early), *wishes):
            state, more = self._told(state, event)
            effects += more
        return state, tuple(effects)

    def _renewed(self, old: ElmpState, renewal: Renewal) -> tuple[ElmpState, Effects]:
        """Put together what is to be from what was here and what the repair has given, and go on with it."""
        live = {one[:2] for one in renewal.entries}
        uses = tuple(_surviving(self.node, use, renewal, live) for use in old.uses if self._is_kept(use, live))
        queue = [one for one in old.seat.queue if isinstance(one[1], Own) and one[1].what == "request"]
        queue += [
            (self.node, Own("request", place.handle, place.claim))
            for place in old.places
            if not place.turn and place.handle is not None
        ]
        data = renewal.data
        new = ElmpState(
            Idle(),
            replace(renewal.seat, queue=tuple(queue)),
            old.rank,
            old.asks,
            renewal.places,
            uses,
            old.used,
            is_listed=any(node == self.node for node, _ in live),
            departure=None if old.departure is None else Departure(),
            keeps=data.version if data is not None and data.holder == self.node else None,
            stored=old.stored,
            timed=old.timed,
        )
        desk = self.inner.desk(self.inner, new)
        for use in uses:
            desk.ask_again(use)
        for place in renewal.places:
            desk.go_on(place)
            if place.has_token and place.handle is None and place.next is None:
                desk.pass_on(place)
        if renewal.token:
            desk.on_token(Token(renewal.token, data, renewal.entries))
        desk.settle()
        return desk.finish()

    def _is_kept(self, use: Use, live: set[tuple[NodeId, int]]) -> bool:
        """Whether a claim that was let in still is: all but those that are over and whose changes are elsewhere."""
        if use.handle is None:
            return (self.node, use.number) in live
        return use.handle != ENTRUSTED


def _surviving(node: NodeId, use: Use, renewal: Renewal, live: set[tuple[NodeId, int]]) -> Use:
    """Let a claim wait for nobody who is dead; who waits for it will ask again."""
    old, new = use.data, renewal.data
    is_lost = old is not None and new is not None and old.holder not in (node, new.holder)
    return replace(
        use,
        # A claim that holds is granted again if its data was at who died.
        is_held=use.is_held and not is_lost,
        data=old if use.is_held and not is_lost else new,
        earlier=tuple(one for one in use.earlier if one[:2] in live),
        awaits=tuple(one for one in use.awaits if one in live),
        askers=(),
        sources=tuple(one for one in use.sources if (one.holder, one.use) in live),
    )


__all__ = ["Surviving"]
