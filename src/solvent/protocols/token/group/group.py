"""One node of a group: a token that survives crashes, a lock and a common order made of it, and members that change.

The ring's own machine (`token.node`) hands the token round and finds it. Around it this machine keeps a log, the same
at all members, which only the holder of the token writes to: broadcasts, changes of members, and the beginnings of
epochs. A holder keeps the token until most members have saved what it wrote. So a node that makes a new token, with
most members' promises, finds in their logs all that was ever safe.

What is in memory only: where the token is. What is saved: promises and the log.

Handlers of events (`order`, `electing`) only note what an event says. What follows from that are rules, tried after
every event until none applies. Like the rules of a chemical program they look at the state alone; in which order
events brought it about does not matter.
"""

from __future__ import annotations

from typing import Any, assert_never

from msgspec.structs import replace

from solvent.protocols.machine import (
    Answered,
    Chosen,
    Configured,
    Draft,
    Event,
    NodeId,
    PeerRestarted,
    Received,
    Requested,
    Step,
    TimerFired,
)
from solvent.protocols.maps import Map
from solvent.protocols.token.group import electing, order
from solvent.protocols.token.group.log import FIRST, empty, started_at, written
from solvent.protocols.token.group.messages import (
    Append,
    Behind,
    Broadcast,
    Committed,
    Confirm,
    Elect,
    Entry,
    Fence,
    GroupMessage,
    GroupRequest,
    Hello,
    Known,
    Leave,
    Left,
    Line,
    Lock,
    Locked,
    Member,
    Passed,
    Probe,
    Promise,
    Refuse,
    Remove,
    Resign,
    Retire,
    Said,
    Saved,
    Search,
    Seek,
    Seen,
    Unlock,
    View,
)
from solvent.protocols.token.group.state import (
    ELECT,
    PATIENCE,
    GroupConfig,
    GroupState,
    Now,
    Promised,
    Started,
    Written,
)
from solvent.protocols.token.messages import Acquire, Release, Token
from solvent.protocols.token.node import REST


def group_node(config: GroupConfig) -> Configured[GroupConfig, GroupState]:
    """Make the machine of a node."""
    return Configured(start, step, config)


def start(config: GroupConfig, saved: tuple[Any, ...] = (), life: int = 0) -> Step[GroupState]:
    """Begin with what was saved; the first of the first members makes the first token."""
    now = Draft(config, recovered(config, saved, life))
    state = now.state
    if state.promised == state.epoch and state.ring:
        order.begin_ring(now)
    electing.set_patience(now)
    if life or not state.log.members:
        # The node it asks may be down too; it will ask another, or seek the token, when its patience ends.
        members = order.others(now, state.log.members)
        for node in [node for node in members if node > config.node][:1] or members[:1] or config.contacts[:1]:
            electing.say_hello(now, node)
    elif state.ring[0] == config.node:
        order.hand(now, Received(NodeId(0), Token(visits=-1)))
    settle(now)
    return now.state, tuple(now.effects)


def recovered(config: GroupConfig, saved: tuple[Any, ...], life: int) -> GroupState:
    """Make a state of what was saved."""
    first = tuple(sorted(config.members))
    places = config.places or ("",) * len(first)
    log = empty(Map(zip(config.members, places, strict=True)))
    promised = FIRST
    for record in saved:
        match record:
            case Promised(epoch):
                promised = epoch
            case Started(place, before, members):
                log = started_at(place, before, Map(members))
            case Written(place, lines):
                log, _ = written(log, place, lines)
    state = GroupState(life=life, promised=promised, heard=promised, log=log, committed=log.base, ring=first)
    if log.view_at >= 0:
        line = log.lines[log.view_at]
        assert isinstance(line.entry, View)
        state.epoch, state.ring = line.epoch, line.entry.ring
    elif log.base:
        state.ring = ()
    return state


def step(config: GroupConfig, state: GroupState, event: Event) -> Step[GroupState]:
    """Take one event."""
    now = Draft(config, replace(state))
    match event:
        case Received():
            on_message(now, event.sender, event.message)
        case Requested(request):
            on_request(now, request)
        case TimerFired(name):
            on_timer(now, name)
        case PeerRestarted(peer):
            electing.on_restarted(now, peer)
        case Chosen() | Answered():
            pass
        case _:
            assert_never(event)
    settle(now)
    return now.state, tuple(now.effects)


