"""ELMP as it must not be: one known fault each, for the checker to find.

The first eleven are what the paper prints, taken literally (E1 to E11 in docs/explanation/elmp.md). The others leave
out what our machine does, one thing at a time; the last ones where data is fetched.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.elmp import lock, process, tree
from solvent.protocols.elmp.messages import Climb, Done, Follow, Given, Lower, Token, Won
from solvent.protocols.elmp.state import Exiting, Idle, Out
from solvent.protocols.elmp.vocabulary import Granted, Leave, Request, Withdraw
from solvent.protocols.machine import Message, NodeId, Send
from solvent_lab.checker.registry import Variants
from solvent_lab.models.elmp_memory import BOTH_LEAVE, ONE_HOST, TWO_HOSTS
from solvent_lab.models.elmp_world import (
    ALL,
    FOUR,
    LAZY,
    ONCE,
    PARTS,
    READS,
    SELDOM,
    STAR,
    STAR_FOURTH,
    STAR_SELDOM,
    STRICT,
    THREAD,
    THREE,
    TWICE,
    Late,
    elmp,
    endless,
    join_at,
    timed,
    together,
    with_data,
)
from solvent_lab.variants import variant

if TYPE_CHECKING:
    from solvent.protocols.elmp.messages import Asking, Await, Entry, Ref, Relink, Rise, Upper
    from solvent.protocols.elmp.process import SeatMessage
    from solvent.protocols.elmp.state import ElmpState, Place, Step, Swap, Use
    from solvent.protocols.elmp.vocabulary import Claim, Fetched

BROKEN = Variants()

# ------------------------------------------------------------------------------------------------- as it is printed


@BROKEN.add(elmp, THREE, [(1, Request())])
@variant(tree, "hand_down")
def hands_over_no_children(hand_down: Any, now: Step, swap: Swap) -> None:
    """E1: the list of children is sent after it was emptied."""
    now.state.children = ()
    hand_down(now, swap)


@BROKEN.add(elmp, THREE, [(1, Request())])
@variant(tree, "hand_up")
def circle_of_parents(hand_up: Any, now: Step, swap: Swap, upper: Upper) -> None:
    """E2: the root gets the requester's parent, which it is itself if they were neighbours."""
    parent = now.state.parent
    hand_up(now, swap, upper)
    for place, effect in enumerate(now.effects):
        if isinstance(effect, Send) and isinstance(effect.message, Lower):
            now.effects[place] = Send(effect.to, Lower(replace(effect.message.seat, parent=parent)))


@BROKEN.add(elmp, THREAD, [(2, Request())])
@variant(tree, "on_rise")
def keeps_the_old_child(on_rise: Any, now: Step, message: Rise) -> None:
    """E3: the requester's old parent does not hear that it has another child."""
    if message.place.requester == now.me:
        on_rise(now, message)
    else:
        now.send(message.place.requester, message)


@BROKEN.add(elmp, (*FOUR, 3, 2), [(0, Leave()), (2, Leave())])
@variant(tree, "on_follow")
def knows_its_neighbours_once(on_follow: Any, now: Step, sender: NodeId, message: Follow) -> None:
    """E4: a process that leaves does not check again who its neighbours are."""
    parent = now.state.parent
    on_follow(now, sender, message)
    if now.state.departure is not None:
        now.state.parent = parent


@BROKEN.add(elmp, THREAD, [(0, Leave()), (2, Request())])
@variant(tree, "begin_exit")
def holds_itself_first(begin_exit: Any, now: Step) -> None:
    """E5: a process that leaves blocks requests while it waits for neighbours; a neighbour waits with a request."""
    begin_exit(now)
    state = now.state
    if type(state.phase) is Idle and state.departure is not None and state.departure.heir is not None:
        state.phase = Exiting()


@holds_itself_first.also(tree, "on_standing")
def _(on_standing: Any, now: Step, sender: NodeId) -> None:
    now.state.phase = Idle()
    on_standing(now, sender)


