"""Who takes part, and in which resources: processes come and go, and locks take what is theirs.

A new process turns to any that it knows, which passes its wish on to the founder. The founder tells everybody, and when
all know of it lets the new process in. So whoever takes part in anything is known to all, and no repair misses it.

Who goes leaves all resources, and then says goodbye to everybody. When all have heard it, they have heard all that it
said before: nothing that others need, such as a token, is under way from it any more. Then the founder lets it go.

A founder that wants to go has another one take its place first: by a repair, which leaves everything else as it is.
Then it goes as others do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from solvent.protocols.elmp import process
from solvent.protocols.elmp.lock import PATIENCE
from solvent.protocols.elmp.messages import Hello, Own
from solvent.protocols.elmp.process import seated, seats
from solvent.protocols.elmp.state import ENTRUSTED, ElmpState, Joining, Out, Place
from solvent.protocols.elmp.state import Step as LockStep
from solvent.protocols.elmp.vocabulary import Dropped, Join, Joined, Leave, Left, Request, Withdraw
from solvent.protocols.handover.messages import (
    Admitted,
    Bye,
    Came,
    Charge,
    Exists,
    Farewell,
    Fenced,
    Going,
    Knock,
    Newcomer,
    Noted,
    Stray,
    Went,
    Within,
)
from solvent.protocols.handover.plan import NUMBERS_BITS
from solvent.protocols.handover.state import ABSENT, NOBODY, Gate, Role, SpaceState
from solvent.protocols.handover.vocabulary import (
    Arrived,
    Astray,
    Departed,
    Entered,
    Expelled,
    Gone,
    In,
    Of,
    Opened,
    Stays,
)
from solvent.protocols.machine import CancelTimer, Event, NodeId, Report, Requested, Send
from solvent.protocols.machine import SetTimer as Set

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.protocols.elmp.process import Wanted
    from solvent.protocols.handover.messages import Renewal
    from solvent.protocols.handover.state import Step
    from solvent.protocols.handover.vocabulary import Ballot

OF_RESOURCE = "@"
"""Between the name of a lock's timer and that of its resource."""
_Value = TypeVar("_Value")


# ------------------------------------------------------------------------------------------------ small steps


def others(now: Step) -> frozenset[NodeId]:
    """All who take part, without this process."""
    return frozenset(now.state.members) - {now.me}


def gate(now: Step, sender: NodeId, epoch: Ballot) -> Gate:
    """Say what to do with a message of an epoch."""
    state, agreed = now.state, now.state.agreed
    if epoch == state.epoch == state.promised:
        return Gate.TAKE
    if agreed is not None and agreed.ballot == epoch:
        return Gate.KEEP if state.is_waiting else Gate.DROP
    if state.role is not Role.INSIDE:
        return Gate.DROP
    if epoch == state.epoch:
        return Gate.DROP
    if any(one.ballot == epoch for one in state.agreements):
        # It has begun elsewhere, and another repair is under way here.
        return Gate.DROP
    if epoch > state.epoch:
        # The others are in an epoch that this process was not asked for.
        be_expelled(now)
    elif sender not in state.members:
        fence(now, sender)
    return Gate.DROP


# -------------------------------------------------------------------------------------------------- resources


def on_within(now: Step, sender: NodeId, within: Within) -> None:
    """Take a message of a lock."""
    state, epoch, resource, message = now.state, within.epoch, within.resource, within.message
    if epoch == state.epoch == state.promised:
        now.is_for_lock = True
        if type(message) is Hello and state.founder == now.me:
            made(now, resource)
        part = begin_lock(now, resource)
        process.on_message(part, sender, message)
        end_lock(now, resource, part)
        if state.is_going:
            consider_left(now, part)
    elif gate(now, sender, epoch) is Gate.KEEP:
        state.early = (*state.early, (sender, within))


def begin_lock(now: Step, resource: str) -> LockStep:
    """Begin a step of a lock."""
    return LockStep(now.me, now.config.locks, replace(now.state.resources.get(resource, ABSENT)), [])


