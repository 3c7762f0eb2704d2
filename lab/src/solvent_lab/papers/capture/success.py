"""How crowded is the solution? The success rate, from a node's own history and from what others say.

The paper leaves sizes, weights and units open. An entry is one molecule asked for; the own history starts full of
successes; the remote list holds the last rates heard, whoever said them.

Where `ageing` is set, what is too old does not count (repair C7: else the rate of an exhausted rule stays high at
nodes that never tried it, and that of a rule for which there was nothing at first stays low for ever at those that
did). Rates of others age, and so does the own history of a rule once the node has left it for another. Of a rule of
which nothing recent is known, nothing speaks against trying it: its rate is 1, as at the start.

A rate travels as the number of successes among the last `max_own` entries, and both lists are kept as `bytes`: a
tuple of fifty floats would be copied with every message, and each of its floats touched.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent_lab.papers.capture.state import Success

if TYPE_CHECKING:
    from solvent.protocols.capture.vocabulary import RuleId
    from solvent_lab.papers.capture.state import CaptureConfig

Rates = tuple[Success, ...]

_BYTES = tuple(bytes((number,)) for number in range(256))


def beginning(config: CaptureConfig) -> Rates:
    """Return the rates a node starts with: nothing has failed yet."""
    full = config.max_own
    return tuple(Success(b"\1" * full, full) for _ in config.arities)


def heard(rates: Rates, rule: RuleId, rate: int, config: CaptureConfig, now: int) -> Rates:
    """Note what another node says of its own success."""
    old = rates[rule]
    remote = old.remote
    size = config.max_remote
    if len(remote) == size:
        if not config.ageing and remote.count(rate & 255) == size:
            # As everybody says the same, which is so for most of a run, or nothing is kept.
            return rates
        remote = remote[1:]
    if not size:
        return rates
    if config.ageing:
        new = Success(old.own, old.rate, remote + _BYTES[rate & 255], (*old.heard, now)[-size:], old.left)
    else:
        new = Success(old.own, old.rate, remote + _BYTES[rate & 255])
    if len(rates) == 1:
        return (new,)
    return (*rates[:rule], new, *rates[rule + 1 :])


def noted(rates: Rates, rule: RuleId, outcomes: bytes) -> Rates:
    """Add outcomes to the own history, 1 or 0 for each molecule asked for."""
    old = rates[rule]
    own = old.own
    count = len(outcomes)
    if not own or (old.rate == len(own) and 0 not in outcomes):
        return rates
    own = (own[count:] + outcomes)[-len(own) :]
    new = Success(own, own.count(1), old.remote, old.heard)
    if len(rates) == 1:
        return (new,)
    return (*rates[:rule], new, *rates[rule + 1 :])


def reset(rates: Rates, rule: RuleId, *, to: bool) -> Rates:
    """Begin a rule's history anew, full of successes or of failures; what others said is forgotten."""
    size = len(rates[rule].own)
    new = Success((b"\1" if to else b"\0") * size, size if to else 0)
    return (*rates[:rule], new, *rates[rule + 1 :])


def left(rates: Rates, rule: RuleId, now: int) -> Rates:
    """Note that the node leaves a rule for another: from now on what it knows of it itself gets old."""
    return (*rates[:rule], replace(rates[rule], left=now), *rates[rule + 1 :])


def returned(rates: Rates, rule: RuleId, config: CaptureConfig, now: int) -> Rates:
    """Note that the node executes a rule from now on; a history that is too old begins anew."""
    old = rates[rule]
    if not config.ageing or old.left >= now - config.ageing:
        return rates
    size = len(old.own)
    new = Success(b"\1" * size, size, old.remote, old.heard)
    return (*rates[:rule], new, *rates[rule + 1 :])


def overall(success: Success, config: CaptureConfig, now: int, *, is_active: bool = True) -> float:
    """Return σ, the mean of the own rate and those of others; what is too old counts for nothing."""
    remote = success.remote
    if config.ageing:
        oldest = now - config.ageing
        # Heard in this order, so what is too old stands in front.
        remote = remote[bisect_left(success.heard, oldest) :]
        if not is_active and success.left < oldest:
            return sum(remote) / (len(remote) * config.max_own) if remote else 1.0
    full = config.max_own
    if config.own_weight is None:
        return (success.rate + sum(remote)) / (full * (1 + len(remote)))
    if not remote:
        return success.rate / full
    return (config.own_weight * success.rate + (1 - config.own_weight) * sum(remote) / len(remote)) / full


def is_optimistic(success: Success, config: CaptureConfig, arity: int, now: int) -> bool:
    """Decide by the paper's switch which sub-protocol to use for the next attempt."""
    if config.protocol != "adaptive":
        return config.protocol == "optimistic"
    sigma: float = overall(success, config, now) ** arity
    return sigma >= config.threshold
