"""The steps that are made most, in one go: where many want a lock all the time, nearly all of them.

A leaf asks for a place; the root puts it behind its own, and tells nobody; the token comes, tells of the place, and is
passed on. These steps are those of the desks, to the last field, only that nothing is taken apart and put together
again: a process that has waited while forty-nine others worked is slow by what it has to touch. Whatever is not quite
as usual is left to the desks. Tests make both kinds of step in every state of small worlds, and compare them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.elmp.desk import IDLE
from solvent.protocols.elmp.messages import Asking, Climb, Given, Token
from solvent.protocols.elmp.state import ElmpConfig, ElmpState, ElmpStep, Idle, Place, Requesting, Use
from solvent.protocols.elmp.vocabulary import WHOLE, Granted, Release, Request
from solvent.protocols.machine import NodeId, Report, Send

if TYPE_CHECKING:
    from collections.abc import Callable

_LEAF = (0, 1)


def _asking(me: NodeId, config: ElmpConfig, state: ElmpState, wanted: Request) -> ElmpStep | None:
    """Ask for a place, as a leaf that has nothing else to do."""
    seat = state.seat
    if type(state.phase) is not Idle or state.places or state.uses or seat.children or seat.ranks or wanted.patience:
        return None
    if seat.queue or state.departure is not None:
        return None
    number, can_wait = state.asks + 1, config.exchange_every > 1
    asked = replace(
        state, phase=Requesting(number, can_wait), asks=number, places=(Place(0, wanted.handle, wanted.claim),)
    )
    assert seat.parent is not None
    return asked, (Send(seat.parent, Climb((Asking(me, number, (me,), can_wait),))),)


def _with_trail(_: NodeId, config: ElmpConfig, state: ElmpState, message: Climb) -> ElmpStep | None:
    """Put the request of a child behind all that is known behind one's own place, as the root, and tell nobody."""
    seat, places, requests = state.seat, state.places, message.requests
    untold, tail, turn = seat.untold, seat.tail, seat.turns + 1
    if len(places) != 1 or len(requests) != 1 or not untold or not seat.ranks or type(state.phase) is not Idle:
        return None
    place, asking, last = places[0], requests[0], untold[-1]
    trail, requester = place.trail, asking.requester
    if (
        trail is None
        or place.next is None
        or (last.requester, last.turn) != tail
        or last.requester == requester
        or place.next[1] + len(trail) != last.turn
        or len(trail) >= config.max_trail
        or not asking.can_wait
        or len(asking.path) != 1
        or turn % config.exchange_every == 0
        or seat.queue
        or state.departure is not None
        or state.gathering is not None
        or state.swap is not None
        or (requester, *_LEAF) not in seat.children
    ):
        return None
    tail_now = requester, turn
    given = Given(requester, asking.number, asking.path, turn, tail)
    # Whoever asks again knows the place that it had before; it is one of the first.
    for number, one in enumerate(untold):
        if one.requester == requester:
            untold = untold[:number] + untold[number + 1 :]
            break
    untold = (*untold[:-1], replace(last, next=tail_now), given)
    seat = replace(seat, turns=turn, tail=tail_now, untold=untold)
    return replace(state, seat=seat, places=(replace(place, trail=(*trail, requester)),)), ()


def _with_token(me: NodeId, _: ElmpConfig, state: ElmpState, message: Token) -> ElmpStep | None:
    """Hold the claim for which there was a place that nobody had told of."""
    phase, seat, places, trail = state.phase, state.seat, state.places, message.trail
    if type(phase) is not Requesting or not phase.can_wait or trail is None or len(places) != 1 or message.active:
        return None
    place, turn, data = places[0], message.turn, message.data
    handle = place.handle
    if (
        place.turn
        or handle is None
        or place.next is not None
        or place.early is not None
        or place.claim != WHOLE
        or state.uses
        or state.timed
        or state.early
        or seat.children
        or seat.told != _LEAF
        or seat.queue
        or state.departure is not None
        or state.gathering is not None
        or state.swap is not None
    ):
        return None
    if trail:
        place = replace(place, turn=turn, has_token=True, data=data, next=(trail[0], turn + 1), trail=trail[1:])
    else:
        place = replace(place, turn=turn, has_token=True, data=data)
    use = Use(state.used + 1, handle, place.claim, turn, data, is_held=True)
    granted = replace(
        state,
        phase=IDLE,
        places=(place,),
        uses=(use,),
        used=use.number,
        is_listed=False,
        keeps=state.keeps if data is None or data.is_at(me) else None,
        latest=max(state.latest, turn),
    )
    return granted, (Report(Granted(handle, turn, data, (), use.number)),)


def _released(me: NodeId, _: ElmpConfig, state: ElmpState, wanted: Release) -> ElmpStep | None:
    """Let the next one have the token, where it is known and nobody else has to be told."""
    uses, places, data = state.uses, state.places, wanted.data
    if len(uses) != 1 or len(places) != 1 or type(state.phase) is not Idle:
        return None
    use, place = uses[0], places[0]
    after, old = place.next, place.data
    if (
        use.handle != wanted.handle
        or not use.is_held
        or use.askers
        or use.sources
        or place.turn != use.turn
        or after is None
        or use.claim != WHOLE
        or state.seat.queue
        or state.departure is not None
    ):
        return None
    if data is None:
        passed = replace(state, places=(), uses=())
        return passed, (Send(after[0], Token(after[1], old, place.active, place.trail)),)
    if old is not None and (old.parts or old.holder not in (me, data.holder)):
        return None
    data, keeps, stored = replace(data, since=(use.turn, use.number)), None, state.stored
    if data.holder == me:
        keeps = data.version
        if stored is None or stored.version <= keeps:
            stored = data
    passed = replace(state, places=(), uses=(), keeps=keeps, stored=stored)
    return passed, (Send(after[0], Token(after[1], data, (), place.trail)),)


USUAL: dict[type, Callable[[NodeId, ElmpConfig, ElmpState, Any], ElmpStep | None]] = {
    Token: _with_token,
    Climb: _with_trail,
    Request: _asking,
    Release: _released,
}
"""Steps by what is said or wanted; each gives nothing where something is not as usual."""

__all__ = ["USUAL"]
