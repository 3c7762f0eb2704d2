"""The tree: requests climb to the root, processes change seats, come and go, and the tree is kept low.

Who is held, or busy with anything else, queues what comes, first in, first out (E7). Everybody is held in one order,
from below: a request holds its path upwards; the heir of a leaver stands by while that still passes on what comes by,
then the leaver itself is `Exiting`, then its parent agrees. So none of them wait for each other in a circle, but two
neighbours that both leave: of these the one with the lower rank goes first.

An exchange of seats: nothing that is under way to a seat may be lost or reach who has left it. Therefore both tell
their children whom to follow and wait until each has said that it does: channels keep their order, so nothing that a
child said to its former parent is under way any more (E10). What the new children say meanwhile is kept (`early`).

    upper u     Follow to its children; when all followed: Upper to l           ... Lower: sits
    lower l                      Follow to its children; when all followed and Upper is there: sits, Lower to u

Nobody else moves meanwhile: everybody from the lower seat's parent up to the upper seat is held for the request, or the
upper seat's parent is blocked until the heir has settled. Departures, insertions and the balance of the tree are
described in docs/explanation/elmp.md.
"""

from __future__ import annotations

from bisect import bisect_left
from math import log2
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.elmp import lock
from solvent.protocols.elmp.messages import (
    Adopt,
    Agreed,
    Asking,
    Attach,
    Climb,
    Enter,
    Exchange,
    Follow,
    Followed,
    Freed,
    Gather,
    Gathered,
    Given,
    Hello,
    Leaving,
    Lower,
    Own,
    Ranked,
    Resized,
    Rise,
    Seat,
    Seated,
    Settled,
    Stand,
    Standing,
    Surrender,
    Unknown,
    Upper,
    Welcome,
    Won,
)
from solvent.protocols.elmp.state import (
    ENTRUSTED,
    IDLE,
    Blocked,
    Busy,
    Departure,
    Exiting,
    Gathering,
    Idle,
    Joining,
    Out,
    Place,
    Requesting,
    Swap,
)
from solvent.protocols.elmp.vocabulary import WHOLE, Astray, Claim, Dropped, Joined, Left, Queued, Request
from solvent.protocols.machine import Send, SetTimer

if TYPE_CHECKING:
    from solvent.protocols.elmp.messages import Child, ElmpMessage, Waiting
    from solvent.protocols.elmp.state import ElmpState, Step
    from solvent.protocols.machine import NodeId

_SHAPELESS = (Out, Joining, Requesting, Exiting)
LEAF = (0, 1)
"""Height and weight of who has no children."""


# ------------------------------------------------------------------------------------------------------- the seat


def sit(state: ElmpState, seat: Seat) -> None:
    """Take a seat, with all that waits there."""
    state.parent, state.children, state.told, state.queue = seat.parent, seat.children, seat.told, seat.queue
    state.ranks, state.turns, state.tail, state.untold = seat.ranks, seat.turns, seat.tail, seat.untold


def given_up(state: ElmpState, parent: NodeId | None) -> Seat:
    """Return the seat below a parent as it is handed over, with what waits for whoever has it."""
    queue = tuple(one for one in state.queue if type(one[1]) is not Own)
    return Seat(parent, state.children, state.told, queue, state.ranks, state.turns, state.tail, state.untold)


def own_wishes(state: ElmpState) -> tuple[Waiting, ...]:
    """Return what this process itself waits for, whatever its seat."""
    return tuple(one for one in state.queue if type(one[1]) is Own and one[1].what != "rebuild")


def enqueue(now: Step, what: str) -> None:
    """Queue up for something of one's own, once."""
    queue = now.state.queue
    if not any(type(message) is Own and message.what == what for _, message in queue):
        now.state.queue = (*queue, (now.me, Own(what)))


def forget(now: Step, sender: NodeId, kind: type) -> None:
    """Take what a process said out of the queue."""
    now.state.queue = tuple(one for one in now.state.queue if one[0] != sender or type(one[1]) is not kind)


