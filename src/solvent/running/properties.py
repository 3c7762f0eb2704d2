"""Properties as people write them: bad states as patterns, rules in files, a coarser program and a mapping to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.chemistry.rule import Rule
from solvent.engine.properties import Never, Refines
from solvent.errors import Misuse
from solvent.running.program import load, rule

if TYPE_CHECKING:
    from solvent.chemistry.functions import Functions


def never(text: str, functions: Functions | None = None) -> list[Never]:
    """Give what a file of rules says must never be, or a pattern such as `A : x, B : y if x > y`."""
    if text.endswith(".hocl"):
        found = [Never(one) for one in load(text, functions=functions).solution() if isinstance(one, Rule)]
        if not found:
            raise Misuse("H322", f"{text} holds no rule", hint="its solution must hold the rules that may never react")
        return found
    # The text stands on a line of its own, so that an error shows it as it was given.
    return [Never(rule(f"inject NEVER with\n{text}\n", name="never", functions=functions), text=text)]


def refines(coarser: str, mapping: str | None, steps_max: int, functions: Functions | None = None) -> Refines:
    """Give the property that a program refines the one in a file, by the rules in another, or as it is."""
    rules = () if mapping is None else load(mapping, functions=functions).solution()
    solution = load(coarser, functions=functions).solution()
    return Refines(solution, rules, name=coarser, steps_max=steps_max)


__all__ = ["never", "refines"]
