"""Small worlds of the token: two to four nodes that want it, every order of events, all variants.

The goal is that everybody has been served. From every state it must be reachable, and no fair run may go round without
serving somebody. All messages but the token are cheap: in some worlds they get lost, and all must hold as it does
without. Where nothing gets lost and a token rests until nothing else can happen, a search must have found it by then.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.machine import NodeId, Report, Requested, SetTimer, TimerFired
from solvent.protocols.token.invariants import SAFETY, who_borrows_it_waits_for_it
from solvent.protocols.token.messages import Acquire, Gimme, Granted, NotHere, Release, Token
from solvent.protocols.token.node import TokenConfig, ring_node
from solvent_lab.checker.model import Model, Network, Timers
from solvent_lab.checker.small_numbers import ranked
from solvent_lab.checker.world import invariants_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.protocols.machine import Event, Machine, Step
    from solvent.protocols.token.node import TokenState
    from solvent_lab.checker.world import World

_USE = "use"


class TakesTime:
    """A node whose user needs the token for a while, or twice."""

    def __init__(self, config: TokenConfig, *, is_wanted_again: bool = False) -> None:
        self.ring = ring_node(config)
        self.is_wanted_again = is_wanted_again

    def start(self, saved: tuple[Any, ...] = (), life: int = 0, /) -> Step[TokenState]:
        """Begin."""
        return self.ring.start(saved, life)

    def step(self, state: TokenState, event: Event, /) -> Step[TokenState]:
        """Take one event; the time of use is a timer, and the first release may ask for the token again."""
        if event == TimerFired(_USE):
            event = Requested(Release(is_again=self.is_wanted_again and state.requests == 1))
        after, effects = self.ring.step(state, event)
        is_granted = any(type(effect) is Report and type(effect.outcome) is Granted for effect in effects)
        return after, (*effects, SetTimer(_USE, 1)) if is_granted else effects


# ------------------------------------------------------------------------------------------------- standard names


def _stamped(part: Any, name: Callable[[int], int]) -> Any:
    if isinstance(part, tuple):
        return tuple([_message(item, name) for item in part])
    state = replace(part.state, stamp=name(part.state.stamp))
    if state.token is not None:
        state = replace(state, token=replace(state.token, visits=name(state.token.visits)))
    delayed = tuple(replace(one, stamp=name(one.stamp)) for one in state.delayed)
    return replace(part, state=replace(state, delayed=delayed))


def _message(item: Any, name: Callable[[int], int]) -> Any:
    if isinstance(item, Token):
        return replace(item, visits=name(item.visits))
    if isinstance(item, Gimme | NotHere):
        return replace(item, stamp=name(item.stamp))
    return item


_standard = ranked(_stamped)
"""Gives stamps their ranks: only which came first matters, and the token counts its visits for ever."""

# ------------------------------------------------------------------------------------------------------ what holds


def _observe(ghost: tuple[int, ...], node: NodeId, outcome: Any) -> tuple[int, ...]:
    """Count who was served how often."""
    if isinstance(outcome, Granted):
        return tuple(times + (number == node) for number, times in enumerate(ghost))
    return ghost


def _seen(world: World) -> tuple[tuple[Any, ...], list[Any]]:
    return world.states, [message for _, _, message in world.messages()]


def nobody_waits_for_a_token_that_rests(world: World) -> str | None:
    """When nothing is under way any more, whoever wants a token that rests has found it."""
    if not world.is_quiet or not any(state.token is not None and state.rest for state in world.states):
        return None
    waiting = [node for node, state in enumerate(world.states) if state.is_waiting]
    return f"nodes {waiting} have searched in vain" if waiting else None


def _is_cheap(message: Any) -> bool:
    return not isinstance(message, Token)


# -------------------------------------------------------------------------------------------------------- the models


def token(
    size: int,
    *,
    title: str = "",
    machine: Callable[[TokenConfig], Machine[TokenState]] = ring_node,
    wanting: int | None = None,
    losses: int = 0,
    rests_until_quiet: bool = False,
    is_found: bool = False,
    is_lent_in_vain: bool = False,
    times: int = 1,
    **how: Any,
) -> Model:
    """Build a model of a ring of so many nodes, of which the last `wanting` want the token, so many times."""
    wanting = size if wanting is None else wanting
    configs = [TokenConfig(NodeId(node), size, **how) for node in range(size)]
    served = tuple(times * (node < size - wanting) for node in range(size))
    checks = (*SAFETY, *(() if is_lent_in_vain else (who_borrows_it_waits_for_it,)))
    return Model(
        machines=tuple(machine(config) for config in configs),
        title=title,
        requests=tuple((node, Acquire()) for node in range(size - wanting, size)),
        network=Network(losses=losses, may_lose=_is_cheap),
        timers=Timers.WHEN_QUIET if rests_until_quiet else Timers.ANY_TIME,
        ghost=served,
        observe=_observe,
        invariants=(*invariants_over(_seen, checks), *((nobody_waits_for_a_token_that_rests,) if is_found else ())),
        goal=lambda world: min(world.ghost) >= times,
        canonical=_standard,
    )


_QUIETLY = {"max_rest": 1, "rests_until_quiet": True}
_ADAPTIVE = {"finding": "both", "crowd": 1, "rests_until_quiet": True}
# Of these a message that is not the token may get lost.
_VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "binary": ("search by halving", {}),
    "one-by-one": ("lent to one at a time", {"max_row": 0}),
    "inverse": ("lent back along the path", {"clean_up": "inverse", "is_lent_in_vain": True}),
    "no-clean-up": ("served traps stay", {"clean_up": "none", "is_lent_in_vain": True}),
    "directed": ("who searches asks one by one", {"is_directed": True}),
    "one-search": ("one search passed on at a time", {"has_one_search": True}),
    "uses": ("using the token takes time", {"machine": TakesTime, "is_instant": False}),
    "uses-again": (
        "released and wanted again",
        {"machine": partial(TakesTime, is_wanted_again=True), "is_instant": False, "max_rest": 1, "times": 2},
    ),
    "rests": ("the token rests for any time", {"max_rest": 1}),
    "one-search-rests": ("one search, the token rests", {"has_one_search": True, "max_rest": 1}),
    "again": ("lost searches are repeated", {"again": 1, **_QUIETLY}),
    "push": ("who has the token asks round", {"finding": "push", **_QUIETLY}),
    "both": ("searching and asking round", {**_ADAPTIVE, "max_rest": 1}),
    "both-moves": ("both, never resting", _ADAPTIVE),
}
# Of these nothing gets lost, and whoever searches must have found a token that rests when nothing is under way.
_FOUND: dict[str, tuple[str, dict[str, Any]]] = {
    "found": ("a token that rests is found", {}),
    "found-one-by-one": ("found, lent to one at a time", {"max_row": 0}),
    "found-inverse": ("found, lent back along the path", {"clean_up": "inverse", "is_lent_in_vain": True}),
    "found-directed": ("found, asking one by one", {"is_directed": True}),
}
_WANTING = {2: 2, 3: 3, 4: 2}


def variant(name: str, size: int, **changes: Any) -> Model:
    """Build the model of a variant by its name."""
    title, how = {"ring": ("a plain ring", {"protocol": "ring"}), **_VARIANTS, **_FOUND}[name]
    if name in _VARIANTS:
        how = {"losses": 1, **how}
    if name in _FOUND:
        how = {"is_found": True, **_QUIETLY, **how}
    return token(size, **{"wanting": _WANTING[size], "title": f"{title}, {size} nodes", **how, **changes})


MODELS: dict[str, Callable[[], Model]] = {
    f"{name}-{size}": partial(variant, name, size) for name in ("ring", *_VARIANTS, *_FOUND) for size in _WANTING
}

__all__ = ["MODELS", "token", "variant"]