def has_child(state: ElmpState, node: NodeId) -> bool:
    """Return whether a process is a child."""
    place = bisect_left(state.children, (node,))
    return place < len(state.children) and state.children[place][0] == node


def put_child(now: Step, node: NodeId, height: int, weight: int) -> None:
    """Have a child with a tree of this size below it."""
    now.state.children = tuple(sorted([*other_children(now.state, node), (node, height, weight)]))
    now.is_reshaped = True


def other_children(state: ElmpState, node: NodeId) -> tuple[Child, ...]:
    """Return the children but one."""
    return tuple(one for one in state.children if one[0] != node)


def rename_child(now: Step, old: NodeId, new: NodeId) -> None:
    """Let another process have a child's seat."""
    _, height, weight = child_of(now.state, old)
    now.state.children = other_children(now.state, old)
    put_child(now, new, height, weight)


def child_of(state: ElmpState, node: NodeId) -> Child:
    """Return a child with the size of the tree below it."""
    return next(one for one in state.children if one[0] == node)


def size_of(children: tuple[Child, ...]) -> tuple[int, int]:
    """Return the height and the weight of the tree below a process with these children, the process among it."""
    if not children:
        return LEAF
    return 1 + max(one[1] for one in children), 1 + sum(one[2] for one in children)


def reset_departure(now: Step) -> None:
    """Have no heir any more, and look for one again."""
    departure = now.state.departure
    if departure is not None:
        now.state.departure = Departure(is_entrusted=departure.is_entrusted)


# ----------------------------------------------------------------------------------------------------- requests


def on_request(now: Step, request: Request) -> None:
    """Ask for a place for a claim, or queue up for that; a token that rests here may be had at once."""
    state, handle = now.state, request.handle
    if type(state.phase) is Out or state.departure is not None:
        now.report(Dropped(handle))
        return
    resting = None
    if state.uses or state.places or state.queue:
        use = lock.use_for(state, handle)
        if use is not None and use.is_held:
            return
        lock.on_withdraw(now, handle)
        resting = next((one for one in state.places if one.has_token and one.handle is None), None)
        # A token that waits for the data to be fetched is not to be had.
        if resting is not None and not (resting.data is not None and resting.data.is_urgent):
            resting = replace(resting, handle=handle)
            lock.put(now, resting)
            lock.let_in(now, resting, handle, request.claim)
        else:
            resting = None
    if request.patience and ((use := lock.use_for(state, handle)) is None or not use.is_held):
        state.timed = (*state.timed, handle)
        now.effects.append(SetTimer(f"{lock.PATIENCE}{handle}", request.patience))
    if resting is not None:
        return
    if type(state.phase) is Idle and not state.queue:
        begin_request(now, handle, request.claim)
    else:
        state.queue = (*state.queue, (now.me, Own("request", handle, request.claim)))


def begin_request(now: Step, handle: int | None, claim: Claim = WHOLE) -> None:
    """Ask for a place in the queue, for a claim or, without one, for the token; the root gives itself one."""
    state = now.state
    is_kept = handle is None
    if not state.ranks:
        state.places = (*state.places, Place(0, handle, claim, is_kept=is_kept))
        state.asks += 1
        climb(now)
        return
    assert state.tail is not None
    state.turns += 1
    lock.put(now, Place(state.turns, handle, claim, predecessor=state.tail, is_kept=is_kept))
    if handle is not None:
        now.report(Queued(handle, state.turns))
    lock.append(now, (now.me, state.turns), (now.me, state.turns))


def climb(now: Step) -> None:
    """Send the request up."""
    state = now.state
    me, number, parent = now.me, state.asks, state.parent
    assert parent is not None
    # A leaf with nothing else to do; if the root changes seats each time, it hears of its place anyway.
    is_free = not state.children and not state.queue and state.departure is None
    can_wait = is_free and now.config.exchange_every > 1
    state.phase = Requesting(number, can_wait)
    now.effects.append(Send(parent, Climb((Asking(me, number, (me,), can_wait),))))


