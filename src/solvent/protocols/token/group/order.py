"""The common order: the log, what nodes do when they hear of lines of it, and the token, which goes with a whole log.

The machine of the ring counts its nodes by their places in the ring; here they get their names.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.machine import CancelTimer, Cheap, Configured, Event, NodeId, Received, Report, Send, SetTimer
from solvent.protocols.maps import Map
from solvent.protocols.token.group.log import forgotten, started_at, written
from solvent.protocols.token.group.messages import (
    Append,
    Behind,
    Committed,
    Delivered,
    Epoch,
    Line,
    LockLost,
    Member,
    MemberChanged,
    Passed,
    Refuse,
    Said,
    Saved,
    Search,
    Seen,
    Skipped,
    View,
    ViewBegan,
)
from solvent.protocols.token.group.state import ELECT, GroupState, Now, Promised, Started, Written
from solvent.protocols.token.messages import Granted, Moved, Token
from solvent.protocols.token.node import REST, Ring, TokenConfig, TokenState, ring_node

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_FAILURES = 5
"""After so many elections in vain a node does not wait longer any more."""


def hint(now: Now, to: NodeId, message: Any) -> None:
    """Send what may be lost."""
    now.effects.append(Send(to, Cheap(message)))


def others(now: Now, nodes: Iterable[NodeId]) -> list[NodeId]:
    """Return all of these but this node, in order."""
    return sorted([node for node in nodes if node != now.config.node])


# ------------------------------------------------------------------------------------------------------- the ring


@lru_cache(maxsize=4096)
def ring_for(config: TokenConfig, place: int, size: int) -> Configured[Ring, TokenState]:
    """Return the machine of one place in a ring."""
    return ring_node(replace(config, node=NodeId(place), size=size), tells_moves=True)


def ring_of(now: Now) -> Configured[Ring, TokenState]:
    """Return this node's part of the ring."""
    ring = now.state.ring
    return ring_for(now.config.ring, ring.index(now.config.node), len(ring))


def has_token(state: GroupState) -> bool:
    """Decide whether the token is here."""
    return state.inner is not None and (state.inner.token is not None or state.is_beginning)


def begin_ring(now: Now) -> None:
    """Begin in the ring as one that does not have the token."""
    state = now.state
    if now.config.node in state.ring and not state.is_gone:
        # Numbers of requests of a former life in this epoch must not be used again.
        state.inner, _ = ring_of(now).start((), state.life + 1)


def hand(now: Now, event: Event) -> None:
    """Let the ring's machine take an event; send what it says with what the others must know of it."""
    state = now.state
    assert state.inner is not None
    state.inner, effects = ring_of(now).step(state.inner, event)
    for effect in effects:
        if isinstance(effect, Send):
            to, message = state.ring[effect.to], effect.message
            if isinstance(message, Token):
                assert not state.is_appending, "the token waits until what was written is safe"
                now.send(to, Passed(state.epoch, message, state.log.length, state.low, state.low_so_far))
            else:
                hint(now, to, Search(state.epoch, message))
        elif not isinstance(effect, Report):
            now.effects.append(effect)
        elif isinstance(effect.outcome, Granted):
            state.granted, state.has_locked, state.has_appended = effect.outcome.number, False, False
            state.quiet, state.calm = 0, 1
        else:
            now.report(Moved(state.ring[effect.outcome.to], effect.outcome.why))


def drop_token(now: Now) -> None:
    """Take no part in the ring any more; a user that has the lock is told."""
    state = now.state
    if state.fence is not None:
        now.report(LockLost(state.fence))
    if state.inner is not None and state.inner.rest:
        now.effects.append(CancelTimer(REST))
    state.inner = state.fence = state.granted = state.early = None
    state.has_locked = state.is_appending = state.has_appended = state.is_beginning = False
    state.appended = state.low = state.low_so_far = 0
    state.acks, state.refused = Map(), frozenset()


# --------------------------------------------------------------------------------------------------------- epochs


def hear(now: Now, epoch: Epoch) -> None:
    """Note that another node spoke of an epoch."""
    now.state.heard = max(now.state.heard, epoch)


def promise(now: Now, epoch: Epoch) -> None:
    """Heed no older epoch from here on."""
    state = now.state
    now.save(Promised(epoch))
    drop_token(now)
    if state.is_seeking or (state.election is not None and state.election.epoch < epoch):
        stop_electing(now)
    hear(now, epoch)
    state.promised = epoch