def on_message(now: Now, sender: NodeId, message: GroupMessage) -> None:
    """Take a message."""
    match message:
        case Passed():
            order.on_passed(now, sender, message)
        case Search():
            order.on_search(now, sender, message)
        case Append():
            order.on_append(now, sender, message)
        case Saved():
            order.on_saved(now, sender, message)
        case Committed():
            order.on_committed(now, message)
        case Behind():
            order.on_behind(now, sender, message)
        case Seek():
            electing.on_seek(now, sender, message)
        case Seen():
            electing.on_seen(now, sender, message)
        case Probe():
            electing.on_probe(now, sender, message)
        case Known():
            electing.on_known(now, sender, message)
        case Elect():
            electing.on_elect(now, sender, message)
        case Promise():
            electing.on_promise(now, sender, message)
        case Refuse():
            electing.on_refuse(now, sender, message)
        case Resign():
            electing.on_resign(now, message)
        case Hello():
            electing.on_hello(now, sender, message)
        case _:
            assert_never(message)


def on_timer(now: Now, name: str) -> None:
    """Look after the token; go on with those that have answered; the ring has timers too."""
    if name == PATIENCE:
        electing.on_patience(now)
        electing.ask_again(now)
    elif name == ELECT:
        electing.on_answers_awaited(now)
    elif now.state.inner is not None:
        order.hand(now, TimerFired(name))


def on_request(now: Now, request: GroupRequest) -> None:
    """Note what the user wants."""
    state = now.state
    match request:
        case Lock():
            state.is_lock_wanted |= state.fence is None
        case Unlock(is_again):
            state.is_lock_wanted, state.fence = is_again, None
        case Broadcast(data):
            said = Said(now.config.node, state.life, state.said, data)
            state.outbox, state.said = (*state.outbox, said), state.said + 1
        case Remove(node):
            state.changes = (*state.changes, Member(node, is_member=False))
        case Confirm(number):
            electing.confirm(now, number)
        case Retire():
            state.is_retiring = True
        case Leave():
            state.changes = (*state.changes, Member(now.config.node, is_member=False))
            state.is_leaving = True
        case _:
            assert_never(request)


# -------------------------------------------------------------------------------------------------- what follows


def settle(now: Now) -> None:
    """Draw all conclusions: after each, begin again with the first rule."""
    while _is_one_drawn(now):
        pass


def _is_one_drawn(now: Now) -> bool:
    """Apply the first rule that applies, of those that have what they are about."""
    state = now.state
    return (
        (state.early is not None and a_token_that_waited_for_lines_is_taken(now))
        or (
            state.election is not None
            and (an_election_is_closed_when_all_have_answered(now) or an_epoch_begins_with_the_best_log(now))
        )
        or (state.is_appending and what_most_have_saved_is_safe(now))
        or (
            state.granted is not None
            and (
                who_wants_the_lock_and_has_the_token_has_it(now)
                or who_has_the_token_appends(now)
                or who_is_done_passes_the_token_on(now)
            )
        )
        or (state.is_leaving and who_wanted_to_leave_and_is_no_member_has_left(now))
        or (state.is_retiring and who_is_about_to_stop_lets_no_token_rest(now))
        or who_wants_something_asks_for_the_token(now)
    )


def a_token_that_waited_for_lines_is_taken(now: Now) -> bool:
    """When the log is as long as the token says."""
    early = now.state.early
    if early is None or not order.is_ready(now.state, early[1]):
        return False
    now.state.early = None
    order.take_token(now, *early)
    return True


def an_election_is_closed_when_all_have_answered(now: Now) -> bool:
    """Or when most have promised, and no other is waited for."""
    election = now.state.election
    if election is None or election.is_complete or election.fetches_from is not None:
        return False
    if not election.is_closed:
        answered = {*election.promises, *election.refused}
        if not all(map(answered.__contains__, now.state.log.members)):
            return False
    electing.close(now)
    return True


def an_epoch_begins_with_the_best_log(now: Now) -> bool:
    """Its first line says who is in its ring."""
    election = now.state.election
    if election is None or not election.is_complete:
        return False
    electing.begin(now)
    return True


