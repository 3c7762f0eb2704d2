"""Usual steps of ELMP beside those of its desks, in every state of small worlds, all of which hold."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from solvent.protocols.elmp import process
from solvent.protocols.elmp.messages import Climb, Token
from solvent.protocols.elmp.usual import USUAL
from solvent.protocols.elmp.vocabulary import Release, Request
from solvent.protocols.machine import Event, NodeId, Received, Requested
from solvent_lab.checker.explore import Verdict, check
from solvent_lab.models.elmp import MODELS
from tests.model.pinned import STATES, STATES_SOAK

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.protocols.elmp.state import ElmpConfig, ElmpState, ElmpStep

WORLDS = {
    "trail": {Token, Climb, Request, Release},
    "trail-short": {Token, Climb, Request, Release},
    "trail-root": {Token, Climb, Request, Release},
    "trail-leaving": {Token, Climb, Request, Release},
    "trail-joining": {Token, Climb, Request, Release},
    "trail-parts": set(),
    "requests-seldom-4": {Request, Release},
    "data": {Request, Release},
    "data-root": {Request, Release},
    "readers-leaving-seldom": set(),
    "endless-departure-seldom": {Token, Request, Release},
}
WORLDS_LONG = ("trail-again", "trail-exchange", "trail-withdrawals", "trail-patience", "trail-handles", "mixed-data-4")


class Desk(process.Process):
    """Makes every step in the long way."""


class Plain(process.Elmp):
    """A process that does so."""

    desk = Desk


def _event(what: Any) -> Event:
    if isinstance(what, Request | Release):
        return Requested(what)
    # Whoever sends a token does not matter; a request comes from the last of its path.
    is_asked = isinstance(what, Climb) and what.requests
    return Received(what.requests[0].path[-1] if is_asked else NodeId(0), what)


def _compared(
    usual: Callable[[NodeId, ElmpConfig, ElmpState, Any], ElmpStep | None], made: Counter[type]
) -> Callable[[NodeId, ElmpConfig, ElmpState, Any], ElmpStep | None]:
    def step(me: NodeId, config: ElmpConfig, state: ElmpState, what: Any) -> ElmpStep | None:
        found = usual(me, config, state, what)
        if found is not None:
            made[type(what)] += 1
            assert found == Plain(me, config).step(state, _event(what))
        return found

    return step


def _kinds_in(name: str, monkeypatch: pytest.MonkeyPatch) -> set[type]:
    """Exhaust a world, comparing; give what usual steps were made for."""
    made = Counter[type]()
    monkeypatch.setattr(process, "USUAL", {kind: _compared(usual, made) for kind, usual in USUAL.items()})
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, (STATES["elmp"] | STATES_SOAK["elmp"])[name])
    return set(made)


@pytest.mark.parametrize("name", WORLDS)
def test_usual_steps_are_those_of_the_desks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """State and effects are the same to the last field, and each kind is made where it can be."""
    assert _kinds_in(name, monkeypatch) >= WORLDS[name]


@pytest.mark.soak
@pytest.mark.parametrize("name", WORLDS_LONG)
def test_they_are_so_in_larger_worlds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with claims that are withdrawn, exchanges of seats, and data."""
    assert _kinds_in(name, monkeypatch)
