"""The requester's side of both sub-protocols (the paper's algorithms 1 and 3), repaired.

An optimist fetches at once and tells the holders when it has reacted. A pessimist asks in three rounds: is it there,
will you promise it, send it. An attempt with a refusal ends when all holders have answered, and then every one of
them is told (C6: telling only those that said yes leaves ghosts in the lists of the others). The paper ends it with
the first refusal; in its model all answers of a round come in the same step, so nothing is slower here, and a node
never has more under way than one round. Answers carry the number of their attempt, so those that a crash makes late
cannot be taken for answers to the next (C2).

The next attempt starts in the step in which the last one ended, or the node changes its rule, or sleeps (the paper's
3.4 and 3.5). A node sleeps after `max_aborts` failures in a row as a pessimist, and again after each failure until it
succeeds. It changes its rule only as a pessimist, after a failure, when its rule's rate is the lowest it knows and the
highest is strictly higher; among equally high ones not all nodes take the same. With a rule on which it can be
optimistic it starts with a clean history; else it sleeps first. Rule keepers never change.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.capture.moving import NODE_SHIFT
from solvent.protocols.capture.vocabulary import (
    Abandoned,
    AttemptId,
    Combination,
    Discover,
    MoleculeId,
    React,
    Reacted,
    RuleId,
    Switched,
)
from solvent.protocols.machine import Ask, Choose, NodeId, Send, SetTimer
from solvent_lab.papers.capture.messages import (
    Commitment,
    Consumed,
    Doubt,
    Fetch,
    GiveUp,
    Query,
    Reaction,
    RespMolecule,
    RespOk,
    RespRemoved,
    RespTaken,
)
from solvent_lab.papers.capture.state import (
    RESTING,
    SEARCHING,
    Committing,
    Fetching,
    Holding,
    Querying,
    Reacting,
)
from solvent_lab.papers.capture.success import is_optimistic, left, noted, overall, reset, returned

if TYPE_CHECKING:
    from solvent_lab.papers.capture.state import CaptureConfig, CaptureState, Now

YES, NO = b"\1", b"\0"
SLEEP, LOOK = "sleep", "look"


# ------------------------------------------------------------------------------------------------------------ begin


@cache
def _discovery(rule: RuleId) -> Ask:
    # The same object for all nodes, for it stays in the processor's cache.
    return Ask(Discover(rule))


def discover(now: Now) -> None:
    """Ask for a combination for the active rule."""
    now.effects.append(_discovery(now.state.rule))


def on_combination(now: Now, combination: Combination) -> None:
    """Start an attempt on the molecules found, in the way the success rate advises."""
    config, state = now.config, now.state
    places, rule = combination.places, combination.rule
    if not places:
        # It counts like an attempt in which every molecule was refused.
        state.success = noted(state.success, state.rule, NO * config.arities[state.rule])
        after_abort(now, has_found=False)
        return
    number = state.attempts = AttemptId(state.attempts + 1)
    success = state.success[rule]
    rate, optimist = success.rate, is_optimistic(success, config, config.arities[rule], state.now)
    mode = "optimistic" if optimist else "pessimistic"
    if mode != state.mode:
        now.report(Switched(mode, rule))
        state.aborts = 0 if optimist or state.mode == "optimistic" else state.aborts
        state.mode = mode
    if optimist:
        state.phase = Fetching(number, rule, places, True)
        now.effects += [Send(holder, Fetch(item, number, rule, rate, True)) for item, holder in places]
    else:
        state.phase = Querying(number, rule, places)
        done = state.reactions
        now.effects += [Send(holder, Query(item, number, rule, rate, done)) for item, holder in places]


# ---------------------------------------------------------------------------------------------------------- answers


def on_ok(now: Now, _sender: NodeId, message: RespOk) -> None:
    """Count a yes; the last answer decides."""
    state, phase = now.state, now.state.phase
    if not isinstance(phase, (Querying, Committing)) or phase.number != message.attempt:
        return
    number, rule, places, refused = phase.number, phase.rule, phase.places, phase.refused
    if type(phase) is Querying:
        state.success = noted(state.success, rule, YES)
    granted = phase.granted + 1
    if granted + refused < len(places):
        state.phase = type(phase)(number, rule, places, granted, refused)
    elif refused:
        abandon(now, phase)
    elif type(phase) is Querying:
        rate = state.success[rule].rate
        state.phase = Committing(number, rule, places)
        now.effects += [Send(holder, Commitment(item, number, rule, rate)) for item, holder in places]
    else:
        rate = state.success[rule].rate
        state.phase = Fetching(number, rule, places, False)
        now.effects += [Send(holder, Fetch(item, number, rule, rate, False)) for item, holder in places]


def on_molecule(now: Now, _sender: NodeId, message: RespMolecule) -> None:
    """Keep a molecule that has come; the last answer decides, and with all molecules the reaction happens."""
    state, phase = now.state, now.state.phase
    if type(phase) is not Fetching or phase.number != message.attempt:
        return
    number, rule, places, refused = phase.number, phase.rule, phase.places, phase.refused
    if phase.is_optimistic:
        state.success = noted(state.success, rule, YES)
    got = (*phase.got, (message.molecule, message.value))
    if len(got) + refused < len(places):
        state.phase = Fetching(number, rule, places, phase.is_optimistic, got, refused)
    elif refused:
        abandon(now, phase)
    else:
        state.phase = Reacting(number, rule, places, phase.is_optimistic, got)
        now.effects.append(Ask(React(rule, got)))


def on_refusal(now: Now, _sender: NodeId, message: RespTaken | RespRemoved) -> None:
    """Note a no; the last answer ends the attempt."""
    state, phase = now.state, now.state.phase
    if not isinstance(phase, (Fetching, Querying, Committing)) or phase.number != message.attempt:
        return
    state.success = noted(state.success, phase.rule, NO)
    refused = phase.refused + 1
    granted = len(phase.got) if isinstance(phase, Fetching) else phase.granted
    if granted + refused < len(phase.places):
        state.phase = replace(phase, refused=refused)
    else:
        abandon(now, phase)


# -------------------------------------------------------------------------------------------------------------- end


def abandon(now: Now, phase: Fetching | Querying | Committing) -> None:
    """End an attempt without a reaction."""
    number, rule = phase.number, phase.rule
    rate = now.state.success[rule].rate
    now.effects += [Send(holder, GiveUp(item, number, rule, rate)) for item, holder in phase.places]
    now.report(Abandoned(rule, number))
    after_abort(now, has_found=True)


def on_products(now: Now, values: tuple[Any, ...]) -> None:
    """Take the products in, tell the holders, and start over."""
    state, phase, config = now.state, now.state.phase, now.config
    assert type(phase) is Reacting, "products answer a reaction that was asked for"
    number, rule = phase.number, phase.rule
    state.reactions += 1
    consumed = tuple([item for item, _ in phase.got])
    added = add(now, values)
    if config.confirm:
        now.save(Consumed(number, consumed, added, state.reactions))
        state.reacted = state.reacted.set(number, None)
    now.report(Reacted(rule, number, consumed, added))
    if phase.is_optimistic or config.confirm:
        rate = state.success[rule].rate
        now.effects += [Send(holder, Reaction(item, number, rule, rate)) for item, holder in phase.places]
    state.phase, state.aborts, state.is_woken = SEARCHING, 0, False
    discover(now)


def add(now: Now, values: tuple[Any, ...]) -> tuple[tuple[MoleculeId, Any], ...]:
    """Put new molecules in, each under a number never given before."""
    state = now.state
    base = (now.config.node + 1) << NODE_SHIFT
    added = tuple([(MoleculeId(base + number), value) for number, value in enumerate(values, state.made + 1)])
    for molecule, value in added:
        state.molecules = state.molecules.set(molecule, Holding(value))
    state.made += len(values)
    return added


def on_doubt(now: Now, sender: NodeId, doubt: Doubt) -> None:
    """Answer a holder what became of an attempt; one that is neither decided nor under way is given up."""
    state = now.state
    told = doubt.molecule, doubt.attempt, state.rule, state.success[state.rule].rate
    if doubt.attempt in state.reacted:
        now.send(sender, Reaction(*told))
    elif getattr(state.phase, "number", None) != doubt.attempt:
        now.send(sender, GiveUp(*told))


# ------------------------------------------------------------------------------------------- changing rule, sleeping


def after_abort(now: Now, *, has_found: bool) -> None:
    """Go on after an attempt that failed, or a search that found nothing."""
    config, state = now.config, now.state
    if not has_found and config.ageing:
        # No node can succeed where nothing is found, whatever others said before (C7).
        state.success = reset(state.success, state.rule, to=False)
    is_pessimist = state.mode != "optimistic" or not has_found
    state.aborts = min(state.aborts + 1, config.max_aborts) if is_pessimist and config.dormant else 0
    state.phase = SEARCHING
    best = None
    if is_pessimist and not config.is_keeper and len(state.success) > 1:
        best = better_rule(state, config)
    if best is not None:
        change_rule(now, best)
    elif config.dormant and is_pessimist and state.aborts >= config.max_aborts:
        fall_asleep(now)
    elif has_found and config.retry_after:
        state.phase = RESTING
        now.effects.append(SetTimer(LOOK, config.retry_after))
    elif has_found or state.is_woken:
        state.is_woken = False
        discover(now)
    elif config.look_again:
        state.phase = RESTING
        now.effects.append(SetTimer(LOOK, config.look_again))
    else:
        state.phase, state.mode = RESTING, "idle"
        now.report(Switched("idle", state.rule))


def better_rule(state: CaptureState, config: CaptureConfig) -> RuleId | None:
    """Find the rule to change to, if this one's rate is the lowest known and another's is strictly higher."""
    rule = state.rule
    rates = [
        overall(success, config, state.now, is_active=number == rule) for number, success in enumerate(state.success)
    ]
    own, highest = rates[rule], max(rates)
    if own > min(rates) or highest <= own:
        return None
    highest_ones = [number for number, rate in enumerate(rates) if rate == highest]
    return RuleId(highest_ones[(config.node + state.attempts) % len(highest_ones)])


def change_rule(now: Now, rule: RuleId) -> None:
    """Execute another rule from now on."""
    config, state = now.config, now.state
    state.success = returned(left(state.success, state.rule, state.now), rule, config, state.now)
    state.rule, state.aborts = rule, 0
    if config.protocol != "adaptive" or is_optimistic(state.success[rule], config, config.arities[rule], state.now):
        state.mode = "pessimistic" if config.protocol == "pessimistic" else "optimistic"
        state.success = reset(state.success, rule, to=True)
    elif config.dormant:
        # Its first attempt with the new rule decides whether it stays awake.
        state.aborts = config.max_aborts
        fall_asleep(now)
        return
    else:
        state.mode = "pessimistic"
    now.report(Switched(state.mode, rule))
    discover(now)


def fall_asleep(now: Now) -> None:
    """Become dormant for a time around `sleep`, drawn so that not all wake at once."""
    now.state.phase, now.state.mode = RESTING, "dormant"
    now.report(Switched("dormant", now.state.rule))
    now.effects.append(Choose(2 * now.config.sleep_spread + 1))


def sleep(now: Now, option: int) -> None:
    """Set the alarm that chance has picked."""
    now.effects.append(SetTimer(SLEEP, now.config.sleep - now.config.sleep_spread + option))
