"""How a lost token is missed, and how exactly one new one is made; and how nodes get into the ring.

Whoever has heard nothing of the token for too long asks all where it is. If nobody has it, and it comes by nobody for a
while, the node has most members promise to heed no older token than its new one, takes the longest log of theirs, and
begins an epoch with them. Two tokens of one epoch cannot be, since its number carries its maker's; a token of an older
epoch may still be somewhere, but most will not heed it, and so nothing is written with it.

A holder that wants another ring (somebody came back, came new, or went) gives its token up and does the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.machine import SetTimer
from solvent.protocols.token.group.messages import (
    Behind,
    Elect,
    Hello,
    Line,
    Promise,
    Refuse,
    Resign,
    Seek,
    Seen,
    View,
)
from solvent.protocols.token.group.order import known, write
from solvent.protocols.token.group.state import PATIENCE, Election
from solvent.protocols.token.group.vocabulary import Epoch, Suspected

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.protocols.machine import NodeId
    from solvent.protocols.token.group.desk import Desk

MAX_CALM = 64


def is_majority(nodes: Iterable[NodeId], members: Map[NodeId, str]) -> bool:
    """Tell whether these are most of the members; of no members, anybody is."""
    return not members or 2 * sum([node in members for node in nodes]) > len(members)


# -------------------------------------------------------------------------------------------------------- patience


def set_patience(desk: Desk) -> None:
    """Look again after a while; not all nodes at the same time, so that one is first."""
    ring, patience = desk.state.ring, desk.config.patience
    rank = ring.index(desk.me) if desk.me in ring else 0
    desk.effects.append(SetTimer(PATIENCE, patience + patience * rank // max(1, len(ring))))


def on_patience(desk: Desk) -> None:
    """Seek the token if nothing was heard of it for too long."""
    state = desk.state
    if state.is_gone:
        return
    set_patience(desk)
    if state.is_appending:
        # Perhaps too few of the ring are left, or the others have gone on without this node.
        append = desk.lines_from(state.committed, state.epoch)
        for node in desk.others(state.log.members):
            desk.hint(node, append)
    if state.fence is not None and state.heard > state.epoch:
        # Somebody wanted to make a new token, and may have.
        for node in desk.others(state.log.members):
            desk.hint(node, Seek(state.epoch))
    if state.is_fresh or desk.has_token:
        desk.set(is_fresh=False, quiet=0)
        return
    desk.set(quiet=min(state.quiet + 1, 1 << 20))
    if state.election is not None or state.is_seeking:
        return
    if desk.me not in state.log.members:
        # New, or let go before it crashed: whoever is started wants to be in.
        contacts = (*desk.config.contacts, *desk.others(state.log.members))
        if contacts:
            say_hello(desk, contacts[state.quiet % len(contacts)])
    elif desk.state.quiet >= _calm(desk):
        desk.set(quiet=0)
        seek(desk)


def _calm(desk: Desk) -> int:
    """Tell how often nothing may be heard: once by those who want it; by others until it had time to come round."""
    state, config = desk.state, desk.config
    if state.inner is None or state.inner.is_waiting:
        return state.calm
    return state.calm * (2 + len(state.ring) * (config.ring.max_rest + config.hop) // config.patience)


def seek(desk: Desk) -> None:
    """Ask all for the token."""
    desk.set(is_seeking=True)
    for node in desk.others(desk.state.log.members):
        desk.hint(node, Seek(desk.state.epoch))
    desk.await_answers()


def on_seek(desk: Desk, sender: NodeId, seek: Seek) -> None:
    """Tell where the token is, now or when it comes."""
    state = desk.state
    if seek.epoch < state.epoch or (seek.epoch == state.epoch and desk.has_token):
        desk.hint(sender, Seen(state.epoch))
    else:
        # One looks for it; that is enough.
        desk.set(seekers=state.seekers | {sender}, is_fresh=True)


def on_seen(desk: Desk, sender: NodeId, seen: Seen) -> None:
    """Be calmer, or find that the others have gone on without this node."""
    if seen.epoch < desk.state.epoch:
        return
    if seen.epoch > desk.state.promised:
        # It has begun: whatever this node has of an older one is worth nothing, and the user hears of it.
        desk.promise(seen.epoch)
    if desk.state.is_seeking:
        desk.set(calm=min(2 * desk.state.calm, MAX_CALM))
    desk.refresh()
    if seen.epoch > desk.state.epoch and desk.has_token:
        # The others have a newer one.
        desk.drop_token()
    if seen.epoch > desk.state.epoch or desk.me not in desk.state.ring:
        say_hello(desk, sender)


# ------------------------------------------------------------------------------------------------------- elections


def start_election(desk: Desk) -> None:
    """Have the others promise to heed no older token than the one to be made."""
    state = desk.state
    epoch = Epoch(max(state.heard, state.promised).number + 1, desk.me)
    desk.promise(epoch)
    log = desk.state.log
    promises = Map({desk.me: (log.last, log.length)})
    desk.set(election=Election(epoch, promises), is_seeking=False, hellos=Map())
    desk.tell(Suspected(epoch))
    for node in desk.others(log.members):
        desk.send(node, Elect(epoch))
    desk.await_answers()


def on_elect(desk: Desk, sender: NodeId, elect: Elect) -> None:
    """Promise, unless something newer was promised or the user has the token."""
    epoch, state = elect.epoch, desk.state
    desk.hear(epoch)
    if state.is_gone:
        return
    if epoch < state.promised:
        desk.send(sender, Refuse(epoch, state.promised))
    elif state.fence is not None and not state.is_appending:
        desk.send(sender, Refuse(epoch, state.promised, is_held=True))
    else:
        if epoch > state.promised:
            desk.promise(epoch)
        desk.refresh()
        log = desk.state.log
        desk.send(sender, Promise(epoch, log.last, log.length))


def on_promise(desk: Desk, sender: NodeId, promise: Promise) -> None:
    """Count it."""
    election = desk.state.election
    if election is not None and election.epoch == promise.epoch and not election.is_closed:
        promises = election.promises.set(sender, (promise.last, promise.length))
        desk.set(election=replace(election, promises=promises))


def on_refuse(desk: Desk, sender: NodeId, refuse: Refuse) -> None:
    """Do without who has promised something newer, as long as enough are left."""
    desk.hear(refuse.promised)
    state = desk.state
    election = state.election
    if election is not None and election.epoch == refuse.epoch:
        if refuse.is_held:
            desk.stop_electing()
            desk.set(is_fresh=True)
        elif not election.is_closed:
            desk.set(election=replace(election, refused=election.refused | {sender}))
    elif refuse.is_held and refuse.epoch <= state.epoch:
        # Too late: the new token is there.
        desk.hint(sender, Seen(state.epoch))
    elif refuse.epoch == state.epoch and state.is_appending and refuse.promised > state.promised:
        desk.set(refused=state.refused | {sender})
        if not is_majority([node for node in state.log.members if node not in desk.state.refused], state.log.members):
            # What is written here will not be safe in this epoch.
            desk.promise(desk.state.heard)


def on_answers_awaited(desk: Desk) -> None:
    """Go on with those who have answered."""
    election = desk.state.election
    if desk.state.is_seeking:
        start_election(desk)
    elif election is None:
        return
    elif election.fetches_from is None and is_majority(election.promises, desk.state.log.members):
        desk.set(election=replace(election, is_closed=True))
    else:
        desk.stop_electing()


def on_resign(desk: Desk, resign: Resign) -> None:
    """Make a new token for one who had it and has left."""
    if resign.epoch == desk.state.epoch == desk.state.promised and desk.state.election is None:
        start_election(desk)


def close(desk: Desk) -> None:
    """Get the best log of those who promised."""
    election = desk.state.election
    assert election is not None
    if not is_majority(election.promises, desk.state.log.members):
        desk.stop_electing()
        desk.set(is_fresh=True)
        return
    mine = election.promises[desk.me]
    best = max(election.promises.values())
    if best <= mine:
        desk.set(election=replace(election, is_closed=True, is_complete=True))
        return
    node = min(node for node, log in election.promises.items() if log == best)
    desk.set(election=replace(election, is_closed=True, fetches_from=node))
    desk.send(node, Behind(election.epoch, desk.state.committed))
    desk.await_answers()


def begin(desk: Desk) -> None:
    """Begin the epoch; its token is made when its beginning is safe."""
    election = desk.state.election
    assert election is not None
    members = desk.state.log.members
    if not is_majority(election.promises, members):
        # The best log names members that were not asked.
        _ask_more(desk, election)
        return
    nodes = sorted(node for node in election.promises if node in members)
    if desk.me not in nodes:
        # The best log says that this node is a member no longer.
        desk.stop_electing()
        return
    at = nodes.index(desk.me)
    ring = (*nodes[at:], *nodes[:at])
    write(desk, desk.state.log.length, (Line(election.epoch, View(ring)),))
    desk.set(is_appending=True, is_beginning=True)
    log = desk.state.log
    for node in desk.others(ring):
        last, length = election.promises[node]
        first = length if log.joins(length, last) else log.length - 1
        desk.send(node, desk.lines_from(first, election.epoch))


def _ask_more(desk: Desk, election: Election) -> None:
    """Have members promise that this node did not know of."""
    log = desk.state.log
    mine = election.promises.set(desk.me, (log.last, log.length))
    desk.set(election=replace(election, promises=mine, is_closed=False, is_complete=False))
    for node in desk.others(log.members):
        if node not in election.promises:
            desk.send(node, Elect(election.epoch))
    desk.await_answers()


# ------------------------------------------------------------------------------------------------------- newcomers


def say_hello(desk: Desk, to: NodeId) -> None:
    """Ask a node to have this one taken into the ring."""
    if not desk.state.is_gone:
        state = desk.state
        desk.send(to, Hello(desk.config.where, state.epoch, state.committed, state.promised, state.is_leaving))


def on_hello(desk: Desk, sender: NodeId, hello: Hello) -> None:
    """Take another in when the token comes; or give it what it lacks if it is in already."""
    # A new epoch with it must be newer than that.
    desk.hear(hello.promised)
    state = desk.state
    if state.is_gone or desk.me not in state.log.members:
        return
    is_member, is_settled = sender in state.log.members, state.epoch == state.promised
    if (hello.is_leaving and not is_member) or (is_member and sender in state.ring and is_settled):
        if is_settled and hello.epoch <= state.epoch:
            desk.send(sender, desk.all_from(hello.first, state.epoch))
    else:
        # It may turn out to be in the next ring anyway.
        desk.set(hellos=state.hellos.set(sender, hello.where))


def on_restarted(desk: Desk, peer: NodeId) -> None:
    """Say again what a node has forgotten, or never heard."""
    state = desk.state
    election = state.election
    if state.is_appending and peer in {*state.ring, *state.hellos}:
        # It may have less than that, and will say so.
        desk.send(peer, desk.lines_from(state.committed, state.epoch))
    if election is not None:
        if election.fetches_from == peer:
            desk.send(peer, Behind(election.epoch, state.committed))
        elif not election.is_closed and peer not in election.promises and peer in state.log.members:
            desk.send(peer, Elect(election.epoch))
    if state.early is not None and state.early[0] == peer:
        desk.send(peer, Behind(state.early[1].epoch, known(desk, state.early[1].epoch)))
    if desk.me not in state.log.members and peer in desk.config.contacts:
        # A newcomer does not know how often others have come back, and learns it by the first thing it says.
        say_hello(desk, peer)


__all__ = [
    "begin",
    "close",
    "is_majority",
    "on_answers_awaited",
    "on_elect",
    "on_hello",
    "on_patience",
    "on_promise",
    "on_refuse",
    "on_resign",
    "on_restarted",
    "on_seek",
    "on_seen",
    "say_hello",
    "set_patience",
    "start_election",
]