def what_most_have_saved_is_safe(now: Now) -> bool:
    """All of what is being appended, or nothing."""
    state = now.state
    length = state.log.length
    safe_at = (now.config.node, *[node for node, saved in state.acks.items() if saved >= length])
    if not electing.is_majority(safe_at, state.log.members):
        return False
    state.is_appending, state.refused = False, frozenset()
    order.commit(now, length)
    for node in order.others(now, {*state.ring, *state.hellos}):
        order.hint(now, node, Committed(state.epoch, length))
    if state.is_beginning:
        state.is_beginning, state.low_so_far = False, length
        order.hand(now, Received(NodeId(0), Token(visits=-1)))
    return True


def who_wants_the_lock_and_has_the_token_has_it(now: Now) -> bool:
    """For as long as the user wants."""
    state = now.state
    if state.granted is None or not state.is_lock_wanted or state.has_locked:
        return False
    fence = Fence(state.epoch, state.granted)
    state.fence, state.is_lock_wanted, state.has_locked = fence, False, True
    now.report(Locked(fence))
    return True


def who_has_the_token_appends(now: Now) -> bool:
    """All broadcasts at once, and changes of members one after the other.

    Broadcasts again only under the lock, lest others wait for ever.
    """
    state = now.state
    if state.is_appending or now.config.node not in state.log.members:
        return False
    said = () if state.has_appended and state.fence is None else state.outbox[state.appended :]
    entries: list[Entry] = [*said, *_changes(now)]
    if not entries:
        return False
    first, before = state.log.length, state.log.last
    lines = tuple([Line(state.epoch, entry) for entry in entries])
    state.is_appending = state.has_appended = True
    state.appended, state.acks = state.appended + len(said), Map()
    order.write(now, first, lines)
    append = Append(state.epoch, first, before, lines, state.committed)
    for node in order.others(now, {*state.ring, *state.hellos}):
        now.send(node, append)
    return True


def _changes(now: Now) -> list[Member]:
    """Return the next change of members; two at once could make majorities that do not meet."""
    state, members = now.state, now.state.log.members
    changes = [change for change in state.changes if (change.node in members) != change.is_member]
    newcomers = [Member(node, is_member=True, where=where) for node, where in sorted(state.hellos.items())]
    return [*changes, *[one for one in newcomers if one.node not in members]][:1]


def who_is_done_passes_the_token_on(now: Now) -> bool:
    """Or has a new ring made, if this one is not as it should be; or leaves."""
    state = now.state
    if state.is_appending or state.fence is not None:
        return False
    members = state.log.members
    if now.config.node not in members:
        heirs = [node for node in state.ring if node in members]
        order.drop_token(now)
        if heirs:
            now.send(heirs[0], Resign(state.epoch))
    elif (
        state.heard > state.epoch
        or any(node in members and node not in state.ring for node in state.hellos)
        or not all(map(members.__contains__, state.ring))
    ):
        electing.start_election(now)
    else:
        changes = state.changes and tuple(
            change for change in state.changes if (change.node in members) != change.is_member
        )
        state.granted, state.has_appended, state.changes = None, False, changes
        # What it wants meanwhile the token takes along.
        is_again = state.is_lock_wanted or len(state.outbox) > state.appended or bool(changes or state.hellos)
        order.hand(now, Requested(Release(is_again=is_again)))
    return True


def who_wanted_to_leave_and_is_no_member_has_left(now: Now) -> bool:
    """The others need nothing of it any more."""
    state = now.state
    if state.is_gone or state.granted is not None:
        return False
    if now.config.node in state.log.members or state.committed < state.log.length:
        return False
    order.drop_token(now)
    state.is_gone = True
    now.report(Left())
    return True


def who_is_about_to_stop_lets_no_token_rest(now: Now) -> bool:
    """As if its rest were over."""
    inner = now.state.inner
    if inner is None or inner.token is None or not inner.rest:
        return False
    order.hand(now, TimerFired(REST))
    return True


def who_wants_something_asks_for_the_token(now: Now) -> bool:
    """To lock, to append, or to have another node taken in."""
    state = now.state
    inner = state.inner
    if inner is None or inner.is_waiting or inner.is_used or state.is_appending:
        return False
    if not (state.is_lock_wanted or state.outbox or state.changes or state.hellos):
        return False
    order.hand(now, Requested(Acquire()))
    return True