def end_lock(now: Step, resource: str, part: LockStep) -> None:
    """End a step of a lock: keep its state, and add its effects to those of the process."""
    process.settle(part)
    state, after = now.state, part.state
    if type(after.phase) is not Out or after != ABSENT:
        state.resources = {**state.resources, resource: after}
    for effect in part.effects:
        if type(effect) is Send:
            now.effects.append(Send(effect.to, Within(state.epoch, resource, effect.message)))
        elif type(effect) is Report:
            outcome = effect.outcome
            now.effects.append(Report(Opened(resource) if type(outcome) is Joined else Of(resource, outcome)))
        elif type(effect) is Set:
            now.effects.append(Set(f"{effect.name}{OF_RESOURCE}{resource}", effect.after))
        elif type(effect) is CancelTimer:
            now.effects.append(CancelTimer(f"{effect.name}{OF_RESOURCE}{resource}"))
        else:
            now.effects.append(effect)


def request(now: Step, resource: str, wanted: Wanted) -> None:
    """Let a lock do what is wanted."""
    part = begin_lock(now, resource)
    process.on_requested(part, wanted)
    end_lock(now, resource, part)
    if now.state.is_going:
        consider_left(now, part)


def consider_left(now: Step, part: LockStep) -> None:
    """Do what is to be done next if a resource has been left."""
    if any(type(one) is Report and type(one.outcome) is Left for one in part.effects):
        consider_going(now)


def made(now: Step, resource: str) -> ElmpState:
    """Return the founder's part of a resource; it makes it if no process has wanted it before."""
    state, part = now.state, now.state.resources.get(resource, ABSENT)
    if type(part.phase) is Out:
        # All who had it in an earlier epoch may be gone; its turns are still greater than theirs.
        turn = (state.epoch[0] << NUMBERS_BITS) + 1
        seat = replace(seats((now.me,), now.config.locks.order)[now.me], turns=turn, tail=(now.me, turn))
        part = seated(seat, 1, places=(Place(turn, None, has_token=True),))
        state.resources = {**state.resources, resource: part}
    return part


def on_open(now: Step, resource: str) -> None:
    """Take part in a resource; the founder does so in all."""
    state = now.state
    phase = type(state.resources.get(resource, ABSENT).phase)
    if state.founder == now.me:
        made(now, resource)
        now.report(Opened(resource))
    elif phase is Out:
        request(now, resource, Join(state.founder))
    elif phase is not Joining:
        now.report(Opened(resource))


def on_in(now: Step, resource: str, wanted: Any) -> None:
    """Do what the user wants of a resource."""
    now.is_for_lock = True
    if type(wanted) is Leave and now.state.founder == now.me:
        withdraw_all(now, resource)
        now.report(Of(resource, Stays()))
    elif type(wanted) is not Join:
        request(now, resource, wanted)


def on_announce(now: Step, resource: str) -> None:
    """Tell all others, once, that data of a resource was released."""
    if resource not in now.state.released:
        now.state.released |= {resource}
        for node in sorted(others(now)):
            now.send(node, Exists(resource))


def on_exists(now: Step, sender: NodeId, resource: str) -> None:
    """Note that data was released; a newcomer may hear it before it hears who takes part."""
    state = now.state
    if state.role is Role.ENTERING or sender in state.members:
        state.released |= {resource}


# ----------------------------------------------------------------------------------------------------- patience


def wish(now: Step, event: Requested) -> None:
    """Keep what the user wants until a repair is over; who has no patience for that waits for so long only."""
    now.state.wishes = (*now.state.wishes, event)
    match event.request:
        case In(resource, Request(handle, patience)) if patience:
            now.effects.append(Set(f"{PATIENCE}{handle}{OF_RESOURCE}{resource}", patience))


def on_impatience(now: Step, name: str) -> None:
    """Give up a claim that has waited long enough while a repair is under way, which may never be over.

    Nobody is told: what this process has answered to a muster counts until the repair is over (`still_wanted`).
    """
    state = now.state
    timer, _, resource = name.partition(OF_RESOURCE)
    handle = int(timer.removeprefix(PATIENCE))
    part = state.resources.get(resource, ABSENT)
    if handle in part.timed:
        # Its place, and a token that is there, are nobody's from now on.
        part = replace(
            part,
            queue=tuple(one for one in part.queue if not _asks_for(one[1], handle)),
            places=tuple(replace(one, handle=None) if one.handle == handle else one for one in part.places),
            uses=tuple(one for one in part.uses if one.handle != handle),
            timed=tuple(one for one in part.timed if one != handle),
        )
        state.resources = {**state.resources, resource: part}
        now.report(Of(resource, Dropped(handle)))
    wishes = tuple(one for one in state.wishes if not _requests(one, resource, handle))
    if len(wishes) < len(state.wishes):
        state.wishes = wishes
        now.report(Of(resource, Dropped(handle)))