def consider_waiting(now: Step) -> None:
    """Ask the root for news if there is something else to do, or who comes next wants to be passed over."""
    state, phase = now.state, now.state.phase
    if type(phase) is not Requesting or not phase.can_wait:
        return
    is_wanted = bool(state.queue) or state.departure is not None
    for one in state.places:
        is_wanted |= one.early is not None
    if is_wanted:
        assert state.parent is not None
        state.phase = Requesting(phase.number)
        now.send(state.parent, Climb(()))


def on_impatience(now: Step, sender: NodeId) -> None:
    """Tell a child of its place; if its request still waits here, it will be told in time."""
    lock.tell(now, sender)
    now.state.queue = tuple(
        (node, Climb(tuple(replace(asking, can_wait=False) for asking in message.requests)))
        if node == sender and type(message) is Climb
        else (node, message)
        for node, message in now.state.queue
    )


def on_climb(now: Step, message: Climb) -> None:
    """Take all requests that wait together, and pass them on; or at the root put them into the queue."""
    state = now.state
    requests = message.requests
    if state.queue:
        requests += tuple(asking for _, other in state.queue if type(other) is Climb for asking in other.requests)
        state.queue = tuple(one for one in state.queue if type(one[1]) is not Climb)
    if state.ranks:
        enqueue_all(now, requests)
        return
    assert state.parent is not None
    state.phase = Busy(tuple((one.requester, one.number) for one in requests))
    now.send(state.parent, Climb(tuple(replace(one, path=(*one.path, now.me)) for one in requests)))


def enqueue_all(now: Step, requests: tuple[Asking, ...]) -> None:
    """Put requests into the queue, and now and then begin to change seats with the last: once for all of them.

    As few as possible are told of their places: the token tells those behind the root's own.
    """
    state, before, turn = now.state, now.state.tail, now.state.turns
    given: list[Given] = []
    assert before is not None
    for one in requests:
        # Whoever asks again knows the place that it had before.
        lock.forget_untold(now, one.requester)
    state.turns += len(requests)
    is_exchange = turn // now.config.exchange_every != state.turns // now.config.exchange_every
    for one in requests:
        turn += 1
        place = Given(one.requester, one.number, one.path, turn, before)
        before = one.requester, turn
        can_wait = one.can_wait and len(one.path) == 1 and not is_exchange
        if given or not can_wait or not lock.extend_trail(now, place):
            given.append(place)
    if not given:
        return
    refs = [(one.requester, one.turn) for one in given]
    lock.append(now, refs[0], refs[-1])
    *others, last = given
    places = [replace(one, next=after) for one, after in zip(others, refs[1:], strict=True)]
    if is_exchange:
        send_down(now, places)
        state.phase = Busy(((last.requester, last.number),), last.path)
        # The requester's parent is the second on the path; or this process itself.
        now.send(last.path[min(1, len(last.path) - 1)], Rise(last, now.me))
        begin_swap(now, last.requester, is_upper=True)
    elif can_wait:
        # It will hear of its place together with who comes after it: one message instead of two.
        state.untold = (*state.untold, last)
        send_down(now, places)
    else:
        send_down(now, [*places, last])


def send_down(now: Step, places: list[Given]) -> None:
    """Send news of places back along the paths of the requests, one message for each child."""
    ways: dict[NodeId, list[Given]] = {}
    for one in places:
        # At the root, which is not on the path, the way begins with the last.
        here = one.path.index(now.me) if now.me in one.path else len(one.path)
        ways.setdefault(one.path[here - 1], []).append(one)
    for node, below in ways.items():
        now.send(node, Won(tuple(below)))


