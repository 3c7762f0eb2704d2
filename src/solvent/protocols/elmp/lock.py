"""The lock: the queue of those who wait for the token, the token, the claims that it lets in, and where the data is.

**The queue** is a doubly linked list. A place belongs to one process and knows who comes next and who comes before. The
root knows the last one and gives turns one after the other; it tells the last place what comes next (`Link`). The token
goes from place to place; `next` alone decides where, and a token that is under way is never called back. When nobody
comes next it rests in the last place, and whoever has that may use it again without asking anybody.

A claim that is withdrawn leaves a place that is nobody's. It is taken out of the list by its predecessor, at one
moment: until then the token may still come, and is passed on at once. That one place at a time changes what comes next
is what keeps neighbours that withdraw together from tearing the list:

- who has asked to be passed over passes nobody over itself, since the answer will change who comes next to whom;
- who is passed over because its predecessor changed asks the new one;
- who has got a new `next` asks to be passed over only when that one knows it (`Relinked`), so that it hears of its
  predecessors in the order in which they come to be that.

The last place of all stays until something comes after it: somebody must know the end of the queue. If who has it wants
to leave, the root puts a place of its own there (see `tree`).

**Claims.** A claim of the whole resource, exclusively, keeps the token until it is released. Any other claim (to read,
or of a part) is let in when the token comes, and the token goes on at once: it carries what was let in (`active`), in
order. A claim waits for those before it that it cannot be held together with, and for no others: it asks each to say
when it is over (`Await`, `Done`). So what does not conflict is held at the same time, and what does is held in the
order of turns. The token forgets claims that are over when it comes by their process, or when a claim of the whole has
waited for all.

**Data.** The token says where the current version is, and whether a claim was let in since that may change a part of
it. What is changed under such a claim is brought to the holder's host before the claim is over: so whoever was granted
anything finds all of it there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp.messages import (
    Await,
    Done,
    Given,
    Link,
    Own,
    Ref,
    Relink,
    Relinked,
    Taken,
    Token,
    Unlink,
    Unlinked,
    Won,
)
from solvent.protocols.elmp.state import ENTRUSTED, Requesting, Use
from solvent.protocols.elmp.vocabulary import (
    WHOLE,
    Claim,
    Data,
    Dropped,
    Entrusted,
    Fetched,
    Granted,
    Queued,
    Recalled,
)
from solvent.protocols.machine import CancelTimer, Report, Send

if TYPE_CHECKING:
    from solvent.protocols.elmp.messages import Entry
    from solvent.protocols.elmp.state import ElmpState, Place, Step
    from solvent.protocols.machine import NodeId

PATIENCE = "elmp:patience:"
"""The timers of claims that wait for so long only; the handle follows."""


def place_of(state: ElmpState, turn: int) -> Place | None:
    """Return the place with a turn, if it is here."""
    for one in state.places:
        if one.turn == turn:
            return one
    return None


def put(now: Step, place: Place) -> None:
    """Keep a place as it is now."""
    state, turn = now.state, place.turn
    places = state.places
    state.latest = max(state.latest, turn)
    if not places or (len(places) == 1 and places[0].turn == turn):
        state.places = (place,)
    else:
        state.places = tuple(sorted([place, *_others(places, turn)], key=_by_turn))


def remove(now: Step, turn: int) -> None:
    """Have a place no longer."""
    places = now.state.places
    now.state.places = () if len(places) == 1 and places[0].turn == turn else tuple(_others(places, turn))


def known_place(now: Step, turn: int) -> Place:
    """Return the place with a turn; if nobody has told of it yet, it is that of the request under way."""
    state = now.state
    place = place_of(state, turn)
    if place is not None:
        return place
    asking = place_of(state, 0)
    assert asking is not None
    remove(now, 0)
    place = replace(asking, turn=turn)
    put(now, place)
    if type(state.phase) is Requesting:
        state.phase = replace(state.phase, turn=turn)
    if place.handle is not None:
        now.report(Queued(place.handle, turn))
    return place


# ------------------------------------------------------------------------------------------------------ the list


def append(now: Step, first: Ref, last: Ref) -> None:
    """Put places at the end of the queue; of the first its process knows, or is told, what comes before."""
    state = now.state
    assert state.tail is not None
    (to, turn), is_untold, state.tail = state.tail, is_last_untold(state), last
    if to == now.me:
        on_link(now, Link(turn, first))
    elif is_untold:
        *others, given = state.untold
        state.untold = tuple(others)
        now.send(to, Won((replace(given, next=first),)))
    else:
        now.send(to, Link(turn, first))


def on_link(now: Step, message: Link, trail: tuple[Ref, ...] | None = None) -> None:
    """Know who comes next; if the token rests here, it goes there."""
    place = replace(known_place(now, message.turn), next=message.next, trail=trail)
    put(now, place)
    go_on(now, place)
    if place.early is not None:
        on_unlink(now, place.early)


def appended(now: Step, given: Given) -> None:
    """Hear of one's place in the queue, and of who comes next if that is known already.

    The token, or word of somebody beside it in the list, may have been faster; the token may even be gone again.
    """
    state = now.state
    place, turn = place_of(state, given.turn), given.turn
    if place is None:
        if given.number != state.asks or place_of(state, 0) is None:
            return
        place = known_place(now, turn)
    if place.predecessor is None and not place.has_token:
        place = replace(place, predecessor=given.predecessor)
        put(now, place)
        go_on(now, place)
    if given.next is not None and place.next is None:
        on_link(now, Link(turn, given.next))


def go_on(now: Step, place: Place) -> None:
    """Pass the token on from a place that is nobody's, or have the place passed over, as far as that can be now."""
    if place.handle is not None or place.next is None:
        return
    if place.has_token:
        pass_on(now, place)
    elif place.predecessor is not None and not (place.is_kept or place.is_linking or place.is_unlinking):
        to, turn = place.predecessor
        tell_all(now)
        put(now, replace(place, is_unlinking=True, trail=None))
        now.send(to, Unlink(turn, (now.me, place.turn), place.next))


