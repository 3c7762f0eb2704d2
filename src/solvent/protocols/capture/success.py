"""How crowded is the solution? The success rate, from a node's own history and from what others say.

The paper leaves sizes, weights and units open. An entry is one molecule asked for; the own history starts full of
successes; the remote list holds the last rates heard, whoever said them. Where `ageing` is set, rates of others that
are too old do not count (repair C7: else the rate of an exhausted rule stays high at nodes that never tried it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.protocols.capture.state import Success

if TYPE_CHECKING:
    from solvent.protocols.capture.state import CaptureConfig
    from solvent.protocols.capture.vocabulary import RuleId

Rates = tuple[Success, ...]


def beginning(config: CaptureConfig) -> Rates:
    """Give the rates a node starts with: nothing has failed yet."""
    return tuple(Success((True,) * config.own_max) for _ in config.arities)


def heard(rates: Rates, rule: RuleId, rate: float, *, remote_max: int, ageing: int, now: int) -> Rates:
    """Note what another node says of its own success."""
    if not remote_max:
        return rates
    old = rates[rule]
    remote = old.remote
    remote = (*remote[1:], rate) if len(remote) >= remote_max else (*remote, rate)
    if ageing:
        times = (*old.heard, now)[-remote_max:]
        new = Success(old.own, old.rate, remote, times)
    else:
        new = Success(old.own, old.rate, remote)
    if len(rates) == 1:
        return (new,)
    return (*rates[:rule], new, *rates[rule + 1 :])


def noted(rates: Rates, rule: RuleId, outcomes: tuple[bool, ...]) -> Rates:
    """Add outcomes to the own history, one for each molecule asked for."""
    old = rates[rule]
    if old.rate == 1.0 and all(outcomes):
        return rates
    own = (*old.own[len(outcomes) :], *outcomes)
    new = Success(own, sum(own) / len(own), old.remote, old.heard)
    return (*rates[:rule], new, *rates[rule + 1 :])


def reset(rates: Rates, rule: RuleId, *, to: bool) -> Rates:
    """Begin a rule's history anew, full of successes or of failures; what others said is forgotten."""
    new = Success((to,) * len(rates[rule].own), float(to))
    return (*rates[:rule], new, *rates[rule + 1 :])


def overall(success: Success, config: CaptureConfig, now: int) -> float:
    """Give σ, the mean of the own rate and those of others."""
    remote = success.remote
    if config.ageing:
        oldest = now - config.ageing
        remote = tuple(rate for rate, at in zip(remote, success.heard, strict=True) if at >= oldest)
    if config.own_weight is None:
        return (success.rate + sum(remote)) / (1 + len(remote))
    if not remote:
        return success.rate
    return config.own_weight * success.rate + (1 - config.own_weight) * sum(remote) / len(remote)


def is_optimistic(success: Success, config: CaptureConfig, arity: int, now: int) -> bool:
    """Decide by the paper's switch which sub-protocol to use for the next attempt."""
    if config.protocol != "adaptive":
        return config.protocol == "optimistic"
    sigma: float = overall(success, config, now) ** arity
    return sigma >= config.threshold
