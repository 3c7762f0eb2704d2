"""What follows from what a node knows: rules, tried after every event until none applies.

Like the rules of a chemical program they only look at the state; in which order events brought it about does not
matter. Each tells whether it applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from immutables import Map

from solvent.protocols.machine import NodeId, Received, Requested, TimerFired
from solvent.protocols.token.group.electing import begin, close, is_majority, start_election
from solvent.protocols.token.group.messages import Append, Committed, Line, Member, Resign
from solvent.protocols.token.group.order import is_ready, take_token, write
from solvent.protocols.token.group.vocabulary import Fence, Left, Locked
from solvent.protocols.token.messages import Acquire, Release, Token
from solvent.protocols.token.node import REST

if TYPE_CHECKING:
    from solvent.protocols.token.group.desk import Desk
    from solvent.protocols.token.group.messages import Entry


def a_token_that_waited_for_lines_is_taken(desk: Desk) -> bool:
    """When the log is as long as the token says."""
    early = desk.state.early
    if early is None or not is_ready(desk, early[1]):
        return False
    desk.set(early=None)
    take_token(desk, *early)
    return True


def an_election_is_closed_when_all_have_answered(desk: Desk) -> bool:
    """Or when most have promised, and nobody else is waited for."""
    election = desk.state.election
    if election is None or election.is_complete or election.fetches_from is not None:
        return False
    if not election.is_closed:
        answered = {*election.promises, *election.refused}
        if not all(map(answered.__contains__, desk.state.log.members)):
            return False
    close(desk)
    return True


def an_epoch_begins_with_the_best_log(desk: Desk) -> bool:
    """Its first line says who is in its ring."""
    election = desk.state.election
    if election is None or not election.is_complete:
        return False
    begin(desk)
    return True


def what_most_have_saved_is_safe(desk: Desk) -> bool:
    """All of what is being appended, or nothing."""
    state = desk.state
    if not state.is_appending or 2 * (len(state.acks) + 1) < len(state.log.members):
        return False
    length = state.log.length
    if not is_majority((desk.me, *[node for node, saved in state.acks.items() if saved >= length]), state.log.members):
        return False
    desk.set(is_appending=False, refused=frozenset())
    desk.commit(length)
    for node in desk.others({*state.ring, *state.hellos}):
        desk.hint(node, Committed(state.epoch, length))
    if state.is_beginning:
        desk.set(is_beginning=False, low_so_far=length)
        desk.hand(Received(NodeId(0), Token(visits=-1)))
    return True


def who_wants_the_lock_and_has_the_token_has_it(desk: Desk) -> bool:
    """For as long as the user wants."""
    state = desk.state
    if state.granted is None or not state.is_lock_wanted or state.has_locked:
        return False
    fence = Fence(state.epoch, state.granted)
    desk.set(fence=fence, is_lock_wanted=False, has_locked=True)
    desk.tell(Locked(fence))
    return True


def who_has_the_token_appends(desk: Desk) -> bool:
    """All broadcasts at once, and changes of members one after the other.

    Broadcasts again only under the lock, lest others wait for ever.
    """
    state = desk.state
    if state.granted is None or state.is_appending or not (state.outbox or state.changes or state.hellos):
        return False
    if desk.me not in state.log.members:
        return False
    said = () if state.has_appended and state.fence is None else state.outbox[state.appended :]
    entries: list[Entry] = [*said, *_changes(desk)]
    if not entries:
        return False
    first = state.log.length
    before = state.log.last
    lines = tuple([Line(state.epoch, entry) for entry in entries])
    desk.set(is_appending=True, has_appended=True, appended=state.appended + len(said), acks=Map())
    write(desk, first, lines)
    append = Append(state.epoch, first, before, lines, state.committed)
    for node in desk.others({*state.ring, *state.hellos}):
        desk.send(node, append)
    return True


def _changes(desk: Desk) -> list[Member]:
    """Give the next change of members; two at once could make majorities that do not meet."""
    state, members = desk.state, desk.state.log.members
    changes = [change for change in state.changes if (change.node in members) != change.is_member]
    newcomers = [Member(node, is_member=True, where=where) for node, where in sorted(state.hellos.items())]
    return [*changes, *[one for one in newcomers if one.node not in members]][:1]


def who_is_done_passes_the_token_on(desk: Desk) -> bool:
    """Or has a new ring made, if this one is not as it should be; or leaves."""
    state = desk.state
    if state.granted is None or state.is_appending or state.fence is not None:
        return False
    members = state.log.members
    if desk.me not in members:
        heirs = [node for node in state.ring if node in members]
        desk.drop_token()
        if heirs:
            desk.send(heirs[0], Resign(state.epoch))
    elif (
        state.heard > state.epoch
        or any(node in members and node not in state.ring for node in state.hellos)
        or not all(map(members.__contains__, state.ring))
    ):
        start_election(desk)
    else:
        changes = state.changes and tuple(
            change for change in state.changes if (change.node in members) != change.is_member
        )
        desk.set(granted=None, has_appended=False, changes=changes)
        # What it wants meanwhile the token takes along.
        is_again = state.is_lock_wanted or len(state.outbox) > state.appended or bool(changes or state.hellos)
        desk.hand(Requested(Release(is_again=is_again)))
    return True


def who_wanted_to_leave_and_is_no_member_has_left(desk: Desk) -> bool:
    """The others need nothing of it any more."""
    state = desk.state
    if not state.is_leaving or state.is_gone or state.granted is not None:
        return False
    if desk.me in state.log.members or state.committed < state.log.length:
        return False
    desk.drop_token()
    desk.set(is_gone=True)
    desk.tell(Left())
    return True


def who_is_about_to_stop_lets_no_token_rest(desk: Desk) -> bool:
    """As if its rest were over."""
    inner = desk.state.inner
    if not desk.state.is_retiring or inner is None or inner.token is None or not inner.rest:
        return False
    desk.hand(TimerFired(REST))
    return True


def who_wants_something_asks_for_the_token(desk: Desk) -> bool:
    """To lock, to append, or to have somebody taken in."""
    state = desk.state
    inner = state.inner
    if inner is None or inner.is_waiting or inner.is_used or state.is_appending:
        return False
    if not (state.is_lock_wanted or state.outbox or state.changes or state.hellos):
        return False
    desk.hand(Requested(Acquire()))
    return True


def settle(desk: Desk) -> None:
    """Draw all conclusions: after each, begin again with the first rule."""
    while _is_one_drawn(desk):
        pass


def _is_one_drawn(desk: Desk) -> bool:
    """Apply the first rule that applies; those are left out that lack what they need, as most do in most steps."""
    state = desk.state
    return (
        (state.early is not None and a_token_that_waited_for_lines_is_taken(desk))
        or (
            state.election is not None
            and (an_election_is_closed_when_all_have_answered(desk) or an_epoch_begins_with_the_best_log(desk))
        )
        or (state.is_appending and what_most_have_saved_is_safe(desk))
        or (
            state.granted is not None
            and (
                who_wants_the_lock_and_has_the_token_has_it(desk)
                or who_has_the_token_appends(desk)
                or who_is_done_passes_the_token_on(desk)
            )
        )
        or (state.is_leaving and who_wanted_to_leave_and_is_no_member_has_left(desk))
        or (state.is_retiring and who_is_about_to_stop_lets_no_token_rest(desk))
        or who_wants_something_asks_for_the_token(desk)
    )


__all__ = ["settle"]