def on_won(now: Step, message: Won) -> None:
    """Know one's own place in the queue, or pass the news on and be held for these requests no longer."""
    below = [one for one in message.places if one.requester != now.me]
    if below:
        send_down(now, below)
        let_go(now, {(one.requester, one.number) for one in below})
    for one in message.places:
        if one.requester == now.me:
            lock.appended(now, one)
            # The token may have been faster.
            if type(now.state.phase) is Requesting and now.state.phase.number == one.number:
                be_idle(now)


def be_idle(now: Step) -> None:
    """Have a place in the queue, or a seat that is not about to change, and take what came too early."""
    state = now.state
    state.phase = IDLE
    now.has_settled = True
    if state.children or state.told != LEAF:
        now.is_reshaped = True


def on_rise(now: Step, message: Rise) -> None:
    """Change seats with the root, or tell a child to."""
    state = now.state
    place, root = message.place, message.root
    if place.requester == now.me:
        lock.appended(now, place)
        state.phase = Requesting(place.number)
        begin_swap(now, root, is_upper=False)
        return
    rename_child(now, place.requester, root)
    if state.departure is not None and state.departure.heir == place.requester:
        state.departure = replace(state.departure, heir=root)
    now.send(place.requester, message)


def let_go(now: Step, requests: set[tuple[NodeId, int]]) -> None:
    """Be idle if this process is held for no other requests."""
    state = now.state
    if type(state.phase) is Busy:
        left = tuple(one for one in state.phase.requests if one not in requests)
        state.phase = replace(state.phase, requests=left) if left else IDLE


# -------------------------------------------------------------------------------------------- exchange of seats


def begin_swap(now: Step, other: NodeId, *, is_upper: bool) -> None:
    """Send the children after the other one."""
    state = now.state
    children = [one[0] for one in state.children if one[0] != other]
    upper = next((message for _, message in state.early if type(message) is Upper), None)
    state.early = tuple(one for one in state.early if one[1] is not upper)
    state.swap = Swap(other, is_upper, frozenset(children), upper=upper)
    # Only who has the seat now can be asked for news.
    lock.tell_all(now)
    # Whoever was to be the heir is a child of another now.
    reset_departure(now)
    for node in children:
        now.send(node, Follow(other))
    go_on_with_swap(now)


def on_follow(now: Step, sender: NodeId, message: Follow) -> None:
    """Have another parent, whatever else is going on."""
    state = now.state
    state.parent = message.parent
    # A former parent needs no heir here.
    forget(now, sender, Stand)
    if state.phase == Blocked(sender):
        state.phase = IDLE
    now.send(sender, Followed())


def on_followed(now: Step, sender: NodeId) -> None:
    """Count a child that follows the other one."""
    state = now.state
    assert state.swap is not None
    state.swap = replace(state.swap, waiting=state.swap.waiting - {sender})
    go_on_with_swap(now)


def go_on_with_swap(now: Step) -> None:
    """Hand the seat over when nothing is under way to it any more."""
    swap = now.state.swap
    assert swap is not None
    if swap.waiting or swap.is_standing:
        return
    if swap.is_upper:
        hand_down(now, swap)
    elif swap.upper is not None:
        hand_up(now, swap, swap.upper)


def hand_down(now: Step, swap: Swap) -> None:
    """Return the upper seat away."""
    state = now.state
    state.children = other_children(state, swap.other)
    now.send(swap.other, Upper(given_up(state, state.parent)))
    state.swap = replace(swap, is_standing=True)
    sit(state, Seat(None, queue=own_wishes(state)))
    now.is_reshaped = True


def on_upper(now: Step, sender: NodeId, message: Upper) -> None:
    """Keep the upper seat until this one can be handed over."""
    state = now.state
    if state.swap is None:
        # The news that it is to have it, which comes another way, is slower.
        state.early += ((sender, message),)
        return
    state.swap = replace(state.swap, upper=message)
    go_on_with_swap(now)


