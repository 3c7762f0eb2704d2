"""CLIPS, through `clipspy`: asserting the facts and running the rules are measured, both inside CLIPS.

The facts are compiled into functions, so that no call from Python is measured for each of them. CLIPS joins
every fact with all others as soon as it is asserted: programs in which any two facts may react need memory
for n squared activations if the rules run only at the end, and next to none if they run after each fact. Each
program is given the way of posting and the conflict strategy with which it was fastest.
"""

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

from bench.problems import Problem
from bench.records import Record, list_from_record
from bench.systems.trial import Trial, cpu_seconds

# Longer function bodies overflow the stack of the CLIPS parser, which is recursive.
FACTS_PER_FUNCTION = 200


@dataclass(frozen=True)
class Manner:
    """How a program is run best."""

    runs_after_each: bool
    strategy: str = "depth"


MANNERS: dict[str, Manner] = {
    "sort": Manner(runs_after_each=False, strategy="lex"),
    "paths": Manner(runs_after_each=False, strategy="breadth"),
}


class ClipsTrial:
    """An environment with the rules and the functions that assert the facts."""

    max_repeats = 20

    def __init__(self, problem: Problem, records: list[Record]) -> None:
        clips: Any = importlib.import_module("clips")
        manner = MANNERS.get(problem.name, Manner(runs_after_each=True))
        self._heads = frozenset(head for head, _ in problem.results)
        self._environment = clips.Environment()
        self._environment.eval("(set-fact-duplication TRUE)")
        self._environment.eval(f"(set-strategy {manner.strategy})")
        self._environment.load(str(problem.folder / "clips.clp"))
        self._calls: list[str] = []
        after = "(run)" if manner.runs_after_each else ""
        for start in range(0, len(records), FACTS_PER_FUNCTION):
            chunk = records[start : start + FACTS_PER_FUNCTION]
            body = " ".join(f"(assert {list_from_record(record)}){after}" for record in chunk)
            self._environment.build(f"(deffunction post-{start} () {body})")
            self._calls.append(f"(post-{start})")

    def prepare(self) -> None:
        """Retract all facts."""
        self._environment.reset()

    def run(self) -> float:
        """Assert the facts and run the rules."""
        return cpu_seconds(self._work)

    def final(self) -> list[Record]:
        """Read the facts back."""
        facts = ((fact.template.name, *fact) for fact in self._environment.facts())
        return [tuple(_plain(part) for part in fact) for fact in facts if fact[0] in self._heads]

    def _work(self) -> None:
        for call in self._calls:
            self._environment.eval(call)
        self._environment.run()


class Clips:
    """The CLIPS production system."""

    title = "CLIPS"

    def absence(self) -> str | None:
        """Say so where the package is not installed."""
        return None if importlib.util.find_spec("clips") else "the package clipspy is not installed"

    def can_run(self, problem: Problem) -> bool:
        """Tell whether there is a CLIPS program."""
        return (problem.folder / "clips.clp").exists()

    def trial(self, problem: Problem, records: list[Record]) -> Trial:
        """Load the rules and the facts."""
        return ClipsTrial(problem, records)


def _plain(value: Any) -> int | str:
    return value if isinstance(value, int) else str(value)
