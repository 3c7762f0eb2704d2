"""The token paper's systems, explored: what must never be, and that each refines the one before.

bounds = Bounds(nodes=3, data=1, searches=1)
properties = properties_of("search", bounds)
found = explore_system("search", bounds, properties)
assert found.is_complete and found.violation is None
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.engine.explore import MAX_STATES, Exploration, explore
from solvent.engine.properties import Never, Refines
from solvent.hocl.process_settings import deep_stack
from solvent.hocl.program import parse
from solvent.lang.rule import Rule
from solvent_lab.token_systems import SYSTEMS, Bounds, mapping, never, program

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.engine.explore import Property


def properties_of(system: str, bounds: Bounds, *, printed: bool = False) -> list[Never | Refines]:
    """Return what must hold of a system: what may never be, and last, where there is one, that it refines another."""
    text = never(system, printed=printed)
    found: list[Never | Refines] = []
    if text is not None:
        found += [Never(one) for one in parse(text).solution() if isinstance(one, Rule)]
    refinement = refinement_of(system, bounds, printed=printed)
    return found if refinement is None else [*found, refinement]


def refinement_of(system: str, bounds: Bounds, *, printed: bool = False, coarser: str | None = None) -> Refines | None:
    """Return the property that a system refines the one before, or, of the same name, the program of a text."""
    about = SYSTEMS[system]
    if about.refines is None or (printed and system == "binary_search"):
        # BinarySearch as printed writes histories in a way of its own, and is caught before anybody could map it.
        return None
    text = coarser if coarser is not None else program(about.refines, bounds, printed=printed)
    rules = parse(mapping(system), name=f"mapping/{system}.hocl").solution()
    return Refines(parse(text, name=about.refines).solution(), rules, name=about.refines, max_steps=about.max_steps)


def explore_system(
    system: str,
    bounds: Bounds,
    properties: Sequence[Property] = (),
    *,
    printed: bool = False,
    max_states: int = MAX_STATES,
    should_stop: Callable[[], bool] | None = None,
    into: Exploration | None = None,
) -> Exploration:
    """Explore a system, repaired or as printed, until a property does not hold."""
    solution = parse(program(system, bounds, printed=printed), name=f"{system}.hocl").solution()
    with deep_stack():
        return explore(solution, max_states=max_states, should_stop=should_stop, properties=properties, into=into)


__all__ = ["explore_system", "properties_of", "refinement_of"]
