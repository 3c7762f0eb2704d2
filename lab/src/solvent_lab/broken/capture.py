"""Capture as it must not be: one known fault each, for the checker to find.

C1 to C6 are what the paper prints, taken literally (docs/explanation/capture.md); C4 and C5 are the sound machine
without `waiting`, and need no variant. The others leave out what our own machines do.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.capture import moving
from solvent.protocols.capture.moving import Attempt, Got
from solvent.protocols.capture.vocabulary import MoleculeId
from solvent.protocols.machine import NodeId, Save, Send
from solvent.protocols.maps import Map
from solvent_lab.checker.registry import Variants
from solvent_lab.models.capture import PAIR, SPECTATOR, THREE, paper
from solvent_lab.models.capture import moving as model
from solvent_lab.papers.capture import holder, requester
from solvent_lab.papers.capture.messages import (
    Commitment,
    Fetch,
    GiveUp,
    Lent,
    RespMolecule,
    RespOk,
    RespRemoved,
    RespTaken,
)
from solvent_lab.papers.capture.state import Committing, Fetching, Hold, Querying
from solvent_lab.variants import variant

if TYPE_CHECKING:
    from solvent.protocols.capture.moving import Given, Take
    from solvent.protocols.capture.moving import Now as MovingNow
    from solvent.protocols.capture.vocabulary import Combination
    from solvent_lab.papers.capture.state import CaptureConfig, Holding, Now

BROKEN = Variants()


@BROKEN.add(paper, PAIR, "oo")
@variant(holder, "on_give_up")
def anybody_gives_up(on_give_up: Any, now: Now, sender: NodeId, message: GiveUp) -> None:
    """C1: a refused requester frees what another has taken."""
    holding = now.state.molecules.get(message.molecule)
    if holding is not None and holding.hold is not None:
        holder.free(now, message.molecule, holding)
    else:
        on_give_up(now, sender, message)


@BROKEN.add(paper, PAIR, "oo")
@BROKEN.add(paper, PAIR, "pp", name="no-attempt-numbers-p")
@variant(requester, "on_ok")
def no_attempt_numbers(on_ok: Any, now: Now, sender: NodeId, message: RespOk) -> None:
    """C2: late answers count for the next attempt, and any fetch is served."""
    on_ok(now, sender, _current(now, message))


@no_attempt_numbers.also(requester, "on_molecule")
def any_molecule_counts(on_molecule: Any, now: Now, sender: NodeId, message: RespMolecule) -> None:
    """Take a molecule for one of the attempt that is out."""
    on_molecule(now, sender, _current(now, message))


@no_attempt_numbers.also(requester, "on_refusal")
def any_refusal_counts(_on_refusal: Any, now: Now, _sender: NodeId, _message: RespTaken | RespRemoved) -> None:
    """Take a refusal for one of the attempt that is out."""
    phase = now.state.phase
    if isinstance(phase, Fetching | Querying | Committing):
        requester.abandon(now, phase)


@no_attempt_numbers.also(holder, "may_fetch")
def any_pessimist_fetches(
    may_fetch: Any, config: CaptureConfig, holding: Holding, sender: NodeId, fetch: Fetch
) -> bool:
    """Send the molecule to any pessimist."""
    return not fetch.is_optimistic or bool(may_fetch(config, holding, sender, fetch))


def _current(now: Now, message: Any) -> Any:
    return replace(message, attempt=getattr(now.state.phase, "number", message.attempt))


@BROKEN.add(paper, PAIR, "pp")
@variant(holder, "on_commitment")
def head_is_locked(on_commitment: Any, now: Now, sender: NodeId, message: Commitment) -> None:
    """C3: a commitment locks for the first in the list, whichever node asked, for ever."""
    state = now.state
    holding = state.molecules.get(message.molecule)
    if holding is not None and holding.hold is None and holding.queue:
        first = min(holding.queue.values())
        if first.requester != sender:
            hold = Hold(first.requester, first.attempt, False, first)
            state.molecules = state.molecules.set(message.molecule, replace(holding, hold=hold, first=None))
    on_commitment(now, sender, message)


@head_is_locked.also(holder, "on_give_up")
def promises_stay(on_give_up: Any, now: Now, sender: NodeId, message: GiveUp) -> None:
    """Keep what is promised and not lent."""
    holding = now.state.molecules.get(message.molecule)
    if holding is None or holding.hold is None or holding.hold.is_lent:
        on_give_up(now, sender, message)


@BROKEN.add(paper, THREE, "pp")
@variant(requester, "on_refusal")
def ghosts_in_the_list(on_refusal: Any, now: Now, sender: NodeId, message: RespTaken | RespRemoved) -> None:
    """C6: a holder that refused is not told that the attempt is over, and keeps it on its list."""
    on_refusal(now, sender, message)
    now.effects[:] = [
        one
        for one in now.effects
        if not (isinstance(one, Send) and isinstance(one.message, GiveUp) and one.to == sender)
    ]


@BROKEN.add(paper, PAIR, "oo")
@variant(holder, "on_fetch")
def lends_twice(on_fetch: Any, now: Now, sender: NodeId, fetch: Fetch) -> None:
    """An optimist's molecule is not marked as taken."""
    before = now.state.molecules
    on_fetch(now, sender, fetch)
    now.state.molecules = before