def hand_up(now: Step, swap: Swap, upper: Upper) -> None:
    """Take the upper seat, and give the lower one away."""
    state = now.state
    other = swap.other
    # The other one has counted those it has sent down, also if they still wait here.
    told = (state.told[0], state.told[1] + sum(type(message) is Adopt for _, message in state.queue))
    is_adjacent = state.parent == other
    if is_adjacent:
        # It wanted this process for its heir and comes below it now.
        forget(now, other, Stand)
    now.send(other, Lower(given_up(state, now.me if is_adjacent else state.parent)))
    own = own_wishes(state)
    sit(state, upper.seat)
    now.is_reshaped = True
    state.queue += own
    if is_adjacent:
        put_child(now, other, *told)
    if type(state.phase) is Blocked and state.parent is not None:
        now.send(state.parent, Settled())
    end_swap(now)


def on_lower(now: Step, message: Lower) -> None:
    """Take the lower seat."""
    state = now.state
    own = own_wishes(state)
    sit(state, message.seat)
    now.is_reshaped = True
    state.queue += own
    if type(state.phase) is Busy:
        ((requester, number),) = state.phase.requests
        for node in state.phase.path[1:]:
            now.send(node, Freed(requester, number))
    end_swap(now)


def end_swap(now: Step) -> None:
    """Be idle on the new seat, and take what came too early."""
    now.state.swap = None
    be_idle(now)


# --------------------------------------------------------------------------------------------------- departures


def on_leave(now: Step) -> None:
    """Give up all claims, and wish to leave."""
    state = now.state
    if type(state.phase) is Out or state.departure is not None:
        return
    for _, message in list(state.queue):
        if getattr(message, "what", "") == "request":
            lock.on_withdraw(now, message.handle)  # type: ignore[union-attr]
    for handle in [*(one.handle for one in state.uses), *(one.handle for one in state.places)]:
        if handle is not None and handle != ENTRUSTED:
            lock.on_withdraw(now, handle)
    state.departure = Departure()


def may_leave(state: ElmpState) -> bool:
    """Whether neither the queue nor the data needs this process, or it may change seats with an heir."""
    if state.ranks:
        # The last of all takes the token along.
        has_all = bool(state.children) or any(place.has_token for place in state.places)
        return has_all and all(place.is_last and place.handle is None for place in state.places)
    return not state.places and not is_needed(state)


def is_needed(state: ElmpState) -> bool:
    """Whether data is here and nowhere else, or whoever has the token may still ask for a claim that was here."""
    return has_data(state) or state.is_listed


def has_data(state: ElmpState) -> bool:
    """Whether data is here and nowhere else."""
    return state.keeps is not None or bool(state.uses)


def consider_leaving(now: Step) -> None:
    """Queue up for leaving as soon as that is possible, and see that it becomes so."""
    state = now.state
    departure = state.departure
    if departure is None or type(state.phase) in (Exiting, Joining, Out) or state.swap or state.gathering:
        return
    if may_leave(state):
        is_free = departure.heir is None or departure.is_standing
        if is_free:
            enqueue(now, "exit")
    elif state.places:
        surrender(now)
    elif not (departure.is_entrusted and has_data(state)):
        # Perhaps nobody will ever fetch the data: it takes the token to have somebody do it. The token also
        # has to forget the claims that were here, so that nobody waits for an answer from who has left.
        enqueue(now, "keep")


def surrender(now: Step) -> None:
    """Give up places that are nobody's; the root puts another behind the last, so that it can be passed over."""
    state = now.state
    has_errand = is_needed(state)
    for place in state.places:
        if place.is_kept and not has_errand:
            # Somebody has fetched the data meanwhile.
            given_up = replace(place, is_kept=False)
            lock.put(now, given_up)
            lock.go_on(now, given_up)
    if state.ranks or state.parent is None:
        return
    for place in state.places:
        if place.is_kept and not place.has_token:
            continue
        if place.is_last and place.handle is None and not place.is_surrendered:
            lock.put(now, replace(place, is_surrendered=True))
            now.send(state.parent, Surrender((now.me, place.turn)))


