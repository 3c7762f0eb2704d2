"""Standard names in worlds of capture: numbers of attempts and gifts, of which only the order matters.

Attempts are numbered upwards for ever, so a run that goes round in a circle would never come back to a world it has
been in. Renumbered from one, in order, it does; likewise gifts. What was saved becomes the fewest records that say the
same, and whether a gift was got is forgotten once it can arrive no more.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture import messages, moving_state, records, state, vocabulary
from solvent.protocols.capture.moving_recovery import compacted as moving_compacted
from solvent.protocols.capture.recovery import compacted
from solvent_lab.checker.small_numbers import PAIRS, RECIPIENT, SENDER, Numbers, Renumbering

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId
    from solvent_lab.checker.world import Local

_ATTEMPT, _GIFT = "attempt", "gift"
_OWN, _SENDERS, _RECIPIENTS = Numbers(_ATTEMPT), Numbers(_ATTEMPT, SENDER), Numbers(_ATTEMPT, RECIPIENT)
_REQUESTERS = Numbers(_ATTEMPT, "requester")
_REPLIES = (messages.RespOk, messages.RespTaken, messages.RespRemoved, messages.RespMolecule, messages.Doubt)
_REPORTS: dict[type, dict[str, Numbers]] = {
    vocabulary.Reacted: {"attempt": _OWN},
    vocabulary.Abandoned: {"attempt": _OWN},
}

ADAPTIVE: dict[type, dict[str, Numbers]] = {
    messages.CaptureMessage: {"attempt": _SENDERS},
    **{reply: {"attempt": _RECIPIENTS} for reply in _REPLIES},
    state.CaptureState: {"attempts": Numbers(_ATTEMPT, is_last=True), "reacted": _OWN},
    **{phase: {"number": _OWN} for phase in (state.Fetching, state.Querying, state.Committing, state.Reacting)},
    state.Claim: {"attempt": _REQUESTERS},
    state.Hold: {"attempt": _REQUESTERS},
    records.Lent: {"attempt": _REQUESTERS},
    records.Consumed: {"attempt": _OWN},
    **_REPORTS,
}

MOVING: dict[type, dict[str, Numbers]] = {
    moving_state.Take: {"attempt": _SENDERS},
    moving_state.Refused: {"attempt": _RECIPIENTS},
    moving_state.Given: {"attempt": _RECIPIENTS, "gift": Numbers(_GIFT, SENDER)},
    moving_state.Confirmed: {"gift": Numbers(_GIFT, RECIPIENT)},
    moving_state.MovingState: {
        "attempts": Numbers(_ATTEMPT, is_last=True),
        "given": Numbers(_GIFT, is_last=True),
        "gifts": Numbers(_GIFT),
        "got": Numbers(_GIFT, PAIRS, is_weak=True),
    },
    moving_state.Attempt: {"number": _OWN},
    moving_state.Reacting: {"number": _OWN},
    moving_state.Gave: {"gift": Numbers(_GIFT)},
    moving_state.Got: {"gift": Numbers(_GIFT, "giver", is_weak=True)},
    moving_state.Closed: {"gift": Numbers(_GIFT)},
    **_REPORTS,
}


def adaptive_names(configs: tuple[Any, ...]) -> Renumbering:
    """Give worlds of the paper's protocol their standard names."""
    return Renumbering(ADAPTIVE, simplified=partial(_simpler, configs))


def moving_names(configs: tuple[Any, ...]) -> Renumbering:
    """Give worlds of capture by moving their standard names."""
    return Renumbering(MOVING, simplified=partial(_simpler_moving, configs))


def _simpler(configs: tuple[Any, ...], node: NodeId, local: Local) -> Local:
    found = local.state
    if found is not None:
        # Whether the first of a queue has been worked out already makes no difference.
        held = {
            item: replace(one, first=min(one.queue.values(), default=None)) for item, one in found.molecules.items()
        }
        found = replace(found, molecules=Map(held))
    return replace(local, state=found, saved=compacted(configs[node], local.saved))


def _simpler_moving(configs: tuple[Any, ...], node: NodeId, local: Local) -> Local:
    return replace(local, saved=moving_compacted(configs[node], local.saved))
