"""The paper's protocol: one node that is both requester and holder, optimistic or pessimistic as it goes best.

This is M. Bertier, M. Obrovac and C. Tedeschi, "Adaptive atomic capture of multiple molecules" (2013), sections 3.1 to
3.5, with the repairs that safety needs (C1, C2, C3 and C6 in docs/explanation/capture.md); `waiting` adds those that
liveness needs (C4, C5). Read `holder` and `requester` first; this module dispatches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from msgspec.structs import replace

from solvent.errors import Misuse
from solvent.protocols.capture.moving import LIFE_SHIFT
from solvent.protocols.capture.vocabulary import Combination, Products, Wake
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
from solvent_lab.papers.capture import holder, requester
from solvent_lab.papers.capture.messages import (
    Commitment,
    Doubt,
    Fetch,
    GiveUp,
    Query,
    Reaction,
    Reply,
    Request,
    RespMolecule,
    RespOk,
    RespRemoved,
    RespTaken,
)
from solvent_lab.papers.capture.recovery import recovered
from solvent_lab.papers.capture.state import (
    RESTING,
    SEARCHING,
    CaptureConfig,
    CaptureState,
    Committing,
    Fetching,
    Now,
    Querying,
)
from solvent_lab.papers.capture.success import heard

if TYPE_CHECKING:
    from types import ModuleType

MAX_OWN = 255
"""How long a history may be: a rate travels and is kept as one byte."""


_HANDLERS: dict[type, tuple[ModuleType, str]] = {
    Query: (holder, "on_query"),
    Commitment: (holder, "on_commitment"),
    Fetch: (holder, "on_fetch"),
    GiveUp: (holder, "on_give_up"),
    Reaction: (holder, "on_reaction"),
    RespOk: (requester, "on_ok"),
    RespTaken: (requester, "on_refusal"),
    RespRemoved: (requester, "on_refusal"),
    RespMolecule: (requester, "on_molecule"),
    Doubt: (requester, "on_doubt"),
}
"""A table, since a `match` asks every class in turn, 0.1 us each. Functions are looked up when they are called, so that
variants can replace them.
"""


def capture_node(config: CaptureConfig) -> Configured[CaptureConfig, CaptureState]:
    """Make the machine of a node."""
    if config.max_own > MAX_OWN:
        raise Misuse("P302", f"a history of {config.max_own} entries is too long", hint=f"at most {MAX_OWN}")
    return Configured(start, step, config)


def start(config: CaptureConfig, saved: tuple[Any, ...] = (), life: int = 0) -> Step[CaptureState]:
    """Begin with the molecules given, or with what the records say is left of them."""
    now = Draft(config, recovered(config, saved))
    now.state.attempts = now.state.made = life << LIFE_SHIFT
    holder.doubt(now, None)
    requester.discover(now)
    return now.state, tuple(now.effects)


def step(config: CaptureConfig, state: CaptureState, event: Event) -> Step[CaptureState]:
    """Take one event."""
    now = Draft(config, replace(state))
    match event:
        case Received():
            on_message(now, event.sender, event.message, event.at)
        case Answered(Combination() as combination):
            requester.on_combination(now, combination)
        case Answered(Products(values)):
            requester.on_products(now, values)
        case Requested(Wake()):
            if state.mode != "dormant":
                wake(now)
        case TimerFired(name, at):
            # One that was set before the node fell asleep does not wake it.
            if state.mode != "dormant" or name == requester.SLEEP:
                now.state.now = at
                wake(now)
        case Chosen(option):
            requester.sleep(now, option)
        case PeerRestarted(peer):
            on_peer_restarted(now, peer)
        case Requested() | Answered():
            pass
        case _:
            assert_never(event)
    return now.state, tuple(now.effects)


def on_message(now: Now, sender: NodeId, message: Request | Reply | Doubt, at: int) -> None:
    """Take a message, and note what its sender says of its success."""
    config, state = now.config, now.state
    if not 0 <= message.rule < len(state.success):
        return
    state.success = heard(state.success, message.rule, message.rate, config, at)
    if config.ageing:
        state.now = at
    module, name = _HANDLERS[type(message)]
    getattr(module, name)(now, sender, message)


def wake(now: Now) -> None:
    """Look again, now or after what is under way."""
    state = now.state
    state.is_woken = state.phase != RESTING
    if not state.is_woken:
        state.phase = SEARCHING
        requester.discover(now)


# ---------------------------------------------------------------------------------------------------------- crashes


def on_peer_restarted(now: Now, peer: NodeId) -> None:
    """Forget what a restarted requester wanted, ask what it did; give up what a restarted holder forgot."""
    holder.forget(now, peer)
    holder.doubt(now, peer)
    phase = now.state.phase
    if isinstance(phase, Fetching | Querying | Committing) and any(where == peer for _, where in phase.places):
        # What it had answered is void, and what it has not answered it never will.
        requester.abandon(now, phase)