def still_wanted(now: Step, resource: str, renewal: Renewal) -> Renewal:
    """Return what the repair has given, without claims that have been given up since this process answered."""
    handles = {one.turn: one.handle for one in now.state.resources.get(resource, ABSENT).places}
    places = [replace(one, handle=handles.get(one.turn, one.handle)) for one in renewal.places]
    return replace(renewal, places=tuple(places))


def withdraw_all(now: Step, resource: str) -> None:
    """Give up all claims of a resource."""
    part = now.state.resources.get(resource, ABSENT)
    handles = {one.handle for one in part.places} | {one.handle for one in part.uses}
    handles |= {one.handle for _, one in part.queue if type(one) is Own and one.what == "request"}
    for handle in sorted(one for one in handles if one is not None and one != ENTRUSTED):
        request(now, resource, Withdraw(handle))


def _asks_for(message: Any, handle: int) -> bool:
    return type(message) is Own and message.what == "request" and message.handle == handle


def _requests(wish: Event, resource: str, handle: int) -> bool:
    """Return whether somebody wishes to make a claim, with some patience."""
    match wish:
        case Requested(In(wanted, Request(number, patience))):
            return wanted == resource and number == handle and patience > 0
    return False


# ----------------------------------------------------------------------------------------------------- coming


def on_enter(now: Step, contact: NodeId) -> None:
    """Turn to a process that is known."""
    state = now.state
    if state.role is not Role.OUTSIDE:
        return
    if contact in state.dead:
        now.report(Astray(contact))
        return
    # If it seemed to be dead before, that is to be heard again.
    state.role = Role.ENTERING
    state.contact = contact
    state.suspects = state.suspects - {contact}
    now.send(contact, Knock(now.address))


def on_knock(now: Step, sender: NodeId, address: str) -> None:
    """Pass the wish of a new process on to the founder, again after every repair until it is in."""
    state = now.state
    if state.role is not Role.INSIDE:
        now.report(Arrived(sender, address))
        now.send(sender, Stray())
        return
    state.knocks = {**state.knocks, sender: address}
    if state.is_running:
        pass_on_knock(now, sender, address)


def pass_on_knock(now: Step, newcomer: NodeId, address: str) -> None:
    """Let the founder know of a new process."""
    if now.state.founder == now.me:
        on_newcomer(now, newcomer, address)
    else:
        now.send(now.state.founder, Newcomer(newcomer, address))


def on_newcomer(now: Step, newcomer: NodeId, address: str) -> None:
    """Have everybody know of a new process; who is no founder any more, or not yet, will be told again."""
    state = now.state
    if state.founder != now.me or not state.is_running or newcomer in state.dead:
        return
    forget_knock(now, newcomer)
    if newcomer not in state.members:
        now.report(Arrived(newcomer, address))
        state.members = {**state.members, newcomer: address}
        have_noted(now, newcomer, Came(state.epoch, newcomer, address))
    elif newcomer not in state.noting:
        settle(now, newcomer)


def have_noted(now: Step, node: NodeId, news: Came | Went, known: frozenset[NodeId] = frozenset()) -> None:
    """Tell all that have been let in that one comes or goes, and go on when all have noted it."""
    state = now.state
    to = others(now) - frozenset(state.noting) - known - {node}
    state.noting = {**state.noting, node: to}
    for one in sorted(to):
        now.send(one, news)
    if not to:
        settle(now, node)


def on_came(now: Step, sender: NodeId, came: Came) -> bool:
    """Know a new process, and return whether that was news."""
    state = now.state
    if not is_now(now, sender, came.epoch, came):
        return False
    forget_knock(now, came.newcomer)
    now.report(Arrived(came.newcomer, came.address))
    state.members = {**state.members, came.newcomer: came.address}
    now.send(sender, Noted(came.epoch, came.newcomer))
    waiting = state.noting.get(now.me)
    if waiting is not None:
        # This process has said goodbye to all but the new one.
        state.noting = {**state.noting, now.me: waiting | {came.newcomer}}
        now.send(came.newcomer, Bye(came.epoch))
    return True


def on_noted(now: Step, sender: NodeId, noted: Noted) -> None:
    """Count who has noted something; a founder that hears it from the process itself knows that it has gone."""
    if sender == noted.node:
        forget_leaver(now, sender)
        return
    if noted.node in now.state.noting and gate(now, sender, noted.epoch) is Gate.TAKE:
        wait_no_more(now, noted.node, sender)


