"""What an adapter promises: trials that keep loading, measured work and reading the result apart."""

import gc
import time
from collections.abc import Callable
from typing import Protocol

from bench.problems import Problem
from bench.records import Record


class Trial(Protocol):
    """One program with one input in one system, to be run any number of times."""

    max_repeats: int

    def prepare(self) -> None:
        """Make a fresh state; not measured."""

    def run(self) -> float:
        """Put the molecules in and run to the end; give the seconds of CPU time, user and system."""

    def final(self) -> list[Record]:
        """Give the records that are left after the last run; not measured."""


class System(Protocol):
    """A system that can run the problems."""

    title: str

    def absence(self) -> str | None:
        """Say why the system cannot be measured here, or nothing if it can."""

    def can_run(self, problem: Problem) -> bool:
        """Tell whether there is a program for the problem."""

    def trial(self, problem: Problem, records: list[Record]) -> Trial:
        """Load the program and turn the input into the system's form; not measured."""


def cpu_seconds(work: Callable[[], object]) -> float:
    """Measure the CPU time of a piece of work, after the garbage of earlier ones is gone."""
    gc.collect()
    before = time.process_time()
    work()
    return time.process_time() - before