def on_surrender(now: Step, message: Surrender) -> None:
    """Put a place behind the last of the queue if that wants to leave; if it is not the last, one is there."""
    state = now.state
    if not state.ranks:
        assert state.parent is not None
        now.send(state.parent, message)
    elif state.tail == message.place:
        state.turns += 1
        lock.put(now, Place(state.turns, None, predecessor=state.tail))
        lock.append(now, (now.me, state.turns), (now.me, state.turns))


def begin_keeping(now: Step) -> None:
    """Ask for the token to hand the data over with it; unless somebody has fetched the data meanwhile."""
    if not may_leave(now.state) and not now.state.places:
        begin_request(now, None)


def begin_exit(now: Step) -> None:
    """Have an heir stand by, and go on passing on what comes by; or leave, if it does or none is needed."""
    state = now.state
    if not may_leave(state):
        return
    assert state.departure is not None
    if state.children and not state.departure.is_standing:
        heir, *_ = max(state.children, key=lambda one: (one[1], one[2], -one[0]))
        state.departure = replace(state.departure, heir=heir)
        now.send(heir, Stand(state.rank))
        return
    state.phase = Exiting()
    if state.parent is None:
        on_agreed(now)
    else:
        now.send(state.parent, Leaving(state.rank, state.departure.heir))
        consider_standing(now)


def on_standing(now: Step, sender: NodeId) -> None:
    """Hear that the heir stands by; if it wanted to leave itself, it waits."""
    state = now.state
    if state.departure is not None and state.departure.heir == sender:
        state.departure = replace(state.departure, is_standing=True)
    forget(now, sender, Leaving)


def on_agreed(now: Step) -> None:
    """Go, or change seats with the heir."""
    departure = now.state.departure
    assert departure is not None
    if departure.heir is None:
        go(now)
    else:
        now.send(departure.heir, Exchange())
        begin_swap(now, departure.heir, is_upper=True)


def go(now: Step) -> None:
    """Leave; new processes that were to get a seat here are the parent's now."""
    state = now.state
    for _, message in state.queue:
        if isinstance(message, Adopt | Attach | Enter):
            forward_newcomer(now, message)
        elif isinstance(message, Surrender) and state.parent is not None:
            now.send(state.parent, message)
    state.phase, state.departure = Out(), None
    sit(state, Seat(None))
    now.is_reshaped = True
    state.places, state.uses, state.keeps, state.is_listed = (), (), None, False
    now.report(Left())


def forward_newcomer(now: Step, message: Adopt | Attach | Enter) -> None:
    """Let the parent see to a new process; if there is none, nobody can."""
    state = now.state
    if state.parent is None:
        now.send(message.newcomer, Unknown())
    elif isinstance(message, Enter):
        now.send(state.parent, message)
    else:
        now.send(state.parent, Attach(message.newcomer, message.rank))


def on_stand(now: Step, sender: NodeId) -> None:
    """Stand by for the parent."""
    assert sender == now.state.parent
    now.state.phase = Blocked(sender)
    now.send(sender, Standing())


def consider_standing(now: Step) -> None:
    """Stand by although this process is leaving itself, if the parent comes first."""
    state = now.state
    if type(state.phase) is not Exiting or state.parent is None or state.swap is not None:
        return
    for one in state.queue:
        if type(one[1]) is Stand and one[1].rank < state.rank:
            state.queue = tuple(other for other in state.queue if other is not one)
            now.is_reshaped = True
            on_stand(now, one[0])
            return


def must_wait(state: ElmpState, sender: NodeId, message: Any) -> bool:
    """Whether of two neighbours that leave the other one has to wait, since this one has the lower rank."""
    departure = state.departure
    if departure is None:
        return False
    if isinstance(message, Stand):
        return state.rank < message.rank
    return isinstance(message, Leaving) and departure.heir == sender and state.rank < message.rank