def wait_no_more(now: Step, node: NodeId, other: NodeId) -> None:
    """Wait no more for one process to note that another one comes or goes."""
    state = now.state
    waiting = state.noting[node]
    state.noting = {**state.noting, node: waiting - {other}}
    if waiting == {other} and node == now.me:
        ask_to_go(now)
    elif waiting == {other}:
        settle(now, node)


def settle(now: Step, node: NodeId) -> None:
    """Let a process in that all know, or go."""
    state = now.state
    if node in state.noting:
        state.noting = _without(state.noting, node)
    if node in state.goers:
        now.send(node, Farewell(state.epoch))
        state.goers = state.goers - {node}
        state.leavers = state.leavers | {node}
        state.members = _without(state.members, node)
        # It need not note any more who comes, and cannot if it dies now.
        for one in sorted(state.noting):
            if one in state.noting:
                wait_no_more(now, one, node)
    else:
        # Who goes has told so before, and is not to be counted on.
        members = [one for one in state.members.items() if one[0] not in state.goers]
        now.send(node, Admitted(state.epoch, tuple(sorted(members)), tuple(sorted(state.released))))
    consider_going(now)


def on_admitted(now: Step, admitted: Admitted) -> bool:
    """Be in, unless a repair has begun meanwhile, which lets this process in as well; return whether it is in."""
    state = now.state
    # Whom it turned to may have passed its wish on, and then gone and sent it to another one.
    is_waiting = state.role in (Role.ENTERING, Role.OUTSIDE)
    if not is_waiting or admitted.epoch < state.promised:
        return False
    state.role = Role.INSIDE
    state.epoch = admitted.epoch
    state.promised = admitted.epoch
    state.members = {node: address for node, address in admitted.members if node not in state.goers}
    state.goers = frozenset()
    state.contact = None
    state.agreed = None
    state.agreements = ()
    state.released = state.released.union(admitted.released)
    for node, address in sorted(state.members.items()):
        if node != now.me:
            now.report(Arrived(node, address))
    now.report(Entered(admitted.epoch))
    return True


def go_astray(now: Step) -> None:
    """Hear that whom this process turned to cannot help."""
    state = now.state
    contact = state.contact
    assert contact is not None
    # What was answered to a repair counts no more, since this process had nothing; but what was agreed to does.
    promised = max((one.ballot for one in state.agreements), default=NOBODY)
    state.role = Role.OUTSIDE
    state.contact = None
    state.promised = promised
    now.report(Astray(contact))
    consider_going(now)


def on_stray(now: Step, sender: NodeId) -> bool:
    """Hear that another process takes no part: whom it turned to, or (returned) who was to repair."""
    state = now.state
    if state.role is Role.ENTERING and sender == state.contact and state.promised == NOBODY:
        go_astray(now)
    elif state.role is Role.INSIDE:
        state.unfit = state.unfit | {sender}
        state.has_resigned = state.has_resigned and state.founder != now.me
        return True
    return False


def forget_knock(now: Step, node: NodeId) -> None:
    """Pass the wish of a new process on no more."""
    state = now.state
    if node in state.knocks:
        state.knocks = _without(state.knocks, node)


# ------------------------------------------------------------------------------------------------------ going


def on_go(now: Step) -> None:
    """Wish to go."""
    if now.state.role is not Role.OVER:
        now.state.is_going = True
        consider_going(now)


def consider_going(now: Step) -> None:
    """Do what is to be done next: leave the resources, have another founder, say that all is done."""
    state = now.state
    if not state.is_going:
        return
    if state.role is Role.OUTSIDE or (state.is_running and not others(now)):
        depart(now)
    elif not state.is_running or state.has_resigned:
        return
    elif state.founder == now.me:
        charge_another(now)
    elif not leave_all(now):
        say_goodbye(now)


def charge_another(now: Step) -> None:
    """Have another process become the founder; if none can, this one stays until one can, or all have gone."""
    state = now.state
    able = others(now) - state.unfit - state.suspects - state.goers - frozenset(state.noting)
    if able:
        state.has_resigned = True
        now.send(min(able), Charge())