def stop_electing(now: Now) -> None:
    """Leave a new token to others, or do without."""
    now.effects.append(CancelTimer(ELECT))
    now.state.failures += now.state.election is not None
    now.state.election, now.state.is_seeking = None, False


def await_answers(now: Now) -> None:
    """Wait for others, for a while."""
    now.effects.append(SetTimer(ELECT, now.config.wait << min(now.state.failures, _MAX_FAILURES)))


def enter(now: Now, line: Line) -> None:
    """Take part in the ring of a new epoch."""
    assert isinstance(line.entry, View)
    state = now.state
    early = state.early
    drop_token(now)
    if state.election is not None or state.is_seeking:
        stop_electing(now)
    state.epoch, state.ring = line.epoch, line.entry.ring
    state.early = early if early is not None and early[1].epoch == line.epoch else None
    for node in state.ring:
        if node in state.hellos:
            state.hellos = state.hellos.delete(node)
    state.seekers = frozenset()
    state.quiet, state.calm, state.failures = 0, 1, 0
    begin_ring(now)
    now.report(ViewBegan(line.epoch, state.ring))


def refresh(now: Now) -> None:
    """Note that there is news of the token."""
    now.state.is_fresh = True
    if now.state.is_seeking:
        stop_electing(now)


# ------------------------------------------------------------------------------------------------------ the token


def on_passed(now: Now, sender: NodeId, passed: Passed) -> None:
    """Take the token, or let it wait for lines that it presupposes, or let it go if it is too old."""
    epoch, state = passed.epoch, now.state
    hear(now, epoch)
    if epoch < state.promised:
        if epoch < state.epoch:
            hint(now, sender, Seen(state.epoch))
        return
    if epoch > state.promised:
        promise(now, epoch)
    refresh(now)
    if is_ready(state, passed):
        take_token(now, sender, passed)
    else:
        state.early = sender, passed
        now.send(sender, Behind(epoch, known(state, epoch)))


def is_ready(state: GroupState, passed: Passed) -> bool:
    """Decide whether a token that came can be taken."""
    return state.inner is not None and passed.epoch == state.epoch and state.log.length >= passed.length


def take_token(now: Now, sender: NodeId, passed: Passed) -> None:
    """Take a token that came: all lines it tells of are safe. Tell those that look for it."""
    state = now.state
    commit(now, passed.length)
    _forget(now, passed)
    for node in sorted(state.seekers):
        hint(now, node, Seen(state.epoch))
    state.seekers = frozenset()
    hand(now, Received(_place(state, sender), passed.token))


def _forget(now: Now, passed: Passed) -> None:
    """Forget lines that every member has; it takes the token a round to find out which."""
    state = now.state
    state.low, state.low_so_far = passed.low, passed.low_so_far
    if passed.token.lender is None:
        if state.ring[0] == now.config.node:
            if len(state.ring) == len(state.log.members):
                state.low = max(state.low, state.low_so_far)
            state.low_so_far = state.committed
        else:
            state.low_so_far = min(state.low_so_far, state.committed)
    if state.low - state.log.base >= now.config.kept:
        state.log = forgotten(state.log, min(state.low, state.committed))


def on_search(now: Now, sender: NodeId, search: Search) -> None:
    """Let the ring's machine have what is about its token."""
    state = now.state
    if search.epoch == state.epoch and state.inner is not None and sender in state.ring:
        hand(now, Received(_place(state, sender), search.message))
    elif search.epoch < state.epoch:
        hint(now, sender, Seen(state.epoch))


def _place(state: GroupState, node: NodeId) -> NodeId:
    return NodeId(state.ring.index(node))


# -------------------------------------------------------------------------------------------------------- the log


