"""How a lost token is missed, and how exactly one new one is made; and how nodes get into the ring.

A node that has heard nothing of the token for too long asks all where it is. If none has it, and it comes by nowhere
for a while, the node has most members promise to heed no older token than its new one, takes the longest log of theirs,
and begins an epoch with them. Two tokens of one epoch cannot be, since its number carries its maker's; a token of an
older epoch may still be somewhere, but most will not heed it, and so nothing is written with it. A holder that wants
another ring (a node came back, came new, or went) gives its token up and does the same.

A process that stood still does not know whether the others have made a new token meanwhile. So it asks all members
which epoch they are in. A token exists only when most members are in its epoch; so if most are in no newer one than
this node, none has had the lock by a newer token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.machine import SetTimer
from solvent.protocols.maps import Map
from solvent.protocols.token.group import order
from solvent.protocols.token.group.messages import (
    Behind,
    Confirmed,
    Elect,
    Epoch,
    Hello,
    Known,
    Line,
    Probe,
    Promise,
    Refuse,
    Resign,
    Seek,
    Seen,
    Suspected,
    View,
)
from solvent.protocols.token.group.state import PATIENCE, Election

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.protocols.machine import NodeId
    from solvent.protocols.token.group.state import Now

MAX_CALM = 64


def is_majority(nodes: Iterable[NodeId], members: Map[NodeId, str]) -> bool:
    """Decide whether these are most of the members; of no members, anybody is."""
    return not members or 2 * sum([node in members for node in nodes]) > len(members)


# -------------------------------------------------------------------------------------------------------- patience


def set_patience(now: Now) -> None:
    """Look again after a while; not all nodes at the same time, so that one is first."""
    ring, patience = now.state.ring, now.config.patience
    rank = ring.index(now.config.node) if now.config.node in ring else 0
    now.effects.append(SetTimer(PATIENCE, patience + patience * rank // max(1, len(ring))))


def on_patience(now: Now) -> None:
    """Seek the token if nothing was heard of it for too long."""
    state = now.state
    if state.is_gone:
        return
    set_patience(now)
    if state.is_appending:
        # Perhaps too few of the ring are left, or the others have gone on without this node.
        append = order.lines_from(now, state.committed, state.epoch)
        for node in order.others(now, state.log.members):
            order.hint(now, node, append)
    if state.fence is not None and state.heard > state.epoch:
        # Another node wanted to make a new token, and may have.
        for node in order.others(now, state.log.members):
            order.hint(now, node, Seek(state.epoch))
    if state.is_fresh or order.has_token(state):
        state.is_fresh, state.quiet = False, 0
        return
    quiet, state.quiet = state.quiet, min(state.quiet + 1, 1 << 20)
    if state.election is not None or state.is_seeking:
        return
    if now.config.node not in state.log.members:
        # New, or let go before it crashed: a node that is started wants to be in.
        contacts = (*now.config.contacts, *order.others(now, state.log.members))
        if contacts:
            say_hello(now, contacts[quiet % len(contacts)])
    elif state.quiet >= _calm(now):
        state.quiet = 0
        seek(now)


def _calm(now: Now) -> int:
    """Return how often nothing may be heard: once by those who want it; by others until it had time to come round."""
    state, config = now.state, now.config
    if state.inner is None or state.inner.is_waiting:
        return state.calm
    return state.calm * (2 + len(state.ring) * (config.ring.max_rest + config.hop) // config.patience)


def seek(now: Now) -> None:
    """Ask all for the token."""
    now.state.is_seeking = True
    for node in order.others(now, now.state.log.members):
        order.hint(now, node, Seek(now.state.epoch))
    order.await_answers(now)


def on_seek(now: Now, sender: NodeId, seek: Seek) -> None:
    """Answer where the token is, now or when it comes."""
    state = now.state
    if seek.epoch < state.epoch or (seek.epoch == state.epoch and order.has_token(state)):
        order.hint(now, sender, Seen(state.epoch))
    else:
        # One looks for it; that is enough.
        state.seekers, state.is_fresh = state.seekers | {sender}, True


def on_seen(now: Now, sender: NodeId, seen: Seen) -> None:
    """Be calmer, or find that the others have gone on without this node."""
    if seen.epoch < now.state.epoch:
        return
    if seen.epoch > now.state.promised:
        # It has begun: whatever this node has of an older one is worth nothing, and the user hears of it.
        order.promise(now, seen.epoch)
    if now.state.is_seeking:
        now.state.calm = min(2 * now.state.calm, MAX_CALM)
    order.refresh(now)
    if seen.epoch > now.state.epoch and order.has_token(now.state):
        # The others have a newer one.
        order.drop_token(now)
    if seen.epoch > now.state.epoch or now.config.node not in now.state.ring:
        say_hello(now, sender)


# ------------------------------------------------------------------------------------------------------- elections


def start_election(now: Now) -> None:
    """Have the others promise to heed no older token than the one to be made."""
    state = now.state
    epoch = Epoch(max(state.heard, state.promised).number + 1, now.config.node)
    order.promise(now, epoch)
    log = state.log
    promises = Map({now.config.node: (log.last, log.length)})
    state.election, state.is_seeking, state.hellos = Election(epoch, promises), False, Map()
    now.report(Suspected(epoch))
    for node in order.others(now, log.members):
        now.send(node, Elect(epoch))
    order.await_answers(now)


def on_elect(now: Now, sender: NodeId, elect: Elect) -> None:
    """Promise, unless something newer was promised or the user has the token."""
    epoch, state = elect.epoch, now.state
    order.hear(now, epoch)
    if state.is_gone:
        return
    if epoch < state.promised:
        now.send(sender, Refuse(epoch, state.promised))
    elif state.fence is not None and not state.is_appending:
        now.send(sender, Refuse(epoch, state.promised, is_held=True))
    else:
        if epoch > state.promised:
            order.promise(now, epoch)
        order.refresh(now)
        log = state.log
        now.send(sender, Promise(epoch, log.last, log.length))


def on_promise(now: Now, sender: NodeId, promise: Promise) -> None:
    """Count it."""
    election = now.state.election
    if election is not None and election.epoch == promise.epoch and not election.is_closed:
        promises = election.promises.set(sender, (promise.last, promise.length))
        now.state.election = replace(election, promises=promises)


def on_refuse(now: Now, sender: NodeId, refuse: Refuse) -> None:
    """Do without who has promised something newer, as long as enough are left."""
    order.hear(now, refuse.promised)
    state = now.state
    election = state.election
    if election is not None and election.epoch == refuse.epoch:
        if refuse.is_held:
            order.stop_electing(now)
            state.is_fresh = True
        elif not election.is_closed:
            state.election = replace(election, refused=election.refused | {sender})
    elif refuse.is_held and refuse.epoch <= state.epoch:
        # Too late: the new token is there.
        order.hint(now, sender, Seen(state.epoch))
    elif refuse.epoch == state.epoch and state.is_appending and refuse.promised > state.promised:
        state.refused = state.refused | {sender}
        if not is_majority([node for node in state.log.members if node not in state.refused], state.log.members):
            # What is written here will not be safe in this epoch.
            order.promise(now, state.heard)


def on_answers_awaited(now: Now) -> None:
    """Go on with those who have answered."""
    election = now.state.election
    if now.state.is_seeking:
        start_election(now)
    elif election is None:
        return
    elif election.fetches_from is None and is_majority(election.promises, now.state.log.members):
        now.state.election = replace(election, is_closed=True)
    else:
        order.stop_electing(now)


def on_resign(now: Now, resign: Resign) -> None:
    """Make a new token for one who had it and has left."""
    if resign.epoch == now.state.epoch == now.state.promised and now.state.election is None:
        start_election(now)


def close(now: Now) -> None:
    """Get the best log of those who promised."""
    state = now.state
    election = state.election
    assert election is not None
    if not is_majority(election.promises, state.log.members):
        order.stop_electing(now)
        state.is_fresh = True
        return
    mine = election.promises[now.config.node]
    best = max(election.promises.values())
    if best <= mine:
        state.election = replace(election, is_closed=True, is_complete=True)
        return
    node = min(node for node, log in election.promises.items() if log == best)
    state.election = replace(election, is_closed=True, fetches_from=node)
    now.send(node, Behind(election.epoch, state.committed))
    order.await_answers(now)


def begin(now: Now) -> None:
    """Begin the epoch; its token is made when its beginning is safe."""
    state = now.state
    election = state.election
    assert election is not None
    members = state.log.members
    if not is_majority(election.promises, members):
        # The best log names members that were not asked.
        _ask_more(now, election)
        return
    nodes = sorted(node for node in election.promises if node in members)
    if now.config.node not in nodes:
        # The best log says that this node is a member no longer.
        order.stop_electing(now)
        return
    at = nodes.index(now.config.node)
    ring = (*nodes[at:], *nodes[:at])
    order.write(now, state.log.length, (Line(election.epoch, View(ring)),))
    state.is_appending = state.is_beginning = True
    log = state.log
    for node in order.others(now, ring):
        last, length = election.promises[node]
        first = length if log.joins(length, last) else log.length - 1
        now.send(node, order.lines_from(now, first, election.epoch))


def _ask_more(now: Now, election: Election) -> None:
    """Have members promise that this node did not know of."""
    log = now.state.log
    mine = election.promises.set(now.config.node, (log.last, log.length))
    now.state.election = replace(election, promises=mine, is_closed=False, is_complete=False)
    for node in order.others(now, log.members):
        if node not in election.promises:
            now.send(node, Elect(election.epoch))
    order.await_answers(now)


# ------------------------------------------------------------------------------------------------------- newcomers


def say_hello(now: Now, to: NodeId) -> None:
    """Ask a node to have this one taken into the ring."""
    if not now.state.is_gone:
        state = now.state
        now.send(to, Hello(now.config.where, state.epoch, state.committed, state.promised, state.is_leaving))


def on_hello(now: Now, sender: NodeId, hello: Hello) -> None:
    """Take another in when the token comes; or give it what it lacks if it is in already."""
    # A new epoch with it must be newer than that.
    order.hear(now, hello.promised)
    state = now.state
    if state.is_gone or now.config.node not in state.log.members:
        return
    is_member, is_settled = sender in state.log.members, state.epoch == state.promised
    if (hello.is_leaving and not is_member) or (is_member and sender in state.ring and is_settled):
        if is_settled and hello.epoch <= state.epoch:
            now.send(sender, order.all_from(now, hello.first, state.epoch))
    else:
        # It may turn out to be in the next ring anyway.
        state.hellos = state.hellos.set(sender, hello.where)


def on_restarted(now: Now, peer: NodeId) -> None:
    """Repeat what a node has forgotten, or never heard."""
    state = now.state
    election = state.election
    if state.is_appending and peer in {*state.ring, *state.hellos}:
        # It may have less than that, and will say so.
        now.send(peer, order.lines_from(now, state.committed, state.epoch))
    if election is not None:
        if election.fetches_from == peer:
            now.send(peer, Behind(election.epoch, state.committed))
        elif not election.is_closed and peer not in election.promises and peer in state.log.members:
            now.send(peer, Elect(election.epoch))
    if state.early is not None and state.early[0] == peer:
        now.send(peer, Behind(state.early[1].epoch, order.known(state, state.early[1].epoch)))
    if now.config.node not in state.log.members and peer in now.config.contacts:
        # A newcomer does not know how often others have come back, and learns it by the first thing it says.
        say_hello(now, peer)


# ----------------------------------------------------------------------------------------------- after a standstill


def confirm(now: Now, number: int) -> None:
    """Ask all members; an earlier probe counts no longer."""
    now.state.probe, now.state.answered = number, frozenset({now.config.node})
    ask_again(now)


def ask_again(now: Now) -> None:
    """Ask those that have not answered the probe that is under way, unless they are needed no more."""
    _count(now)
    state = now.state
    if state.answered is not None:
        for node in order.others(now, state.log.members):
            if node not in state.answered:
                order.hint(now, node, Probe(state.epoch, state.probe))


def on_probe(now: Now, sender: NodeId, probe: Probe) -> None:
    """Answer which epoch this node is in."""
    order.hint(now, sender, Known(now.state.epoch, probe.number))


def on_known(now: Now, sender: NodeId, known: Known) -> None:
    """Count an answer; one newer epoch is enough to know that this node was left behind."""
    state = now.state
    if known.epoch > state.epoch:
        on_seen(now, sender, Seen(known.epoch))
        _end(now)
    elif state.answered is not None and known.number == state.probe:
        state.answered = state.answered | {sender}
        _count(now)


def _count(now: Now) -> None:
    answered = now.state.answered
    if answered is not None and is_majority(answered, now.state.log.members):
        _end(now)


def _end(now: Now) -> None:
    if now.state.answered is not None:
        now.state.answered = None
        now.report(Confirmed(now.state.probe))
