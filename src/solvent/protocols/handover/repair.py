"""Repairs: what is done when a process dies, or seems to.

Whoever hears of a death tells the founder, or if that is dead the lowest that lives. That one musters everybody: each
stops, takes nothing of the old epoch any more, asks its application what data it can find, and says what it has. When
all that live have answered (or enough: see `quorum`), everybody gets its part of what is to be (`plan`); when all have
agreed, everybody goes on in the new epoch. So whatever was going on when somebody died is forgotten, and what counts is
kept: who holds, who waits and in which order, where the data is.

If somebody dies meanwhile, or two repairs meet, the later ballot counts: who has answered it answers and agrees to no
earlier one, so an earlier repair that needs it is not completed. What each has is what it had when it stopped, in
whichever epoch: nothing that was said since counts.

Who was taken for dead and lives is fenced: nobody takes what it says, and it hears so. Turns only ever grow, so whoever
guards the data can tell its claims from later ones.

Everybody watches a few others. While this process waits for somebody, it watches that one as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp import lock
from solvent.protocols.elmp.messages import Own, Token
from solvent.protocols.elmp.process import seated
from solvent.protocols.elmp.state import ENTRUSTED, Departure, ElmpState, Joining, Out, Use
from solvent.protocols.elmp.state import Step as LockStep
from solvent.protocols.elmp.vocabulary import Joined, Recalled
from solvent.protocols.handover import members
from solvent.protocols.handover.messages import (
    Agreed,
    Agreement,
    Alarm,
    Attendance,
    Charge,
    Fenced,
    Muster,
    Present,
    Proceed,
    Refused,
    Renew,
    Renewal,
    Stray,
    Survivor,
)
from solvent.protocols.handover.plan import planned
from solvent.protocols.handover.quorum import Verdict, judged
from solvent.protocols.handover.state import ABSENT, Gate, Mustering, Role, SpaceState
from solvent.protocols.handover.vocabulary import Arrived, Entered, Gone, Inventory, Of, Renewed, Repaired, Stays
from solvent.protocols.machine import Ask, NodeId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.protocols.elmp.state import ElmpConfig
    from solvent.protocols.elmp.vocabulary import Data
    from solvent.protocols.handover.state import Step
    from solvent.protocols.handover.vocabulary import Ballot, Found


def lost(now: Step) -> frozenset[NodeId]:
    """Those who are dead, or seem to be."""
    return now.state.dead | now.state.suspects


def to_be_watched(now: Step) -> tuple[NodeId, ...]:
    """Return whose death matters: of the next few in the circle of names, and of those that this process waits for."""
    state = now.state
    if state.role is Role.ENTERING:
        found = {state.contact, state.promised[1]} - {None, NodeId(-1)}
    elif state.role is not Role.INSIDE:
        return ()
    elif state.mustering is not None:
        found = set(state.mustering.asked)
    else:
        circle = sorted(members.others(now) - state.dead)
        after = [node for node in circle if node > now.me] + [node for node in circle if node < now.me]
        # All count on the founder.
        found = {*after[: now.config.watched], *state.leavers, state.founder}
        if state.noting:
            # It waits for some of all; and who watches those may only be about to come in, or not count on them.
            found |= members.others(now).union(*state.noting.values())
        if not state.is_running or state.has_resigned or lost(now) & frozenset(state.members):
            # It waits for one of these.
            found |= {*makers(now), coordinator(now)}
        if not state.is_running:
            found |= state.doubted
    return tuple(sorted(node for node in found - state.dead - {now.me} if node is not None))


def makers(now: Step) -> set[NodeId]:
    """Those whose repairs this process has answered, and waits for."""
    state = now.state
    return {state.promised[1], *([state.agreed.ballot[1]] if state.agreed is not None else [])}


def coordinator(now: Step) -> NodeId:
    """Return who is to make a repair: the founder, or the lowest that lives.

    Who waits to be let go does not know who has come since, and makes none unless nobody else is left.
    """
    state, unable = now.state, lost(now) | now.state.unfit
    if members.is_gone(now):
        unable |= {now.me}
    if state.founder not in unable and state.founder in state.members:
        return state.founder
    return min((node for node in state.members if node not in unable), default=now.me)


def on_died(now: Step, peer: NodeId, *, is_certain: bool) -> None:
    """See to it that a death is dealt with."""
    state = now.state
    if peer in state.dead or (not is_certain and peer in state.suspects) or peer == now.me:
        return
    if is_certain:
        state.dead = state.dead | {peer}
        state.suspects = state.suspects - {peer}
    else:
        state.suspects = state.suspects | {peer}
    if state.role is Role.ENTERING and peer in (state.contact, state.promised[1]):
        members.go_astray(now)
    elif state.role is Role.INSIDE:
        members.forget_leaver(now, peer)
        members.forget_knock(now, peer)
        wait_no_longer_for(now, peer)
        be_without(now, peer)


def consider_alarm(now: Step) -> None:
    """Have a repair made if a member is dead, or who makes one is."""
    state = now.state
    if state.role is not Role.INSIDE or state.mustering is not None:
        return
    missed = lost(now) & frozenset(state.members)
    is_stuck = not state.is_running and bool(makers(now) & lost(now))
    if not is_stuck and not (state.is_running and missed):
        return
    maker = coordinator(now)
    if maker == now.me and members.is_gone(now):
        members.depart(now)
    elif maker == now.me:
        muster(now)
    else:
        dead, suspects = missed & state.dead, missed & state.suspects
        now.send(maker, Alarm(state.epoch, tuple(sorted(dead)), tuple(sorted(suspects))))
        if is_stuck:
            # Who was to make the repair may not be a member any more, and is missed by nobody else.
            now.send(maker, Charge(is_pressing=True))


def on_alarm(now: Step, sender: NodeId, alarm: Alarm) -> None:
    """Have a repair made; by this process, if it is asked and nobody else is at it."""
    state = now.state
    if state.role in (Role.OUTSIDE, Role.ENTERING) or members.is_gone(now):
        now.send(sender, Stray())
        return
    found = members.gate(now, sender, alarm.epoch)
    if found is Gate.KEEP:
        state.early = (*state.early, (sender, alarm))
    if state.role is not Role.INSIDE:
        return
    if sender not in state.members:
        if alarm.epoch == state.epoch:
            # It has been let go, and has not heard it.
            members.fence(now, sender)
        return
    news = frozenset(alarm.dead) - state.dead - {now.me}
    state.dead = state.dead | news
    state.suspects = state.suspects - news
    if found is Gate.TAKE and frozenset((*alarm.dead, *alarm.suspects)) & frozenset(state.members):
        muster(now)
        return
    for node in sorted(news):
        be_without(now, node)


def on_charge(now: Step, sender: NodeId, charge: Charge) -> None:
    """Make a repair for somebody who cannot; to be the founder is nothing for who wants to go itself."""
    state = now.state
    is_able = charge.is_pressing or not state.is_going
    if state.mustering is not None and sender in state.mustering.asked:
        return
    if state.role is Role.INSIDE and sender in state.members and is_able:
        muster(now)
    elif state.role is not Role.OVER:
        now.send(sender, Stray())


# ------------------------------------------------------------------------------------------------------ fences


def wait_no_longer_for(now: Step, node: NodeId) -> None:
    """Go without an answer of one that had said goodbye itself and then died; the founder sees to its death."""
    state = now.state
    waiting = state.noting.get(now.me)
    if waiting is not None and node in waiting and node not in state.members and state.is_running:
        members.wait_no_more(now, now.me, node)


# ----------------------------------------------------------------------------------------------------- musters


def be_without(now: Step, node: NodeId) -> None:
    """Go on with a repair without a process that has answered, or has not; or have one made.

    Who has answered is asked again, since it may only be slow. All are: what they have found may be older than what
    it released before it died; and if it only seems to be dead, others may know.
    """
    state = now.state
    mustering = state.mustering
    if mustering is None:
        if node in state.dead & state.doubted and not state.is_running:
            # Whoever makes the repair may wait for nothing else.
            look_for_data(now)
        consider_alarm(now)
        return
    is_missed = node in lost(now) and node in mustering.asked and mustering.agreeing is None
    if node in mustering.answers() or is_missed:
        muster(now)
    else:
        consider_renewing(now)


def muster(now: Step) -> None:
    """Have everybody that lives stop and say what it has."""
    state = now.state
    ballot = (max(state.promised[0], state.epoch[0]) + 1, now.me)
    agreed = {node: address for one in state.agreements for node, address in one.members}
    asked = (members.others(now) | frozenset(agreed)) - state.dead - {now.me}
    suspects = tuple(sorted(state.suspects & asked))
    state.promised = ballot
    state.early = ()
    state.agreed = None
    state.mustering = Mustering(ballot, asked)
    for node in sorted(asked):
        if node not in state.members:
            now.report(Arrived(node, agreed[node]))
        now.send(node, Muster(ballot, now.address, suspects))
    look_for_data(now)


def on_muster(now: Step, sender: NodeId, message: Muster) -> None:
    """Stop and say what is here, unless a later ballot was answered."""
    state = now.state
    if state.role is Role.OVER:
        return
    if state.role is Role.INSIDE and not is_known(now, sender):
        members.fence(now, sender)
        return
    if state.role is not Role.INSIDE:
        state.role = Role.ENTERING
        state.contact = state.contact if state.contact is not None else sender
        now.report(Arrived(sender, message.address))
    if message.ballot < state.promised:
        now.send(sender, Refused(state.promised))
        return
    doubted = frozenset(message.suspects) & members.others(now)
    state.promised = message.ballot
    state.mustering = None
    state.doubted = doubted
    state.suspects = state.suspects - {sender}
    if not state.is_waiting:
        state.early = ()
        state.agreed = None
    look_for_data(now)


def is_known(now: Step, node: NodeId) -> bool:
    """Whether a process takes part in this epoch, or in one that this process has agreed to."""
    return node in now.state.members or any(node == other for one in now.state.agreements for other, _ in one.members)


def look_for_data(now: Step) -> None:
    """Ask the application what data it can find, if it has not been asked already."""
    state = now.state
    if not now.config.asks_inventory:
        attend(now, {})
    elif not state.is_asked:
        state.is_asked = True
        now.effects.append(Ask(Inventory(tuple(sorted(state.resources)))))


def on_answered(now: Step, found: Found) -> None:
    """Say what is here, with what the application has found, to whoever makes a repair now."""
    state = now.state
    state.is_asked = False
    if state.role in (Role.ENTERING, Role.INSIDE) and not state.is_running:
        attend(now, found)


def attend(now: Step, found: Found) -> None:
    """Answer the last muster."""
    state, answer = now.state, attendance(now, found)
    if state.mustering is not None:
        count(now, answer)
    elif state.promised[1] != now.me:
        now.send(state.promised[1], Present(state.promised, answer))


def attendance(now: Step, found: Found) -> Attendance:
    """Say what is here that counts across epochs."""
    state = now.state
    known = [(name, survivor(now.me, part)) for name, part in sorted(state.resources.items())]
    return Attendance(
        now.me,
        state.epoch,
        tuple(sorted(state.members.items())),
        is_voter=state.role is Role.INSIDE and not members.is_gone(now),
        agreements=state.agreements,
        dead=tuple(sorted(state.dead & frozenset(state.members))),
        parts=tuple((name, part) for name, part in known if part is not None),
        found=tuple(sorted(dict(found).items())),
    )


def on_present(now: Step, present: Present) -> None:
    """Count who has answered."""
    mustering = now.state.mustering
    if mustering is not None and mustering.ballot == present.ballot and mustering.agreeing is None:
        count(now, present.attendance)


def count(now: Step, one: Attendance) -> None:
    """Keep an answer, and muster those of whom nobody had told yet."""
    state, mustering = now.state, now.state.mustering
    assert mustering is not None
    dead = state.dead | (frozenset(one.dead) - {now.me})
    new = {node: address for node, address in one.members if node not in mustering.asked and node not in dead}
    if one.epoch < state.epoch:
        new = {}
    new.pop(now.me, None)
    answers = mustering.answers() | {one.node: one}
    asked = mustering.asked | frozenset(new)
    is_late = bool((dead - state.dead) & asked)
    state.dead = dead
    state.suspects = state.suspects - {one.node} - dead
    state.members = {**state.members, **new}
    kept = tuple(answers[node] for node in sorted(answers) if node not in dead)
    state.mustering = replace(mustering, asked=asked, attendances=kept)
    for node, address in sorted(new.items()):
        now.report(Arrived(node, address))
        now.send(node, Muster(mustering.ballot, now.address))
    if is_late:
        # What others have found may be older than what it released before it died.
        muster(now)
    else:
        consider_renewing(now)


def on_refused(now: Step, ballot: Ballot) -> None:
    """Leave the repair to whoever makes a later one, unless that one is dead.

    If it only seems to be, and this process seems so to it, the lower one must win: else neither would for ever.
    If it is dead, those who have answered it will notice.
    """
    state = now.state
    mustering = state.mustering
    if mustering is None or ballot <= mustering.ballot:
        return
    rival = ballot[1]
    state.promised = ballot
    if rival in state.dead or (rival in state.suspects and now.me < rival):
        muster(now)
    else:
        state.mustering = None


# ---------------------------------------------------------------------------------------------------- renewals


def consider_renewing(now: Step) -> None:
    """When all have answered, or enough, tell everybody what is to be."""
    mustering = now.state.mustering
    if mustering is None or mustering.agreeing is not None or now.me not in mustering.answers():
        return
    if expected(now, mustering) - frozenset(mustering.answers()) - lost(now):
        return
    verdict = judge(now, mustering.answers())
    if verdict.is_enough and now.me in verdict.members:
        renew(now, mustering, verdict)
    elif verdict.is_enough and verdict.members:
        # Another repair may have been completed, without this process.
        now.send(min(verdict.members), Charge(is_pressing=True))


def expected(now: Step, mustering: Mustering) -> frozenset[NodeId]:
    """Return those whose answers must be waited for: if a later epoch has begun, those who take part in it."""
    latest = max(one.epoch for one in mustering.attendances)
    if latest == now.state.epoch:
        return mustering.asked
    return frozenset(node for one in mustering.attendances if one.epoch == latest for node, _ in one.members)


def judge(now: Step, answers: Mapping[NodeId, Attendance]) -> Verdict:
    """Return who may go on."""
    return judged(answers, now.state.dead, needs_majority=now.config.needs_majority)


def renew(now: Step, mustering: Mustering, verdict: Verdict) -> None:
    """Tell everybody what is to be, and wait until all have agreed."""
    state, ballot, answers = now.state, mustering.ballot, mustering.answers()
    known = dict(state.members)
    for one in answers.values():
        known |= dict(one.members)
        known |= {node: address for agreement in one.agreements for node, address in agreement.members}
    there = tuple((node, known[node]) for node in sorted(verdict.members))
    planned = plans(now, [answers[node] for node, _ in there], ballot)
    # What others have found tells also of data that was released and is lost.
    found = {name for name, plan in planned if any(renewal.data is not None for renewal in plan.values())}
    released, own = tuple(sorted(state.released | found)), None
    for node, _ in there:
        renewals = tuple((name, plan[node]) for name, plan in planned if node in plan)
        message = Renew(ballot, verdict.after, there, renewals, released)
        if node == now.me:
            own = message
        else:
            now.send(node, message)
    assert own is not None
    agreeing = verdict.members - {now.me}
    agree(now, own)
    state.mustering = replace(mustering, agreeing=agreeing)
    if not agreeing:
        complete(now)


def plans(now: Step, answers: list[Attendance], ballot: Ballot) -> list[tuple[str, dict[NodeId, Renewal]]]:
    """Plan each resource; this process takes part in all from now on."""
    parts: dict[str, list[Survivor]] = {}
    found: dict[str, list[Data]] = {}
    for one in answers:
        for name, part in one.parts:
            parts.setdefault(name, []).append(part)
        for name, data in one.found:
            found.setdefault(name, []).append(data)
    made = []
    for name in sorted(parts.keys() | found.keys()):
        survivors = parts.get(name, [])
        if not any(one.node == now.me for one in survivors):
            survivors = [*survivors, Survivor(now.me, 0)]
        made.append((name, planned(survivors, found.get(name, ()), now.config.locks.order, ballot[0])))
    return made


def on_renew(now: Step, sender: NodeId, renew: Renew) -> None:
    """Agree, unless a later muster was answered."""
    state = now.state
    is_newcomer = state.role in (Role.OUTSIDE, Role.ENTERING) and renew.ballot > state.promised
    if state.role is Role.OVER:
        return
    if renew.ballot == state.promised or is_newcomer:
        agree(now, renew)
        now.send(sender, Agreed(renew.ballot))
    else:
        now.send(sender, Refused(state.promised))


def agree(now: Step, renew: Renew) -> None:
    """Remember what is to be."""
    state = now.state
    agreement = Agreement(renew.ballot, renew.members)
    state.promised = renew.ballot
    state.agreed = renew
    state.agreements = (*state.agreements, agreement)


def on_agreed(now: Step, sender: NodeId, ballot: Ballot) -> None:
    """Count who has agreed."""
    mustering = now.state.mustering
    if mustering is None or mustering.ballot != ballot or mustering.agreeing is None:
        return
    agreeing = mustering.agreeing - {sender}
    now.state.mustering = replace(mustering, agreeing=agreeing)
    if not agreeing:
        complete(now)


def complete(now: Step) -> None:
    """Let everybody go on, and tell those that were taken for dead."""
    state, agreed, mustering = now.state, now.state.agreed, now.state.mustering
    assert agreed is not None
    assert mustering is not None
    others = [node for node, _ in agreed.members if node != now.me]
    for node in others:
        now.send(node, Proceed(mustering.ballot))
    for node in sorted(mustering.asked - frozenset(others) - state.dead):
        now.send(node, Fenced(mustering.ballot))
    proceed(now, agreed)


def on_proceed(now: Step, ballot: Ballot) -> None:
    """Go on, unless another repair has begun."""
    agreed = now.state.agreed
    if agreed is not None and agreed.ballot == ballot and now.state.is_waiting:
        proceed(now, agreed)


def proceed(now: Step, renew: Renew) -> None:
    """Go on in the new epoch, with what came too early first."""
    old, new = replace(now.state), dict(renew.members)
    gone = frozenset(old.members) - frozenset(new)
    now.become(
        SpaceState(
            Role.INSIDE,
            renew.ballot,
            renew.ballot,
            new,
            dead=old.dead - gone,
            knocks=old.knocks,
            leavers=old.leavers,
            is_going=old.is_going,
            is_asked=old.is_asked,
            watched=old.watched,
            released=old.released.union(renew.released),
            resources=old.resources,
        )
    )
    tell_of_change(now, old.members, new)
    if old.role is not Role.INSIDE:
        now.report(Entered(renew.ballot))
    else:
        told = tuple(_told(*one) for one in renew.renewals)
        now.report(Repaired(renew.ballot, renew.after, tuple(sorted(gone)), told))
    for resource, renewal in renew.renewals:
        wanted = members.still_wanted(now, resource, renewal)
        members.end_lock(now, resource, renewed(now.me, now.config.locks, staying(now, resource), wanted))
    for node, address in sorted(old.knocks.items()):
        if node in new or node in old.dead:
            members.forget_knock(now, node)
        else:
            members.pass_on_knock(now, node, address)
    now.kept = (*now.kept, (old.early, old.wishes))


def staying(now: Step, resource: str) -> ElmpState:
    """Return what is here of a resource; a new founder does not leave it any more, or it would be made again."""
    part = now.state.resources.get(resource, ABSENT)
    if now.state.founder == now.me and part.departure is not None:
        now.report(Of(resource, Stays()))
        return replace(part, departure=None)
    return part


def tell_of_change(now: Step, old: Mapping[NodeId, str], new: Mapping[NodeId, str]) -> None:
    """Tell who has come and who has gone."""
    for node, address in sorted(new.items()):
        if node not in old and node != now.me:
            now.report(Arrived(node, address))
    for node in sorted(old):
        if node not in new:
            now.report(Gone(node))


def _told(resource: str, renewal: Renewal) -> Renewed:
    data = renewal.data
    if data is None:
        return Renewed(resource, renewal.is_new_token, renewal.is_older)
    return Renewed(resource, renewal.is_new_token, renewal.is_older, data.version, data.holder)


# ------------------------------------------------------------------------- a lock across a repair


def survivor(node: NodeId, state: ElmpState) -> Survivor | None:
    """Say what is here of a resource that counts across epochs; nothing if the process takes no part in it."""
    if type(state.phase) is Out:
        return None
    if type(state.phase) is Joining:
        return Survivor(node, 0)
    return Survivor(node, state.rank, tuple(place for place in state.places if place.turn), state.uses, state.stored)


def renewed(node: NodeId, config: ElmpConfig, old: ElmpState, renewal: Renewal) -> LockStep:
    """Put together what is to be from what was here and what the repair has given, and begin to go on with it."""
    data = renewal.data
    live = {one[:2] for one in renewal.entries}
    uses = tuple(_surviving(node, use, renewal, live) for use in old.uses if use.handle != ENTRUSTED)
    queue = [one for one in old.queue if isinstance(one[1], Own) and one[1].what == "request"]
    queue += [
        (node, Own("request", place.handle, place.claim))
        for place in old.places
        if not place.turn and place.handle is not None
    ]
    is_holder = data is not None and data.holder == node
    new = seated(
        replace(renewal.seat, queue=tuple(queue)),
        renewal.rank,
        asks=old.asks,
        places=renewal.places,
        uses=uses,
        used=old.used,
        is_listed=any(one == node for one, _ in live),
        departure=None if old.departure is None else Departure(),
        keeps=data.version if data is not None and is_holder else None,
        stored=data if is_holder else old.stored,
        timed=old.timed,
        latest=max((old.latest, *(place.turn for place in renewal.places))),
    )
    now = LockStep(node, config, new, [])
    if type(old.phase) is Joining:
        now.report(Joined(renewal.rank))
    if any(use.handle == ENTRUSTED and use.is_held for use in old.uses):
        # What there is to fetch may be something else now, and the token may be about to go on.
        now.report(Recalled())
    for use in uses:
        lock.ask_again(now, use)
    for place in renewal.places:
        lock.go_on(now, place)
        if place.has_token and place.handle is None and place.next is None:
            lock.pass_on(now, place)
    if renewal.token:
        lock.on_token(now, Token(renewal.token, data, renewal.entries))
    return now


def _surviving(node: NodeId, use: Use, renewal: Renewal, live: set[tuple[NodeId, int]]) -> Use:
    """Let a claim wait for nobody who is dead; who waits for it will ask again."""
    old, new = use.data, renewal.data
    # A claim that holds is granted again if its data was at who died.
    is_lost = old is not None and new is not None and old.holder not in (node, new.holder)
    return replace(
        use,
        is_held=use.is_held and not is_lost,
        # Whoever changes a part brings it to who has the data now.
        data=new,
        awaits=tuple(one for one in use.awaits if one in live),
        askers=(),
    )


__all__ = ["renewed", "survivor"]