@BROKEN.add(elmp, THREE, [(1, Request()), (2, Request())])
@variant(tree, "on_follow")
def only_idle_ones_follow(on_follow: Any, now: Step, sender: NodeId, message: Follow) -> None:
    """E6: a child that is not idle gets no new parent before it is."""
    if type(now.state.phase) is Idle:
        on_follow(now, sender, message)
    else:
        now.state.early += ((sender, message),)


@only_idle_ones_follow.also(process, "settle")
def _(settle: Any, now: Step) -> None:
    settle(now)
    if type(now.state.phase) is Idle and any(isinstance(message, Follow) for _, message in now.state.early):
        now.has_settled = True
        settle(now)


class Refused(Message, frozen=True, gc=False):
    """A process on the path was not idle: begin again."""

    requester: NodeId
    number: int


@BROKEN.add(endless, THREE, (2, Request()), wanting=(0, 1), outcome=Granted)
@variant(process, "on_seat_message")
def refuses(on_seat_message: Any, now: Step, sender: NodeId, message: SeatMessage) -> None:
    """E7: a process that is not idle refuses a request, which begins again."""
    if isinstance(message, Climb) and tree.has_child(now.state, sender) and type(now.state.phase) is not Idle:
        for one in message.requests:
            for node in one.path:
                now.send(node, Refused(one.requester, one.number))
    else:
        on_seat_message(now, sender, message)


@refuses.also(process, "on_message")
def _(on_message: Any, now: Step, sender: NodeId, message: Any) -> None:
    if not isinstance(message, Refused):
        on_message(now, sender, message)
    elif message.requester == now.me:
        tree.climb(now)
    else:
        tree.let_go(now, {(message.requester, message.number)})


@BROKEN.add(with_data, THREE, [(1, Request()), (1, Leave())])
@variant(tree, "may_leave")
def leaves_with_the_data(may_leave: Any, state: ElmpState) -> bool:
    """E8: a process leaves before any other has fetched the data from it."""
    return bool(may_leave(replace(state, keeps=None)))


@BROKEN.add(timed, THREE, [*ONCE, (1, Withdraw())])
@variant(lock, "go_on")
def withdraws_at_once(go_on: Any, now: Step, place: Place) -> None:
    """E9: a waiting claim is dropped without being taken out of the list."""
    go_on(now, place)
    if place.handle is None and not place.has_token and place.turn:
        lock.remove(now, place.turn)


@BROKEN.add(elmp, THREE, [(1, Request()), (2, Request())])
@variant(tree, "go_on_with_swap")
def does_not_wait_for_children(go_on_with_swap: Any, now: Step) -> None:
    """E10: a seat is handed over while requests may be on their way to it."""
    assert now.state.swap is not None
    now.state.swap = replace(now.state.swap, waiting=frozenset())
    go_on_with_swap(now)


@does_not_wait_for_children.also(tree, "on_followed")
def _(_on_followed: Any, _now: Step, _sender: NodeId) -> None:
    """Ignore it."""


@BROKEN.add(elmp, THREAD, [(3, join_at(2))], config=LAZY)
@variant(tree, "is_too_high")
def never_rebuilds(_is_too_high: Any, _height: int, _weight: int, _slack: float) -> bool:
    """E11: the tree below a process may have any height."""
    return False


# --------------------------------------------------------------------------------------------------- what we left out


@BROKEN.add(elmp, FOUR, [(0, Leave()), (1, Leave())], is_endless=True)
@variant(tree, "must_wait")
def gives_way_to_nobody(_must_wait: Any, _state: ElmpState, _sender: NodeId, _message: Any) -> bool:
    """Two neighbours that leave have no order: they change seats with each other for ever."""
    return False


@BROKEN.add(endless, THREAD, (2, Request()), wanting=(0, 1), outcome=Granted)
@variant(process, "settle")
def takes_the_newest_first(settle: Any, now: Step) -> None:
    """Queues are stacks: the oldest entry waits for ever if new ones keep coming."""
    now.state.queue = now.state.queue[::-1]
    settle(now)
    now.state.queue = now.state.queue[::-1]