def on_unlink(now: Step, message: Unlink) -> None:
    """Pass a place over; unless the token is on its way there, or this place itself is being passed over."""
    state = now.state
    place = place_of(state, message.turn)
    if place is None and message.turn > state.latest and place_of(state, 0) is not None:
        place = known_place(now, message.turn)
    if place is None or place.is_unlinking:
        return
    if place.next is None:
        put(now, replace(place, early=message))
    elif place.next == message.gone:
        after, trail = following(place.next[1], message.next, place.trail)
        put(now, replace(place, next=after, trail=trail, is_linking=True, early=None))
        to, turn = message.next
        now.send(to, Relink(turn, (now.me, place.turn)))
        now.send(message.gone[0], Unlinked(message.gone[1]))


def on_unlinked(now: Step, message: Unlinked) -> None:
    """Have a place no longer."""
    assert place_of(now.state, message.turn) is not None
    remove(now, message.turn)


def on_relink(now: Step, message: Relink) -> None:
    """Know another predecessor, and ask it if the last one was asked in vain."""
    place = replace(known_place(now, message.turn), predecessor=message.predecessor, is_unlinking=False)
    put(now, place)
    to, turn = message.predecessor
    now.send(to, Relinked(turn))
    go_on(now, place)


def on_relinked(now: Step, message: Relinked) -> None:
    """Hear that who comes next knows it."""
    place = place_of(now.state, message.turn)
    # The token may have come and gone meanwhile, and the place with it.
    if place is not None:
        place = replace(place, is_linking=False)
        put(now, place)
        go_on(now, place)


# ----------------------------------------------------------------------------------------------------- the trail


def is_last_untold(state: ElmpState) -> bool:
    """Whether the process that has the last place has not been told of it; only the root knows."""
    return bool(state.untold) and (state.untold[-1].requester, state.untold[-1].turn) == state.tail


def extend_trail(now: Step, given: Given) -> bool:
    """Put a place at the end of the queue without telling anybody, since the token will; return whether that can be.

    It can be if all between the place of this process, the root, and the end of the queue are known here.
    """
    state, untold = now.state, now.state.untold
    assert state.tail is not None
    (last, turn), ref = state.tail, (given.requester, given.turn)
    if last == now.me:
        place = place_of(state, turn)
        if place is None:
            return False
        state.untold, state.tail = (*untold, given), ref
        on_link(now, Link(turn, ref), ())
        return True
    if not is_last_untold(state):
        return False
    for place in state.places:
        trail, after = place.trail, place.next
        if trail is not None and after is not None and after[1] + len(trail) == turn:
            if len(trail) >= now.config.max_trail:
                return False
            state.untold, state.tail = (*untold[:-1], replace(untold[-1], next=ref), given), ref
            put(now, replace(place, trail=(*trail, given.requester)))
            return True
    return False