def leave_all(now: Step) -> bool:
    """Leave all resources, and say whether one is left."""
    state = now.state
    state.is_going = False
    for resource, part in sorted(state.resources.items()):
        if type(part.phase) is not Out and part.departure is None:
            request(now, resource, Leave())
    state.is_going = True
    return any(type(part.phase) is not Out for part in state.resources.values())


def say_goodbye(now: Step) -> None:
    """Have everybody know that this process goes."""
    state = now.state
    to = others(now) - {state.founder}
    state.has_resigned = True
    state.noting = {**state.noting, now.me: to}
    for node in sorted(to):
        now.send(node, Bye(state.epoch))
    if not to:
        ask_to_go(now)


def on_bye(now: Step, sender: NodeId, bye: Bye) -> None:
    """Count on a process no more; who is about to come in hears it before it hears who is in."""
    state = now.state
    if state.role is Role.ENTERING and not state.is_waiting:
        state.goers = state.goers | {sender}
        now.send(sender, Noted(bye.epoch, sender))
    elif is_now(now, sender, bye.epoch, bye):
        count_out(now, sender)
        now.send(sender, Noted(bye.epoch, sender))


def ask_to_go(now: Step) -> None:
    """Have the founder let this process go."""
    state = now.state
    state.noting = _without(state.noting, now.me)
    now.send(state.founder, Going(state.epoch, tuple(sorted(others(now)))))


def on_going(now: Step, sender: NodeId, going: Going) -> None:
    """Let a process go when everybody knows; who has come meanwhile may not."""
    state = now.state
    if gate(now, sender, going.epoch) is Gate.TAKE and state.founder == now.me and sender not in state.goers:
        state.goers = state.goers | {sender}
        have_noted(now, sender, Went(state.epoch, sender), frozenset(going.noted))


def on_went(now: Step, sender: NodeId, went: Went) -> None:
    """Count on a process no more."""
    if is_now(now, sender, went.epoch, went):
        count_out(now, went.goer)
        now.send(sender, Noted(went.epoch, went.goer))


def count_out(now: Step, goer: NodeId) -> None:
    """Count on a process no more."""
    state = now.state
    if goer in state.members:
        state.members = _without(state.members, goer)
        now.report(Gone(goer))


def on_farewell(now: Step, sender: NodeId, farewell: Farewell) -> None:
    """Go."""
    if now.state.role is Role.INSIDE and farewell.epoch == now.state.epoch:
        now.send(sender, Noted(farewell.epoch, now.me))
        depart(now)


def depart(now: Step) -> None:
    """Take no part any more."""
    end(now)
    now.report(Departed())


def end(now: Step) -> None:
    """Be over, and send those away who had turned to this process."""
    for node, address in sorted(now.state.knocks.items()):
        now.report(Arrived(node, address))
        now.send(node, Stray())
    now.become(SpaceState(Role.OVER, watched=now.state.watched))


def forget_leaver(now: Step, node: NodeId) -> None:
    """Hear that a process that was let go has gone."""
    state = now.state
    if node in state.leavers:
        state.leavers = state.leavers - {node}
        now.report(Gone(node))


# --------------------------------------------------------------------------------------------------- questions


def is_now(now: Step, sender: NodeId, epoch: Ballot, message: Came | Went | Bye) -> bool:
    """Return whether a message is of this epoch; if it is of the next, it is kept."""
    found = gate(now, sender, epoch)
    if found is Gate.KEEP:
        now.state.early = (*now.state.early, (sender, message))
    return found is Gate.TAKE


def fence(now: Step, node: NodeId) -> None:
    """Tell a process that the others went on without it."""
    now.send(node, Fenced(now.state.epoch))


def on_fenced(now: Step, epoch: Ballot) -> None:
    """Take no part any more, since the others believe this process to be dead; a new one has to try again."""
    state = now.state
    if state.role is Role.ENTERING:
        go_astray(now)
    elif state.role is Role.INSIDE and (epoch > state.epoch or is_gone(now)):
        be_expelled(now)


def is_gone(now: Step) -> bool:
    """Whether this process has told that it has left all resources, and only waits to be let go."""
    return now.state.has_resigned and now.state.founder != now.me


def be_expelled(now: Step) -> None:
    """Forget everything; or if nothing is left, go."""
    if is_gone(now):
        depart(now)
        return
    end(now)
    now.report(Expelled())


def _without(known: Mapping[NodeId, _Value], node: NodeId) -> dict[NodeId, _Value]:
    return {one: value for one, value in known.items() if one != node}


__all__ = ["OF_RESOURCE"]