def on_append(now: Now, sender: NodeId, append: Append) -> None:
    """Write lines of another node."""
    epoch, state = append.epoch, now.state
    hear(now, epoch)
    if epoch < state.promised:
        now.send(sender, Refuse(epoch, state.promised))
        return
    if epoch > state.promised:
        promise(now, epoch)
    refresh(now)
    base, end = state.log.base, append.first + len(append.lines)
    if state.log.members and end < base:
        # All of it is long known: a late answer, or the first part of one from a node that has forgotten less.
        if not append.is_whole:
            now.send(sender, Behind(epoch, known(state, epoch)))
        return
    if append.first < base <= end:
        # Leave out lines that this node had and has forgotten: they are the same everywhere.
        lines = append.lines[base - append.first :]
        append = replace(append, first=base, before=state.log.base_epoch, lines=lines, members=None)
    if not state.log.members or not state.log.joins(append.first, append.before):
        if append.members is None:
            now.send(sender, Behind(epoch, known(state, epoch)))
            return
        assert append.first >= state.committed, "what is safe is not forgotten for a shorter log"
        if append.first > state.committed:
            # Whether what this node said is among what it missed, nobody can tell it.
            now.report(Skipped(append.first))
            state.outbox, state.appended = (), 0
        now.save(Started(append.first, append.before, append.members))
        state.log = started_at(append.first, append.before, Map(append.members))
        state.committed = append.first
    write(now, append.first, append.lines)
    election = state.election
    if election is None or election.epoch != epoch:
        commit(now, min(append.committed, end))
        now.send(sender, Saved(epoch, end) if append.is_whole else Behind(epoch, end))
    elif append.is_whole:
        # What the best of those that promised has.
        promises = election.promises.set(now.config.node, (state.log.last, state.log.length))
        state.election = replace(election, promises=promises, fetches_from=None, is_complete=True)
    else:
        await_answers(now)
        now.send(sender, Behind(epoch, end))


def write(now: Now, first: int, lines: tuple[Line, ...]) -> None:
    """Write lines where they join, and enter the epoch that begins in them."""
    state = now.state
    log, new = written(state.log, first, lines)
    if new == log.length:
        return
    assert new >= state.committed, "what is safe is never taken back"
    now.save(Written(new, log.between(new, log.length)))
    state.log = log
    if log.view_at >= 0:
        view = log.lines[log.view_at]
        if view.epoch > state.epoch and view.epoch == state.promised:
            enter(now, view)


def known(state: GroupState, epoch: Epoch) -> int:
    """Return up to where this node's log is certainly that of an epoch."""
    return state.log.length if state.epoch == epoch else state.committed


def on_saved(now: Now, sender: NodeId, saved: Saved) -> None:
    """Note how much another has."""
    state = now.state
    if saved.epoch == state.epoch and state.is_appending and saved.length > state.acks.get(sender, 0):
        state.acks = state.acks.set(sender, saved.length)


def on_behind(now: Now, sender: NodeId, behind: Behind) -> None:
    """Send another what it lacks, if this node's log is that of the epoch."""
    epoch, state = behind.epoch, now.state
    if epoch < state.promised:
        now.send(sender, Refuse(epoch, state.promised))
    elif epoch == state.epoch or (epoch == state.promised and sender == epoch.node):
        now.send(sender, all_from(now, behind.first, epoch))


def on_committed(now: Now, committed: Committed) -> None:
    """Hear that lines are safe."""
    state = now.state
    if committed.epoch == state.epoch == state.promised:
        refresh(now)
        commit(now, min(committed.length, state.log.length))


def lines_from(now: Now, first: int, epoch: Epoch) -> Append:
    """Return the lines from `first` on, for one who has those before; if they are many, the first of them."""
    log = now.state.log
    first = min(max(first, log.base), log.length)
    lines = log.some_between(first, log.length, now.config.max_bytes)
    is_whole = first + len(lines) == log.length
    return Append(epoch, first, log.epoch_before(first), lines, now.state.committed, is_whole=is_whole)


def all_from(now: Now, first: int, epoch: Epoch) -> Append:
    """Return the lines from `first` on, for one who may have nothing before them."""
    append = lines_from(now, first, epoch)
    return replace(append, members=tuple(sorted(now.state.log.members_at(append.first).items())))


def commit(now: Now, length: int) -> None:
    """Deliver the lines that are safe now."""
    state = now.state
    first, state.committed = state.committed, max(length, state.committed)
    for place in range(first, length):
        match state.log.lines[place].entry:
            case Said(origin, life, number, data):
                is_own = origin == now.config.node and life == state.life
                if is_own:
                    state.outbox, state.appended = state.outbox[1:], max(0, state.appended - 1)
                now.report(Delivered(place, origin, number, data, is_own))
            case Member(node, is_member, where) as member:
                now.report(MemberChanged(place, node, where, is_member))
                state.changes = tuple([change for change in state.changes if change != member])
