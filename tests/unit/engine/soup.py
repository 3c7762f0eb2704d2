"""Running a text in one line: what most tests of the engine do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import solvent

if TYPE_CHECKING:
    from solvent.lang.functions import Functions

MAX_REACTIONS = 10_000
"""A program of these tests that needs more does not end."""


def final(text: str, *, functions: Functions | None = None, **options: Any) -> str:
    """Run a program to inertia and show what is left, rules by name."""
    solution = solvent.hocl.parse(text, functions=functions).solution()
    options.setdefault("max_reactions", MAX_REACTIONS)
    assert solvent.hocl.react(solution, **options).inert
    return solvent.hocl.show(solution)


def finals(text: str, *, seeds: int = 20, functions: Functions | None = None) -> set[str]:
    """Run a program by default and under several seeds, and show everything it ended in."""
    every = (None, *range(seeds))
    return {final(text, functions=functions, seed=seed) for seed in every}
