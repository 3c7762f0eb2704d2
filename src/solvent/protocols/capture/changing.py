"""What a node does after a failed attempt: try again, change its rule, or sleep (the paper's 3.4 and 3.5).

A node sleeps after `max_aborts` failures in a row as a pessimist, and again after each failure until it succeeds.
It changes its rule only as a pessimist, after a failure, when its rule's rate is the lowest it knows and the highest
is strictly higher; among equally high ones not all nodes take the same. With a rule on which it can be optimistic it
starts with a clean history; else it sleeps first. Rule keepers never change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from solvent.protocols.capture.state import RESTING, SEARCHING, CaptureConfig, CaptureState, CaptureStep
from solvent.protocols.capture.success import is_optimistic, left, overall, reset, returned
from solvent.protocols.capture.vocabulary import RuleId, Switched
from solvent.protocols.machine import Ask, Choose, Report, SetTimer

if TYPE_CHECKING:
    from solvent.protocols.capture.success import Rates

SLEEP, LOOK = "sleep", "look"


class Trying(Protocol):
    """What of a requester is needed here."""

    config: CaptureConfig

    def discover_for(self, state: CaptureState) -> tuple[Ask, ...]:
        """Ask for a combination for the active rule."""


def after_abort(node: Trying, state: CaptureState, rates: Rates, *, has_found: bool) -> CaptureStep:
    """Go on after an attempt that failed, or a search that found nothing."""
    config = node.config
    if not has_found and config.ageing:
        # Nobody can succeed where nothing is found, whatever others said before (C7).
        rates = reset(rates, state.rule, to=False)
    is_pessimist = state.mode != "optimistic" or not has_found
    aborts = min(state.aborts + 1, config.max_aborts) if is_pessimist and config.dormant else 0
    state = replace(state, success=rates, aborts=aborts, phase=SEARCHING)
    if is_pessimist and not config.is_keeper and len(rates) > 1:
        best = better_rule(state, config)
        if best is not None:
            return change_rule(node, state, best)
    if config.dormant and is_pessimist and aborts >= config.max_aborts:
        return fall_asleep(config, state)
    if has_found and config.retry_after:
        return replace(state, phase=RESTING), (SetTimer(LOOK, config.retry_after),)
    if has_found or state.is_woken:
        return replace(state, is_woken=False), node.discover_for(state)
    if config.look_again:
        return replace(state, phase=RESTING), (SetTimer(LOOK, config.look_again),)
    return replace(state, phase=RESTING, mode="idle"), (Report(Switched("idle", state.rule)),)


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


def change_rule(node: Trying, state: CaptureState, rule: RuleId) -> CaptureStep:
    """Execute another rule from now on."""
    config = node.config
    rates = returned(left(state.success, state.rule, state.now), rule, config, state.now)
    state = replace(state, rule=rule, aborts=0, success=rates)
    if config.protocol != "adaptive" or is_optimistic(state.success[rule], config, config.arities[rule], state.now):
        mode = "pessimistic" if config.protocol == "pessimistic" else "optimistic"
        state = replace(state, mode=mode, success=reset(state.success, rule, to=True))
        return state, (Report(Switched(mode, rule)), *node.discover_for(state))
    if config.dormant:
        # Its first attempt with the new rule decides whether it stays awake.
        return fall_asleep(config, replace(state, aborts=config.max_aborts))
    return replace(state, mode="pessimistic"), (Report(Switched("pessimistic", rule)), *node.discover_for(state))


def fall_asleep(config: CaptureConfig, state: CaptureState) -> CaptureStep:
    """Become dormant for a time around `sleep`, drawn so that not all wake at once."""
    state = replace(state, phase=RESTING, mode="dormant")
    return state, (Report(Switched("dormant", state.rule)), Choose(2 * config.sleep_spread + 1))


def sleep_until(config: CaptureConfig, state: CaptureState, option: int) -> CaptureStep:
    """Set the alarm that chance has picked."""
    return state, (SetTimer(SLEEP, config.sleep - config.sleep_spread + option),)
