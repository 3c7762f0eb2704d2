"""Maude, through its Python package: only `rewrite` (or `reduce`) is measured, parsing the term is not.

The programs are rules over a multiset, as in the papers. Where the result does not depend on the order a
Maude user may also write equations; that is much faster for `max` and `sum` and slower for all the others, so
these two have a second program, shown as a system of its own.
"""

import importlib
import importlib.util
from typing import Any

from bench.problems import PROGRAMS, Problem
from bench.records import Record, call_from_record, records_from_text
from bench.systems.trial import Trial, cpu_seconds


class MaudeTrial:
    """A loaded module and the text of the term to rewrite."""

    max_repeats = 20

    def __init__(self, file: str, problem: Problem, records: list[Record]) -> None:
        maude: Any = importlib.import_module("maude")
        maude.init(advise=False)
        for path in (PROGRAMS / "soup.maude", problem.folder / file):
            if not maude.load(str(path)):
                message = f"Maude cannot load {path.name}"
                raise RuntimeError(message)
        self._module = maude.getCurrentModule()
        self._has_rules = any(True for _ in self._module.getRules())
        self._heads = frozenset(head for head, _ in problem.results)
        self._text = " ".join(_term_from_record(record) for record in records)
        self._term: Any = None

    def prepare(self) -> None:
        """Parse the term anew, since rewriting changes it."""
        self._term = self._module.parseTerm(self._text)

    def run(self) -> float:
        """Rewrite to the normal form."""
        return cpu_seconds(self._term.rewrite if self._has_rules else self._term.reduce)

    def final(self) -> list[Record]:
        """Read the printed term."""
        return [record for record in records_from_text(str(self._term)) if record[0] in self._heads]


class Maude:
    """Maude with rewriting rules."""

    title = "Maude"
    file = "maude.maude"

    def absence(self) -> str | None:
        """Say so where the package is not installed."""
        return None if importlib.util.find_spec("maude") else "the package maude is not installed"

    def can_run(self, problem: Problem) -> bool:
        """Tell whether there is a Maude module."""
        return (problem.folder / self.file).exists()

    def trial(self, problem: Problem, records: list[Record]) -> Trial:
        """Load the module."""
        return MaudeTrial(self.file, problem, records)


class MaudeEquations(Maude):
    """Maude with equations, where they are the better program."""

    title = "Maude, equations"
    file = "maude_equations.maude"


def _term_from_record(record: Record) -> str:
    return str(record[1]) if record[0] == "num" else call_from_record(record, quote='"')
