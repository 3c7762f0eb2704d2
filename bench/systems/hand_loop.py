"""The hand-written Python loop."""

from typing import Any

from bench.hand import LOOPS, RESULTS
from bench.problems import Problem
from bench.records import Record, plain_from_record
from bench.systems.trial import Trial, cpu_seconds


class HandTrial:
    """A loop and its molecules as plain values."""

    max_repeats = 200

    def __init__(self, problem: Problem, records: list[Record]) -> None:
        self._problem = problem
        self._molecules: list[Any] = [plain_from_record(record) for record in records]
        self._outcome: Any = None

    def prepare(self) -> None:
        """Forget the last outcome; the loops do not change their input."""
        self._outcome = None

    def run(self) -> float:
        """Run the loop."""
        return cpu_seconds(self._work)

    def final(self) -> list[Record]:
        """Turn the loop's outcome into records."""
        return RESULTS[self._problem.name](self._outcome)

    def _work(self) -> None:
        self._outcome = LOOPS[self._problem.name](self._molecules)


class HandLoop:
    """Plain Python."""

    title = "by hand"

    def absence(self) -> str | None:
        """Python is always here."""
        return None

    def can_run(self, problem: Problem) -> bool:
        """Tell whether a loop is written."""
        return problem.name in LOOPS

    def trial(self, problem: Problem, records: list[Record]) -> Trial:
        """Take the molecules as they are."""
        return HandTrial(problem, records)
