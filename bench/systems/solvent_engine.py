"""Solvent itself, through its Python interface: `extend` and `run` are measured, parsing is not."""

import importlib
import importlib.util
from typing import Any

from bench.problems import Problem
from bench.records import HEADLESS, Record, plain_from_record
from bench.systems.trial import Trial, cpu_seconds


class SolventTrial:
    """A parsed program and its molecules as Python values."""

    max_repeats = 200

    def __init__(self, problem: Problem, records: list[Record]) -> None:
        self._solvent: Any = importlib.import_module("solvent")
        self._program = self._solvent.hocl.parse((problem.folder / "solvent.hocl").read_text(encoding="utf-8"))
        self._heads = frozenset(head for head, _ in problem.results)
        self._molecules = [self._molecule(record) for record in records]
        self._solution: Any = None

    def prepare(self) -> None:
        """Make a fresh solution that holds only the rules."""
        self._solution = self._program.solution()

    def run(self) -> float:
        """Put the molecules in and react until inert."""
        return cpu_seconds(self._work)

    def final(self) -> list[Record]:
        """Read the molecules back; rules are no records."""
        records = [record for record in map(self._record, self._solution) if record]
        return [record for record in records if record[0] in self._heads]

    def _work(self) -> None:
        self._solution.extend(self._molecules)
        outcome = self._solvent.hocl.react(self._solution)
        if not outcome.inert:
            message = "the run stopped before the solution was inert"
            raise RuntimeError(message)

    def _molecule(self, record: Record) -> Any:
        plain = plain_from_record(record)
        if isinstance(plain, int) or record[0] in HEADLESS:
            return plain
        return (self._solvent.hocl.Symbol(plain[0]), *plain[1:])

    def _record(self, molecule: Any) -> Record | None:
        if isinstance(molecule, int):
            return ("num", molecule)
        if not isinstance(molecule, tuple):
            return None
        if isinstance(molecule[0], self._solvent.hocl.Symbol):
            return (molecule[0].name.lower(), *molecule[1:])
        (head,) = self._heads
        return (head, *molecule)


class Solvent:
    """The chemical engine of this project."""

    title = "Solvent"

    def absence(self) -> str | None:
        """Say so where the package is not installed."""
        return None if importlib.util.find_spec("solvent") else "solvent is not installed"

    def can_run(self, problem: Problem) -> bool:
        """Tell whether there is a HOCL text."""
        return (problem.folder / "solvent.hocl").exists()

    def trial(self, problem: Problem, records: list[Record]) -> Trial:
        """Parse the program."""
        return SolventTrial(problem, records)