@BROKEN.add(paper, PAIR, "oo", crashes=1)
@variant(holder, "on_fetch")
def unsaved_loans(on_fetch: Any, now: Now, sender: NodeId, fetch: Fetch) -> None:
    """A loan is forgotten in a crash, and made again."""
    on_fetch(now, sender, fetch)
    now.effects[:] = [one for one in now.effects if not (isinstance(one, Save) and isinstance(one.record, Lent))]


# ------------------------------------------------------------------------------------------------- by moving


@BROKEN.add(model, PAIR)
@variant(moving, "on_take")
def keeps_a_copy(on_take: Any, now: MovingNow, requester: NodeId, take: Take) -> None:
    """A holder gives a molecule away and keeps it."""
    before = now.state.molecules
    on_take(now, requester, take)
    now.state.molecules = before


@BROKEN.add(model, PAIR)
@variant(moving, "may_give")
def never_yields(
    may_give: Any, now: MovingNow, requester: NodeId, _reactions: int, chosen: tuple[MoleculeId, ...]
) -> bool:
    """Nodes never give away what their own attempts need."""
    return bool(may_give(now, requester, 1 << 60, chosen))


@BROKEN.add(model, PAIR)
@variant(moving, "may_give")
def always_yields(
    may_give: Any, now: MovingNow, requester: NodeId, _reactions: int, chosen: tuple[MoleculeId, ...]
) -> bool:
    """Nodes give away what their own attempts need to any other."""
    return bool(may_give(now, requester, -1, chosen))


@BROKEN.add(model, SPECTATOR)
@variant(moving, "on_combination")
def takes_without_a_part(on_combination: Any, now: MovingNow, combination: Combination) -> None:
    """A node that has no part of a combination takes one that lies at several others."""
    # A part of its own that does not exist makes the sound machine believe that it has one.
    holders = {holder for _, holder in combination.places}
    if len(holders) < 2 or now.config.node in holders:
        on_combination(now, combination)
        return
    places = (*combination.places, (MoleculeId(-1), now.config.node))
    on_combination(now, replace(combination, places=places, values=()))
    if isinstance(now.state.phase, Attempt):
        now.state.phase = replace(now.state.phase, own=())


@BROKEN.add(model, PAIR, crashes=1)
@variant(moving, "on_take")
def forgets_gifts(on_take: Any, now: MovingNow, requester: NodeId, take: Take) -> None:
    """A gift is not kept until it is confirmed, and is lost in a crash."""
    on_take(now, requester, take)
    now.state.gifts = Map()


@BROKEN.add(model, PAIR, crashes=1)
@variant(moving, "on_given")
def accepts_twice(on_given: Any, now: MovingNow, giver: NodeId, given: Given) -> None:
    """A gift that is sent again after a crash is taken for a new one."""
    now.state.got = Map()
    on_given(now, giver, given)


@BROKEN.add(model, PAIR, crashes=1)
@variant(moving, "on_given")
def unsaved_arrivals(on_given: Any, now: MovingNow, giver: NodeId, given: Given) -> None:
    """A gift is confirmed without having been saved."""
    on_given(now, giver, given)
    now.effects[:] = [one for one in now.effects if not (isinstance(one, Save) and isinstance(one.record, Got))]


BROKEN |= {
    "pessimists-do-not-wait": partial(
        paper, PAIR, "pp", waiting=False, title="C4: pessimists refuse each other for ever"
    ),
    "nobody-waits": partial(
        paper, PAIR, "op", waiting=False, title="C5: an optimist and a pessimist refuse each other for ever"
    ),
    "only-optimists": partial(paper, PAIR, "oo", title="the optimistic sub-protocol alone is not live"),
}

__all__ = ["BROKEN"]