def tell_all(now: Step) -> None:
    """Tell everybody who may not know it of its place, and of who comes next if that is known."""
    state = now.state
    untold, state.untold = state.untold, ()
    for given in untold:
        now.send(given.requester, Won((given,)))
    if any(one.trail is not None for one in state.places):
        state.places = tuple(replace(one, trail=None) for one in state.places)


def tell(now: Step, node: NodeId) -> None:
    """Tell one process of its place."""
    for given in now.state.untold:
        if given.requester == node:
            forget_untold(now, node)
            now.send(node, Won((given,)))
            return


def forget_untold(now: Step, node: NodeId) -> None:
    """Have nothing to tell a process any more."""
    untold = now.state.untold
    for number, given in enumerate(untold):
        if given.requester == node:
            # It is mostly one of the first of many, and the only one.
            now.state.untold = untold[:number] + untold[number + 1 :]
            return


def following(
    turn: int, known: Ref | None, trail: tuple[NodeId, ...] | None
) -> tuple[Ref | None, tuple[NodeId, ...] | None]:
    """Return who comes next, and the trail behind that: of who is known to come next, and the trail behind a turn.

    The trail may not know that others were passed over.
    """
    if trail is None:
        return known, None
    if known is None:
        return ((trail[0], turn + 1), trail[1:]) if trail else (None, None)
    behind = known[1] - turn
    return known, trail[behind:] if trail[behind - 1 : behind] == known[:1] else None


def _others(places: tuple[Place, ...], turn: int) -> list[Place]:
    return [one for one in places if one.turn != turn]


def _by_turn(place: Place) -> int:
    """A request under way comes last."""
    return place.turn or 1 << 62


# ----------------------------------------------------------------------------------------------------- the token


def on_token(now: Step, message: Token) -> bool:
    """Let the claim in, or if it was withdrawn let the token rest or pass it on.

    Return whether this process has learned its place by it, since nobody else tells of it.
    """
    state, data, active = now.state, message.data, message.active
    if active:
        uses = {one.number for one in state.uses}
        active = tuple(one for one in active if one[0] != now.me or one[1] in uses)
    state.is_listed = bool(active) and any(one[0] == now.me for one in active)
    if data is not None and data.holder != now.me:
        # Word of who has taken the data may be slower.
        state.keeps = None
    turn, phase = message.turn, state.phase
    # Whether nobody else tells of this place.
    is_told = message.trail is not None and type(phase) is Requesting and phase.can_wait
    place = place_of(state, turn)
    if place is None:
        # Word of the place itself may be slower, too; that it is granted says enough.
        place = state.places[-1]
        assert not place.turn
        state.places = state.places[:-1]
        if type(phase) is Requesting and not is_told:
            state.phase = replace(phase, turn=turn)
    elif is_told and type(phase) is Requesting:
        is_told = phase.turn == turn
    after, trail = place.next, place.trail
    if trail is None:
        after, trail = following(turn, after, message.trail)
    place = replace(
        place, turn=turn, predecessor=None, has_token=True, data=data, active=active, next=after, trail=trail
    )
    put(now, place)
    if place.early is not None and message.trail is not None:
        place = without_early(now, place)
    if place.handle is None:
        pass_on(now, place)
    else:
        let_in(now, place, place.handle, place.claim)
    return is_told


def without_early(now: Step, place: Place) -> Place:
    """Pass over who comes next if it has asked for that before this process knew it."""
    if place.next is None:
        return place
    assert place.early is not None
    on_unlink(now, place.early)
    found = place_of(now.state, place.turn)
    assert found is not None
    return found


def let_in(now: Step, place: Place, handle: int, claim: Claim) -> None:
    """Let a claim in that has the token, and wait for those that it excludes."""
    state = now.state
    state.used = number = state.used + 1
    use = Use(number, handle, claim, place.turn, place.data, is_held=True)
    if place.active:
        use = wait(now, use, place.active)
    if claim != WHOLE:
        state.is_listed = True
        # Known before the token goes, which is not asked to stay with it.
        put_use(now, use)
        data = place.data
        if data is not None and not claim.is_shared and not data.has_parts:
            data = replace(data, has_parts=True)
        pass_on(now, replace(place, data=data, active=(*place.active, (now.me, number, claim, place.turn))))
    grant(now, use)