@BROKEN.add(timed, THREE, ONCE, config=SELDOM)
@variant(tree, "enqueue_all")
def last_come_first_served(enqueue_all: Any, now: Step, requests: tuple[Asking, ...]) -> None:
    """The root puts a new request before those that wait already."""
    state = now.state
    if len(state.places) == 1 and state.places[0].next is not None and len(requests) == 1:
        (one,), mine = requests, state.places[0]
        state.turns += 1
        lock.put(now, replace(mine, next=(one.requester, state.turns)))
        given = Given(one.requester, one.number, one.path, state.turns, (now.me, mine.turn), mine.next)
        tree.send_down(now, [given])
    else:
        enqueue_all(now, requests)


@BROKEN.add(elmp, THREE, [(1, Request())])
@variant(lock, "pass_on")
def keeps_the_token(pass_on: Any, now: Step, place: Place) -> None:
    """A process that passes the token on keeps it as well."""
    pass_on(now, place)
    lock.put(now, replace(place, has_token=True))


@BROKEN.add(timed, THREE, [(0, Request()), (1, Request()), (1, Withdraw())])
@variant(lock, "on_token")
def loses_the_token(on_token: Any, now: Step, message: Token) -> bool:
    """A withdrawn place does not pass the token on."""
    return lock.known_place(now, message.turn).handle is not None and on_token(now, message)


@BROKEN.add(together, THREE, [(1, READS), (2, Request())])
@variant(lock, "wait")
def waits_for_nobody(_wait: Any, _now: Step, use: Use, _active: tuple[Entry, ...]) -> Use:
    """A claim is granted as soon as the token comes, whatever other claims are held."""
    return use


@BROKEN.add(together, THREE, PARTS)
@variant(lock, "on_await")
def waits_for_those_that_hold(on_await: Any, now: Step, message: Await) -> None:
    """A waiting claim reports that it is over, and a later one overtakes it."""
    (to, number) = message.asker
    waiting = [one for one in now.state.uses if not one.is_held]
    over = tuple(one.number for one in waiting if one.number in message.uses)
    if over:
        now.send(to, Done(number, now.me, over))
    on_await(now, replace(message, uses=tuple(one for one in message.uses if one not in over)))


@BROKEN.add(elmp, THREE, [(1, READS), (1, Leave()), (2, Request())], is_in_order=False)
@variant(tree, "is_needed")
def leaves_while_listed(_is_needed: Any, state: ElmpState) -> bool:
    """A process leaves although the token lists a claim of it, for which another process waits."""
    return tree.has_data(state)


@leaves_while_listed.also(lock, "on_await")
def _(on_await: Any, now: Step, message: Await) -> None:
    if type(now.state.phase) is not Out:
        on_await(now, message)


@BROKEN.add(timed, THREE, [*ONCE, (1, Withdraw())])
@variant(lock, "on_relink")
def forgets_the_predecessor(on_relink: Any, now: Step, message: Relink) -> None:
    """The next process does not learn that one before it was passed over."""
    place = lock.known_place(now, message.turn)
    on_relink(now, message)
    lock.put(now, replace(place, is_unlinking=False))


@BROKEN.add(timed, THREE, ONCE)
@variant(lock, "append")
def forgets_the_end(append: Any, now: Step, first: Ref, last: Ref) -> None:
    """The root does not record which process is the last."""
    tail = now.state.tail
    append(now, first, last)
    now.state.tail = tail


@BROKEN.add(elmp, THREE, [(1, Request()), (2, Request())])
@variant(tree, "hand_down")
def stays_root(hand_down: Any, now: Step, swap: Swap) -> None:
    """A process that has handed over the root's seat still gives turns."""
    state = now.state
    ranks, turns, tail = state.ranks, state.turns, state.tail
    hand_down(now, swap)
    state.ranks, state.turns, state.tail = ranks, turns, tail


@BROKEN.add(elmp, (None, 0, 1, 1), [(2, Request()), (4, join_at(3))], config=STRICT)
@variant(tree, "send_down")
def tells_only_the_requester(_send_down: Any, now: Step, places: list[Given]) -> None:
    """News of a place goes straight to the requester, and the path is free before it has arrived."""
    for one in places:
        for node in one.path:
            now.send(node, Won((one,)))


