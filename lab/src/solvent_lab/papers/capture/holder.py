"""The holder's side of both sub-protocols (the paper's algorithms 2 and 4), repaired.

A molecule is free, promised to one attempt, or lent to one attempt. Differences from the algorithms as printed:
only the attempt that has a molecule can give it up (C1); a molecule is sent to a pessimist only if it was promised
to that very attempt (C2); a promise is an answer actually given, and only its owner's `GiveUp` ends it (C3). With
`waiting`, a query that meets a hold of lower priority is kept and answered when the hold ends (C4, C5): waiting is
only ever of higher for lower priority, so nobody waits in a circle. An optimist's hold is of the lowest priority.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.machine import NodeId, Send
from solvent_lab.papers.capture.messages import (
    Commitment,
    Doubt,
    Fetch,
    Freed,
    GiveUp,
    Lent,
    Query,
    Reaction,
    Removed,
    RespMolecule,
    RespOk,
    RespRemoved,
    RespTaken,
)
from solvent_lab.papers.capture.state import CaptureConfig, Claim, Hold, Holding

if TYPE_CHECKING:
    from solvent.protocols.capture.vocabulary import MoleculeId
    from solvent_lab.papers.capture.state import CaptureState, Now


def on_query(now: Now, sender: NodeId, query: Query) -> None:
    """Answer whether a molecule is available to a pessimist, or let the query wait."""
    state, molecule = now.state, query.molecule
    holding = state.molecules.get(molecule)
    if holding is None:
        refuse(now, sender, query, RespRemoved)
        return
    claim = Claim(query.reactions, sender, query.attempt)
    hold = holding.hold
    if hold is None:
        queue, first = holding.queue, holding.first
        if first is not None and first.requester == sender:
            # Its earlier attempt ended unheard; which is first now must be found out.
            first = None
        if not queue or (first is not None and claim < first):
            first = claim
        changed = Holding(holding.value, None, queue.set(sender, claim), holding.waiting, first)
        state.molecules = state.molecules.set(molecule, changed)
        now.effects.append(Send(sender, RespOk(molecule, query.attempt, state.rule, own_rate(state))))
    elif now.config.waiting and (hold.claim is None or claim < hold.claim):
        # It may wait for a hold to end, since it comes first in the total order.
        changed = replace(holding, waiting=holding.waiting.set(sender, claim))
        state.molecules = state.molecules.set(molecule, changed)
    else:
        refuse(now, sender, query, RespTaken)


def own_rate(state: CaptureState) -> int:
    """Return the success rate for the rule that is being executed."""
    return state.success[state.rule].rate


def refuse(now: Now, sender: NodeId, message: Query | Commitment | Fetch, reply: type[RespTaken | RespRemoved]) -> None:
    """Answer no."""
    state = now.state
    now.effects.append(Send(sender, reply(message.molecule, message.attempt, state.rule, own_rate(state))))


def on_commitment(now: Now, sender: NodeId, message: Commitment) -> None:
    """Promise the molecule to the first in the total order of those interested, and to no other."""
    state, molecule = now.state, message.molecule
    holding = state.molecules.get(molecule)
    if holding is None:
        refuse(now, sender, message, RespRemoved)
        return
    if holding.hold is not None or not holding.queue:
        refuse(now, sender, message, RespTaken)
        return
    first = holding.first or min(holding.queue.values())
    if first.requester != sender or first.attempt != message.attempt:
        changed = Holding(holding.value, None, holding.queue, holding.waiting, first)
        state.molecules = state.molecules.set(molecule, changed)
        refuse(now, sender, message, RespTaken)
        return
    hold = Hold(sender, message.attempt, False, first)
    changed = Holding(holding.value, hold, holding.queue.delete(sender), holding.waiting)
    state.molecules = state.molecules.set(molecule, changed)
    now.effects.append(Send(sender, RespOk(molecule, message.attempt, state.rule, own_rate(state))))


def on_fetch(now: Now, sender: NodeId, fetch: Fetch) -> None:
    """Send the molecule to an optimist if it is free, to a pessimist if it was promised to this attempt."""
    config, state = now.config, now.state
    molecule, attempt = fetch.molecule, fetch.attempt
    holding = state.molecules.get(molecule)
    if holding is None:
        refuse(now, sender, fetch, RespRemoved)
        return
    if not may_fetch(config, holding, sender, fetch):
        refuse(now, sender, fetch, RespTaken)
        return
    hold = holding.hold
    is_lent = fetch.is_optimistic or config.confirm
    if config.confirm:
        now.save(Lent(molecule, sender, attempt))
    reply = RespMolecule(molecule, attempt, state.rule, own_rate(state), holding.value)
    now.effects.append(Send(sender, reply))
    if is_lent:
        lent = Hold(sender, attempt, True, hold.claim if hold is not None else None)
        changed = Holding(holding.value, lent, holding.queue, holding.waiting, holding.first)
        state.molecules = state.molecules.set(molecule, changed)
    else:
        # As in the paper a pessimist that fetches is sure to react, so nothing is kept here.
        state.molecules = state.molecules.delete(molecule)
        turn_away(now, molecule, holding)


def may_fetch(config: CaptureConfig, holding: Holding, sender: NodeId, fetch: Fetch) -> bool:
    """Decide whether the molecule can be sent to an attempt."""
    hold = holding.hold
    if hold is not None:
        # An attempt that has it may ask again: the answer may have been lost in a crash.
        return hold.requester == sender and hold.attempt == fetch.attempt
    # A pessimist that is interested comes before every optimist.
    return fetch.is_optimistic and (config.favours_optimists or not holding.queue)


def on_give_up(now: Now, sender: NodeId, message: GiveUp) -> None:
    """Free what the attempt had, and let those that waited go on."""
    state, molecule = now.state, message.molecule
    holding = state.molecules.get(molecule)
    if holding is None:
        return
    hold = holding.hold
    if hold is not None and hold.requester == sender and hold.attempt == message.attempt:
        free(now, molecule, holding)
    elif holding.queue or holding.waiting:
        state.molecules = state.molecules.set(molecule, _without(holding, sender, message.attempt))


def free(now: Now, molecule: MoleculeId, holding: Holding) -> None:
    """End a hold."""
    state = now.state
    assert holding.hold is not None
    if now.config.confirm and holding.hold.is_lent:
        now.save(Freed(molecule))
    queue = holding.queue
    if holding.waiting:
        queue = queue.update(holding.waiting)
        rule, rate = state.rule, own_rate(state)
        for claim in sorted(holding.waiting.values()):
            now.send(claim.requester, RespOk(molecule, claim.attempt, rule, rate))
    state.molecules = state.molecules.set(molecule, Holding(holding.value, None, queue))


def on_reaction(now: Now, sender: NodeId, message: Reaction) -> None:
    """Remove a molecule that has been consumed, and turn away those that waited for it."""
    state, molecule = now.state, message.molecule
    holding = state.molecules.get(molecule)
    hold = holding.hold if holding is not None else None
    if holding is None or hold is None or hold.requester != sender or hold.attempt != message.attempt:
        # Said again after a crash; it has been removed already.
        return
    if now.config.confirm:
        now.save(Removed(molecule))
    turn_away(now, molecule, holding)
    state.molecules = state.molecules.delete(molecule)


def turn_away(now: Now, molecule: MoleculeId, holding: Holding) -> None:
    """Inform those that wait for a molecule that it no longer exists."""
    if holding.waiting:
        rule, rate = now.state.rule, own_rate(now.state)
        for claim in sorted(holding.waiting.values()):
            now.send(claim.requester, RespRemoved(molecule, claim.attempt, rule, rate))


# ---------------------------------------------------------------------------------------------------------- crashes


def doubt(now: Now, of: NodeId | None) -> None:
    """Ask what became of lent molecules: all of them after an own crash, those of one node after its crash."""
    state = now.state
    for molecule, holding in sorted(state.molecules.items()):
        hold = holding.hold
        if hold is not None and hold.is_lent and of in (None, hold.requester):
            now.send(hold.requester, Doubt(molecule, hold.attempt, state.rule, own_rate(state)))


def forget(now: Now, peer: NodeId) -> None:
    """Drop what a crashed requester was interested in or promised; what it was lent, it must decide itself."""
    state = now.state
    for molecule, holding in sorted(state.molecules.items()):
        changed = _without(holding, peer)
        hold = holding.hold
        if hold is not None and hold.requester == peer and not hold.is_lent:
            free(now, molecule, changed)
        elif changed is not holding:
            state.molecules = state.molecules.set(molecule, changed)


def _without(holding: Holding, requester: NodeId, attempt: int | None = None) -> Holding:
    """Drop what a requester claims, by this attempt or by any."""
    queue, waiting, first = holding.queue, holding.waiting, holding.first
    claim = queue.get(requester)
    if claim is not None and attempt in (None, claim.attempt):
        queue = queue.delete(requester)
        if claim == first:
            first = None
        holding = Holding(holding.value, holding.hold, queue, waiting, first)
    claim = waiting.get(requester)
    if claim is not None and attempt in (None, claim.attempt):
        holding = Holding(holding.value, holding.hold, queue, waiting.delete(requester), first)
    return holding