def wait(now: Step, use: Use, active: tuple[Entry, ...]) -> Use:
    """Ask those who have a claim that excludes this one to say when it is over."""
    awaits = tuple(one[:2] for one in active if one[2].excludes(use.claim))
    use = replace(use, is_held=not awaits, awaits=awaits)
    ask(now, use)
    return use


def ask(now: Step, use: Use) -> None:
    """Ask all that a claim waits for, each process once."""
    found: dict[NodeId, tuple[int, ...]] = {}
    for node, number in use.awaits:
        found[node] = (*found.get(node, ()), number)
    for node, numbers in found.items():
        now.send(node, Await(numbers, (now.me, use.number)))


def pass_on(now: Step, place: Place) -> None:
    """Let the next one have the token; or let it rest, and have the data fetched if its holder wants to leave."""
    state, data, after = now.state, place.data, place.next
    if after is None:
        put(now, replace(place, handle=None))
        if data is not None and data.is_urgent and not has_all(now, place, data):
            let_in(now, place, ENTRUSTED, WHOLE)
        return
    places = state.places
    state.places = () if len(places) == 1 else tuple(_others(places, place.turn))
    if state.uses:
        recall(now)
    if state.departure is not None and data is not None and (data.holder == now.me or state.uses):
        data = replace(data, is_urgent=True)
        state.departure = replace(state.departure, is_entrusted=True)
    # Also to a place of its own by a message, which is not to overtake others.
    now.effects.append(Send(after[0], Token(after[1], data, place.active, place.trail)))


def recall(now: Step) -> None:
    """Have the data fetched no longer, before anybody else can get the token and change it."""
    state = now.state
    use = use_for(state, ENTRUSTED)
    if use is not None:
        state.uses = tuple(one for one in state.uses if one is not use)
        if use.is_held:
            now.report(Recalled())


def has_all(now: Step, place: Place, data: Data) -> bool:
    """Whether all data is here, or is being fetched."""
    is_here = data.holder == now.me and all(node == now.me for node, *_ in place.active)
    return is_here or use_for(now.state, ENTRUSTED) is not None


# -------------------------------------------------------------------------------------------------------- claims


def put_use(now: Step, use: Use) -> None:
    """Keep a claim as it is now."""
    state = now.state
    state.uses = (*uses_but(state, use.number), use) if state.uses else (use,)


def uses_but(state: ElmpState, number: int) -> tuple[Use, ...]:
    """Return all claims but one."""
    uses = state.uses
    if uses and uses[-1].number == number:
        return uses[:-1]
    return tuple([one for one in uses if one.number != number])


def use_of(state: ElmpState, number: int) -> Use | None:
    """Return the claim with a number, if it is here."""
    for one in reversed(state.uses):
        if one.number == number:
            return one
    return None


def use_for(state: ElmpState, handle: int) -> Use | None:
    """Return a user's claim that was let in."""
    for one in reversed(state.uses):
        if one.handle == handle:
            return one
    return None


def consider_granting(now: Step, use: Use) -> None:
    """Grant a claim that waits for nobody."""
    if not (use.awaits or use.is_held):
        grant(now, use)


def grant(now: Step, use: Use) -> None:
    """Keep a claim that was let in; if it waits for nobody, it is held."""
    handle = use.handle
    if use.awaits:
        put_use(now, use)
        return
    if not use.is_held:
        use = replace(use, is_held=True)
    state = now.state
    state.uses = (*uses_but(state, use.number), use) if state.uses else (use,)
    if handle == ENTRUSTED:
        assert use.data is not None
        now.report(Entrusted(use.data, use.number))
        return
    if state.timed:
        stop_timer(now, handle)
    now.effects.append(Report(Granted(handle, use.turn, use.data, use.number)))


def ask_again(now: Step, use: Use) -> None:
    """Ask those that a claim waits for, who may have forgotten it; or grant it if nobody is left."""
    ask(now, use)
    consider_granting(now, use)


def on_await(now: Step, message: Await) -> None:
    """Say when claims are over; of those that are, at once."""
    state = now.state
    (to, number), known = message.asker, {one.number for one in state.uses}
    over = tuple(one for one in message.uses if one not in known)
    if over:
        now.send(to, Done(number, now.me, over))
    if len(over) < len(message.uses):
        state.uses = tuple(
            replace(one, askers=(*one.askers, message.asker)) if one.number in message.uses else one
            for one in state.uses
        )