@tells_only_the_requester.also(tree, "on_won")
def _(on_won: Any, now: Step, message: Won) -> None:
    mine = tuple(one for one in message.places if one.requester == now.me)
    tree.let_go(now, {(one.requester, one.number) for one in message.places})
    if mine:
        on_won(now, Won(mine))


@BROKEN.add(elmp, (None, 0, 0, 0), [(1, Request()), (4, join_at(2))], config=STAR_SELDOM)
@variant(tree, "on_impatience")
def ignores_impatience(_on_impatience: Any, _now: Step, _sender: NodeId) -> None:
    """A process that can no longer wait to hear of its place is not told of it."""


@BROKEN.add(timed, FOUR, [(4, join_at(3)), (0, Request()), (2, Request())], config=STRICT)
@variant(tree, "gather")
def gathers_in_silence(gather: Any, now: Step, *, is_top: bool) -> None:
    """The tree is rebuilt before every process that has a place knows it."""
    untold, now.state.untold = now.state.untold, ()
    gather(now, is_top=is_top)
    now.state.untold = untold


@BROKEN.add(elmp, THREE, [(1, Request()), (1, Leave()), (2, Request())], user=Late, has_data=True, config=SELDOM)
@variant(tree, "begin_request")
def gives_up_the_token(begin_request: Any, now: Step, handle: int | None, *claim: Claim) -> None:
    """A process that needs the token to hand over the data lets itself be passed over, and asks again."""
    begin_request(now, handle, *claim)
    now.state.places = tuple(replace(one, is_kept=False) for one in now.state.places)


@BROKEN.add(timed, THREE, TWICE, config=STAR_FOURTH)
@variant(lock, "appended")
def takes_old_news(appended: Any, now: Step, given: Given) -> None:
    """News of an old place is taken for that of the current request."""
    appended(now, replace(given, number=now.state.asks))


@BROKEN.add(timed, STAR, [*ALL, (0, Withdraw())], config=STAR_SELDOM)
@variant(lock, "go_on")
def keeps_the_trail_to_itself(go_on: Any, now: Step, place: Place) -> None:
    """The root gives up its place, and the processes behind the next one never hear of their places."""
    untold, now.state.untold = now.state.untold, ()
    go_on(now, place)
    now.state.untold = untold or now.state.untold


@BROKEN.add(timed, STAR, [*ALL, (2, Leave())], config=STAR_SELDOM)
@variant(lock, "on_token")
def trusts_the_trail(on_token: Any, now: Step, message: Token) -> bool:
    """The token goes where the root sent it, even if that process has been passed over since."""
    if message.trail:
        lock.put(now, replace(lock.known_place(now, message.turn), next=None))
    return bool(on_token(now, message))


@BROKEN.add(ONE_HOST, is_stopped=False, is_merged=True)
@variant(lock, "on_fetched")
def merges_first(on_fetched: Any, now: Step, fetched: Fetched) -> None:
    """A process entrusted with the data merges all parts first; the result counts if the token is still there."""
    on_fetched(now, fetched)
    for place in now.state.places:
        data = place.data
        if data is not None and data.has_parts:
            lock.put(now, replace(place, data=replace(data, version=data.version + 1, has_parts=False)))


@BROKEN.add(BOTH_LEAVE)
@variant(lock, "on_fetched")
def takes_any_word(on_fetched: Any, now: Step, fetched: Fetched) -> None:
    """What was fetched of a version counts for any claim that holds now."""
    held = [use.number for use in now.state.uses if use.is_held and use.claim.is_plain]
    on_fetched(now, replace(fetched, use=held[0] if held else 0))


@BROKEN.add(ONE_HOST)
@variant(lock, "pass_on")
def says_nothing_of_parts(pass_on: Any, now: Step, place: Place) -> None:
    """The token does not say that a part may be changed."""
    data = place.data
    pass_on(now, place if data is None else replace(place, data=replace(data, has_parts=False)))


BROKEN["fetches-on"] = partial(
    TWO_HOSTS, is_stopped=False, title="data is still being fetched to where another process writes"
)

__all__ = ["BROKEN"]
