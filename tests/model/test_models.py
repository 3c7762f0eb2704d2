"""Small worlds of every protocol, exhausted: all holds, in as many states as are pinned, and every fault is caught."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from solvent_lab.checker.explore import Verdict, check
from solvent_lab.models.capture import RING, paper
from solvent_lab.models.token import variant
from tests.model.pinned import CAUGHT, CAUGHT_SOAK, STATES, STATES_SOAK, TOKEN_STATES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from _pytest.mark import ParameterSet


def _rows(quick: Mapping[str, Any], soak: Mapping[str, Any]) -> Iterator[ParameterSet]:
    for table, marks in ((quick, ()), (soak, (pytest.mark.soak,))):
        for protocol, pinned in table.items():
            for name, value in pinned.items():
                yield pytest.param(protocol, name, value, marks=marks, id=f"{protocol}-{name}")


def _models(protocol: str) -> Any:
    module = import_module(f"solvent_lab.models.{protocol}")
    return {**module.MODELS, **getattr(module, "LARGE", {})}


def _broken(protocol: str) -> Any:
    return import_module(f"solvent_lab.broken.{protocol}").BROKEN


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("protocol,name,states", [*_rows(STATES, STATES_SOAK)])
def test_a_model_holds(protocol: str, name: str, states: int | None) -> None:
    """Every invariant holds in every order of events, the goal can always be reached, and no fair run gets stuck."""
    result = check(_models(protocol)[name](), max_states=5_000_000)
    assert (result.verdict, result.states if states else None) == (Verdict.HOLDS, states), result.violations


@pytest.mark.parametrize("protocol,name,caught", [*_rows(CAUGHT, CAUGHT_SOAK)])
def test_a_broken_variant_is_caught(protocol: str, name: str, caught: str) -> None:
    """Each flaw of the papers, and each thing left out of our machines, breaks what it is there for."""
    (violation,) = check(_broken(protocol)[name]()).violations
    assert violation.property == caught or caught in violation.message


@pytest.mark.parametrize("protocol", STATES)
def test_every_model_is_pinned(protocol: str) -> None:
    """No model and no broken variant is left out."""
    assert {*STATES[protocol], *STATES_SOAK.get(protocol, ())} == set(_models(protocol))
    assert {*CAUGHT[protocol], *CAUGHT_SOAK.get(protocol, ())} == set(_broken(protocol))


@pytest.mark.soak
def test_a_mixed_ring_with_a_crash_holds() -> None:
    """An optimist and two pessimists in a ring, one of which crashes at any moment: one and a half million states."""
    result = check(paper(RING, "opp", crashes=1), max_states=2_000_000)
    assert (result.verdict, result.states) == (Verdict.HOLDS, 1_477_620)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", TOKEN_STATES)
def test_a_larger_ring_holds(name: str) -> None:
    """With four nodes, of which three want the token, all holds too."""
    assert check(variant(name, 4, wanting=3)).verdict is Verdict.HOLDS