def on_done(now: Step, message: Done) -> None:
    """Hear that other claims are over."""
    use = use_of(now.state, message.use)
    # It may have been withdrawn meanwhile.
    over = {(message.holder, one) for one in message.over}.intersection(use.awaits) if use is not None else ()
    if use is None or not over:
        return
    use = replace(use, awaits=tuple(one for one in use.awaits if one not in over))
    place = place_of(now.state, use.turn)
    if place is not None and place.has_token:
        put(now, replace(place, active=tuple(one for one in place.active if one[:2] not in over)))
    put_use(now, use)
    consider_granting(now, use)


def end(now: Step, use: Use) -> None:
    """Let a claim be over, and tell who waits for that."""
    uses = now.state.uses
    now.state.uses = () if len(uses) == 1 else uses_but(now.state, use.number)
    for to, number in use.askers:
        now.send(to, Done(number, now.me, (use.number,)))


# ------------------------------------------------------------------------------------------------------ the user


def on_timer(now: Step, name: str) -> None:
    """Withdraw a claim that has waited long enough."""
    handle = int(name.removeprefix(PATIENCE))
    # The timer may have fired in the moment in which it was stopped.
    if handle in now.state.timed:
        on_withdraw(now, handle)


def on_release(now: Step, handle: int, data: Data | None) -> None:
    """Let a claim be over; one that has kept the token passes it on first, since somebody waits for it."""
    use = use_for(now.state, handle)
    if use is None or not use.is_held:
        return
    if use.claim != WHOLE:
        end(now, use)
        return
    place = place_of(now.state, use.turn)
    assert place is not None
    old = place.data
    if data is not None:
        place = replace(place, data=data, active=())
        now.state.keeps = data.version if data.holder == now.me else None
        store(now, data)
    end(now, use)
    pass_on(now, place)
    if data is not None and old is not None:
        tell_taken(now, old, data.holder)


def on_withdraw(now: Step, handle: int) -> None:
    """Give up a claim, whether it waits for its turn, for others, or is held."""
    state = now.state
    mine = "request", handle
    kept = tuple(one for one in state.queue if not isinstance(one[1], Own) or (one[1].what, one[1].handle) != mine)
    use, place = use_for(state, handle), next((one for one in state.places if one.handle == handle), None)
    if len(kept) == len(state.queue) and use is None and place is None:
        return
    state.queue = kept
    stop_timer(now, handle)
    if use is not None:
        end(now, use)
    if place is not None:
        place = replace(place, handle=None)
        put(now, place)
        if place.has_token:
            pass_on(now, place)
        else:
            go_on(now, place)
    now.report(Dropped(handle))


def stop_timer(now: Step, handle: int) -> None:
    """Wait for ever, or no longer."""
    state = now.state
    if handle in state.timed:
        state.timed = tuple(one for one in state.timed if one != handle)
        now.effects.append(CancelTimer(f"{PATIENCE}{handle}"))


def on_fetched(now: Step, fetched: Fetched) -> None:
    """Be the holder of all data, as long as the claim for which it was fetched holds."""
    state = now.state
    use = use_of(state, fetched.use)
    place = place_of(state, use.turn) if use is not None and use.is_held and use.claim == WHOLE else None
    if use is None or place is None or not place.has_token or place.data is None:
        return
    old = place.data
    if old.version != fetched.version:
        return
    data = Data(old.version, now.me, fetched.details, has_parts=old.has_parts)
    store(now, data)
    put(now, replace(place, data=data, active=()))
    put_use(now, replace(use, data=data))
    state.keeps = old.version
    tell_taken(now, old, now.me)
    if use.handle == ENTRUSTED:
        end(now, use)


def tell_taken(now: Step, old: Data, holder: NodeId) -> None:
    """Tell who had the data that another one has it."""
    if old.holder not in (now.me, holder):
        now.send(old.holder, Taken(old.version))


def store(now: Step, data: Data) -> None:
    """Know the last version that was here."""
    state = now.state
    if data.holder == now.me and (state.stored is None or state.stored.version <= data.version):
        state.stored = data


def on_taken(now: Step, message: Taken) -> None:
    """Hear that the data is elsewhere; processes that share memory may have made a later version of it here."""
    state = now.state
    if state.keeps is not None and state.keeps <= message.version:
        state.keeps = None


__all__ = ["PATIENCE"]
