"""One process's part of a resource across a repair: what it says that it has, and what it has afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp import lock, process
from solvent.protocols.elmp.messages import Own, Token
from solvent.protocols.elmp.process import seated
from solvent.protocols.elmp.state import ENTRUSTED, Departure, ElmpState, Joining, Out, Step, Use
from solvent.protocols.elmp.vocabulary import Joined, Recalled
from solvent.protocols.handover.messages import Renewal, Survivor

if TYPE_CHECKING:
    from solvent.protocols.elmp.process import Elmp
    from solvent.protocols.machine import Effects, NodeId


def survivor(node: NodeId, state: ElmpState) -> Survivor | None:
    """Say what is here of a resource that counts across epochs; nothing if the process takes no part in it."""
    if type(state.phase) is Out:
        return None
    if type(state.phase) is Joining:
        return Survivor(node, 0)
    return Survivor(node, state.rank, tuple(place for place in state.places if place.turn), state.uses, state.stored)


def renewed(locks: Elmp, old: ElmpState, renewal: Renewal) -> tuple[ElmpState, Effects]:
    """Put together what is to be from what was here and what the repair has given, and go on with it."""
    node, data = locks.node, renewal.data
    live = {one[:2] for one in renewal.entries}
    uses = tuple(_surviving(node, use, renewal, live) for use in old.uses if _is_kept(node, use, live))
    queue = [one for one in old.queue if isinstance(one[1], Own) and one[1].what == "request"]
    queue += [
        (node, Own("request", place.handle, place.claim))
        for place in old.places
        if not place.turn and place.handle is not None
    ]
    is_holder = data is not None and data.holder == node
    is_needed = data is not None and data.is_at(node)
    new = seated(
        replace(renewal.seat, queue=tuple(queue)),
        renewal.rank,
        asks=old.asks,
        places=renewal.places,
        uses=uses,
        used=old.used,
        is_listed=any(one == node for one, _ in live),
        departure=None if old.departure is None else Departure(),
        keeps=data.version if data is not None and is_needed else None,
        stored=data if is_holder else old.stored,
        timed=old.timed,
        latest=max((old.latest, *(place.turn for place in renewal.places))),
    )
    now = Step(node, locks.config, new, [])
    if type(old.phase) is Joining:
        now.report(Joined(renewal.rank))
    if any(use.handle == ENTRUSTED and use.is_held for use in old.uses):
        # What there is to fetch may be something else now, and the token may be about to go on.
        now.report(Recalled())
    for use in uses:
        lock.ask_again(now, use)
    for place in renewal.places:
        lock.go_on(now, place)
        if place.has_token and place.handle is None and place.next is None:
            lock.pass_on(now, place)
    if renewal.token:
        lock.on_token(now, Token(renewal.token, data, renewal.entries))
    process.settle(now)
    return new, tuple(now.effects)


def _is_kept(node: NodeId, use: Use, live: set[tuple[NodeId, int]]) -> bool:
    """Whether a claim that was let in still is: all but those that are over and whose changes are elsewhere."""
    if use.handle is None:
        return (node, use.number) in live
    return use.handle != ENTRUSTED


def _surviving(node: NodeId, use: Use, renewal: Renewal, live: set[tuple[NodeId, int]]) -> Use:
    """Let a claim wait for nobody who is dead; who waits for it will ask again."""
    old, new = use.data, renewal.data
    is_lost = old is not None and new is not None and old.holder not in (node, new.holder)
    # Somebody else may have a part of who died, on another host.
    is_lost |= new is not None and any((one.holder, one.use) not in live for one in use.sources)
    return replace(
        use,
        # A claim that holds is granted again if its data, or a part of it, was at who died.
        is_held=use.is_held and not is_lost,
        data=old if use.is_held and not is_lost else new,
        earlier=tuple(one for one in use.earlier if one[:2] in live),
        awaits=tuple(one for one in use.awaits if one in live),
        askers=(),
        sources=tuple(one for one in use.sources if (one.holder, one.use) in live),
    )


__all__ = ["renewed", "survivor"]