def on_leaving(now: Step, sender: NodeId, message: Leaving) -> None:
    """Let a child go, or take its heir for it."""
    state = now.state
    assert has_child(state, sender)
    if state.departure is not None and state.departure.heir == sender:
        state.departure = replace(state.departure, heir=message.heir)
    if message.heir is None:
        state.children = other_children(state, sender)
        lock.forget_untold(now, sender)
        now.is_reshaped = True
    else:
        rename_child(now, sender, message.heir)
        state.phase = Blocked(message.heir)
    now.send(sender, Agreed())


def on_settled(now: Step, sender: NodeId) -> None:
    """Be held no longer."""
    assert now.state.phase == Blocked(sender)
    be_idle(now)


# --------------------------------------------------------------------------------------------------- insertions


def on_join(now: Step, known: NodeId) -> None:
    """Say hello to a process that is known."""
    if type(now.state.phase) is Out:
        now.state.phase = Joining(known)
        now.send(known, Hello())


def on_enter(now: Step, message: Enter) -> None:
    """Send a new process up, or give it its rank."""
    state = now.state
    if not state.ranks:
        assert state.parent is not None
        now.send(state.parent, message)
        return
    state.ranks += 1
    if now.config.is_lazy:
        now.send(message.newcomer, Ranked(state.ranks))
    else:
        find_seat(now, message.newcomer, state.ranks)


def find_seat(now: Step, newcomer: NodeId, rank: int) -> None:
    """Take a new process for a child, or send it down to where fewest are."""
    if len(now.state.children) < now.config.order:
        put_child(now, newcomer, 0, 1)
        now.send(newcomer, Welcome(rank))
        return
    lightest, height, weight = min(now.state.children, key=lambda one: (one[2], one[1], one[0]))
    put_child(now, lightest, height, weight + 1)
    now.send(lightest, Adopt(newcomer, rank))


def on_outside(now: Step, sender: NodeId, message: ElmpMessage) -> None:
    """Take what comes to a process that takes no part (yet, or any more)."""
    state, phase = now.state, now.state.phase
    match message:
        case Hello():
            now.send(sender, Unknown())
        case Enter(newcomer) | Adopt(newcomer) | Attach(newcomer):
            now.send(newcomer, Unknown())
        case Ranked(rank) if type(phase) is Joining:
            now.send(phase.known, Attach(now.me, rank))
        case Welcome(rank) if type(phase) is Joining:
            state.parent, state.rank, state.phase = sender, rank, IDLE
            now.report(Joined(rank))
        case Unknown() if type(phase) is Joining:
            now.report(Astray(phase.known))
            give_up(now)
        case _:
            # Said to who had the seat before it was left.
            return


def give_up(now: Step) -> None:
    """Take no part after all, and drop what was wanted for when it would."""
    state = now.state
    for _, message in state.queue:
        if isinstance(message, Own):
            now.report(Dropped(message.handle))
    state.queue = ()
    if state.departure is not None:
        now.report(Left())
    state.phase, state.departure = Out(), None


# ------------------------------------------------------------------------------------------------------ balance


def is_too_high(height: int, weight: int, slack: float) -> bool:
    """Return whether a tree of this weight should be lower."""
    return height > 0 and height > slack * log2(weight + 1)


