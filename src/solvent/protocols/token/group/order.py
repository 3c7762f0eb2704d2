"""What a node does when it hears of lines of the log, or gets the token, which goes with a log that is complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.machine import Received
from solvent.protocols.token.group.log import forgotten, started_at, written
from solvent.protocols.token.group.messages import Append, Behind, Committed, Passed, Refuse, Saved, Search, Seen
from solvent.protocols.token.group.state import Started, Written
from solvent.protocols.token.group.vocabulary import Skipped

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId
    from solvent.protocols.token.group.desk import Desk
    from solvent.protocols.token.group.messages import Line
    from solvent.protocols.token.group.vocabulary import Epoch


def on_append(desk: Desk, sender: NodeId, append: Append) -> None:
    """Write lines of another node."""
    epoch = append.epoch
    desk.hear(epoch)
    if epoch < desk.state.promised:
        desk.send(sender, Refuse(epoch, desk.state.promised))
        return
    if epoch > desk.state.promised:
        desk.promise(epoch)
    desk.refresh()
    if _is_old(desk, append):
        if not append.is_whole:
            desk.send(sender, Behind(epoch, known(desk, epoch)))
        return
    append = _without_forgotten(desk, append)
    log = desk.state.log
    if not log.members or not log.joins(append.first, append.before):
        if append.members is None:
            desk.send(sender, Behind(epoch, known(desk, epoch)))
            return
        members = Map(append.members)
        assert append.first >= desk.state.committed, "what is safe is not forgotten for a shorter log"
        if append.first > desk.state.committed:
            # Whether what this node said is among what it missed, nobody can tell it.
            desk.tell(Skipped(append.first))
            desk.set(outbox=(), appended=0)
        desk.save(Started(append.first, append.before, append.members))
        desk.set(log=started_at(append.first, append.before, members), committed=append.first)
    end = append.first + len(append.lines)
    write(desk, append.first, append.lines)
    election = desk.state.election
    is_elected = election is not None and election.epoch == epoch
    if not append.is_whole:
        if is_elected:
            desk.await_answers()
        else:
            desk.commit(min(append.committed, end))
        desk.send(sender, Behind(epoch, end))
        return
    if election is not None and is_elected:
        # What the best of those that promised has.
        log = desk.state.log
        promises = election.promises.set(desk.me, (log.last, log.length))
        desk.set(election=replace(election, promises=promises, fetches_from=None, is_complete=True))
        return
    desk.commit(min(append.committed, end))
    desk.send(sender, Saved(epoch, end))


def write(desk: Desk, first: int, lines: tuple[Line, ...]) -> None:
    """Write lines where they join, and enter the epoch that begins in them."""
    log, new = written(desk.state.log, first, lines)
    if new == log.length:
        return
    assert new >= desk.state.committed, "what is safe is never taken back"
    desk.save(Written(new, log.between(new, log.length)))
    desk.set(log=log)
    if log.view_at >= 0:
        view = log.lines[log.view_at]
        if view.epoch > desk.state.epoch and view.epoch == desk.state.promised:
            desk.enter(view)


def known(desk: Desk, epoch: Epoch) -> int:
    """Tell up to where this node's log is certainly that of an epoch."""
    return desk.state.log.length if desk.state.epoch == epoch else desk.state.committed


def on_saved(desk: Desk, sender: NodeId, saved: Saved) -> None:
    """Note how much another has."""
    state = desk.state
    if saved.epoch == state.epoch and state.is_appending and saved.length > state.acks.get(sender, 0):
        desk.set(acks=state.acks.set(sender, saved.length))


def on_behind(desk: Desk, sender: NodeId, behind: Behind) -> None:
    """Give another what it lacks, if this node's log is that of the epoch."""
    epoch = behind.epoch
    if epoch < desk.state.promised:
        desk.send(sender, Refuse(epoch, desk.state.promised))
    elif epoch == desk.state.epoch or (epoch == desk.state.promised and sender == epoch.node):
        desk.send(sender, desk.all_from(behind.first, epoch))


def on_committed(desk: Desk, committed: Committed) -> None:
    """Hear that lines are safe."""
    if committed.epoch == desk.state.epoch and committed.epoch == desk.state.promised:
        desk.refresh()
        desk.commit(min(committed.length, desk.state.log.length))


# ------------------------------------------------------------------------------------------------------- the token


def on_passed(desk: Desk, sender: NodeId, passed: Passed) -> None:
    """Take the token, or let it wait for lines that it presupposes, or let it go if it is too old."""
    epoch = passed.epoch
    desk.hear(epoch)
    if epoch < desk.state.promised:
        if epoch < desk.state.epoch:
            desk.hint(sender, Seen(desk.state.epoch))
        return
    if epoch > desk.state.promised:
        desk.promise(epoch)
    desk.refresh()
    if is_ready(desk, passed):
        take_token(desk, sender, passed)
    else:
        desk.set(early=(sender, passed))
        desk.send(sender, Behind(epoch, known(desk, epoch)))


def is_ready(desk: Desk, passed: Passed) -> bool:
    """Tell whether a token that came can be taken."""
    state = desk.state
    return state.inner is not None and passed.epoch == state.epoch and state.log.length >= passed.length


def take_token(desk: Desk, sender: NodeId, passed: Passed) -> None:
    """Take a token that came: all lines it tells of are safe."""
    desk.commit(passed.length)
    _forget(desk, passed)
    desk.answer_seekers()
    desk.hand(Received(_place(desk, sender), passed.token))


def on_search(desk: Desk, sender: NodeId, search: Search) -> None:
    """Let the ring's machine have what is about its token."""
    state = desk.state
    if search.epoch == state.epoch and state.inner is not None and sender in state.ring:
        desk.hand(Received(_place(desk, sender), search.message))
    elif search.epoch < state.epoch:
        desk.hint(sender, Seen(state.epoch))


def _place(desk: Desk, node: NodeId) -> NodeId:
    return type(node)(desk.state.ring.index(node))


def _forget(desk: Desk, passed: Passed) -> None:
    """Forget lines that every member has; it takes the token a round to find out which."""
    state = desk.state
    low, so_far = passed.low, passed.low_so_far
    if passed.token.lender is None:
        if state.ring[0] == desk.me:
            is_whole = len(state.ring) == len(state.log.members)
            low, so_far = (max(low, so_far) if is_whole else low), state.committed
        else:
            so_far = min(so_far, state.committed)
    if low != state.low or so_far != state.low_so_far:
        desk.set(low=low, low_so_far=so_far)
    if low - state.log.base >= desk.config.kept:
        desk.set(log=forgotten(state.log, min(low, state.committed)))


def _is_old(desk: Desk, append: Append) -> bool:
    """Tell whether all of it is long known: a late answer, or the first part of one from who has forgotten less."""
    return bool(desk.state.log.members) and append.first + len(append.lines) < desk.state.log.base


def _without_forgotten(desk: Desk, append: Append) -> Append:
    """Leave out lines that this node had and has forgotten: they are the same everywhere."""
    base = desk.state.log.base
    if append.first >= base or append.first + len(append.lines) < base:
        return append
    lines = append.lines[base - append.first :]
    return replace(append, first=base, before=desk.state.log.base_epoch, lines=lines, members=None)


__all__ = [
    "is_ready",
    "known",
    "on_append",
    "on_behind",
    "on_committed",
    "on_passed",
    "on_saved",
    "on_search",
    "take_token",
    "write",
]