def arranged(nodes: tuple[NodeId, ...], order: int) -> list[tuple[NodeId | None, tuple[Child, ...]]]:
    """Return each node its parent and its children in the lowest tree, the first one being the root."""
    count = len(nodes)
    sizes = [(0, 1)] * count
    children: list[tuple[Child, ...]] = [()] * count
    for place in range(count - 1, -1, -1):
        below = range(order * place + 1, min(order * place + order, count - 1) + 1)
        children[place] = tuple(sorted((nodes[one], *sizes[one]) for one in below))
        if below:
            sizes[place] = (1 + max(sizes[one][0] for one in below), 1 + sum(sizes[one][1] for one in below))
    return [(nodes[(place - 1) // order] if place else None, children[place]) for place in range(count)]


def on_resized(now: Step, sender: NodeId, message: Resized) -> None:
    """Know the size of the tree below a child."""
    put_child(now, sender, message.height, child_of(now.state, sender)[2] + message.change)


def consider_shape(now: Step) -> None:
    """Tell the parent of a new size, or queue up for building the tree below anew if it is too high."""
    state = now.state
    # The parent of who requests or leaves may have been told already who comes instead; that one will tell it.
    if type(state.phase) in _SHAPELESS or state.swap is not None or state.gathering is not None:
        return
    now.is_reshaped = False
    size = size_of(state.children)
    if is_too_high(*size, now.config.slack):
        enqueue(now, "rebuild")
    elif state.parent is not None and size != state.told:
        now.send(state.parent, Resized(size[0], size[1] - state.told[1]))
        state.told = size


def begin_rebuilding(now: Step) -> None:
    """Have everybody below do nothing else; unless the tree is low again."""
    if not is_too_high(*size_of(now.state.children), now.config.slack):
        return
    now.state.phase = Busy(((now.me, 0),))
    gather(now, is_top=True)


def gather(now: Step, *, is_top: bool) -> None:
    """Forget what comes from below, since it will begin again, and ask who is there."""
    state = now.state
    lost = (Climb, Leaving) if is_top else (Climb, Leaving, Stand)
    state.queue = tuple(one for one in state.queue if not isinstance(one[1], lost))
    if not is_top:
        # Whoever builds the tree anew counts only who has a seat in it.
        state.queue = tuple(
            (sender, Attach(message.newcomer, message.rank) if type(message) is Adopt else message)
            for sender, message in state.queue
        )
    reset_departure(now)
    state.gathering = Gathering(frozenset(one[0] for one in state.children), () if is_top else (now.me,), is_top)
    # Who is told to gather begins its request again unless it has heard of its place.
    lock.tell_all(now)
    for child in state.children:
        now.send(child[0], Gather())


def on_gather(now: Step, sender: NodeId) -> None:
    """Do nothing else until there is a new seat."""
    state = now.state
    assert state.swap is None
    assert sender == state.parent
    if type(state.phase) is Requesting:
        state.queue = ((now.me, Own("climb")), *state.queue)
    state.phase = Blocked(sender)
    gather(now, is_top=False)
    consider_gathered(now)


def on_gathered(now: Step, sender: NodeId, message: Gathered) -> None:
    """Count who is below a child."""
    gathering = now.state.gathering
    assert gathering is not None
    members = (*gathering.members, *message.members)
    now.state.gathering = replace(gathering, waiting=gathering.waiting - {sender}, members=members)
    consider_gathered(now)


def consider_gathered(now: Step) -> None:
    """Pass on who is below, or give everybody a new seat."""
    state = now.state
    gathering = state.gathering
    assert gathering is not None
    if gathering.waiting:
        return
    if not gathering.is_top:
        assert state.parent is not None
        now.send(state.parent, Gathered(gathering.members))
        return
    nodes = (now.me, *gathering.members)
    (_, mine), *others = arranged(nodes, now.config.order)
    for node, (parent, children) in zip(nodes[1:], others, strict=True):
        assert parent is not None
        now.send(node, Seated(parent, children))
    state.children = mine
    now.is_reshaped = True
    now.state.gathering = None
    be_idle(now)


def on_seated(now: Step, message: Seated) -> None:
    """Take the new seat."""
    state = now.state
    state.parent = message.parent
    state.children = message.children
    state.told = size_of(state.children)
    now.is_reshaped = True
    now.state.gathering = None
    be_idle(now)


__all__ = ["arranged", "is_too_high", "size_of"]
