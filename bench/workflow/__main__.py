"""The command: `python -m bench.workflow`, from the top of the checkout.

Without options everything is measured; `--shapes`, `--systems` and `--extras` choose. The exit code is 1 if any
system gave other results than the plain evaluation or Solvent failed, and, with `--strict`, 2 if a demand is missed.
"""

import argparse
import os
import sys
from collections.abc import Callable, Collection

from rich.console import Console

from bench.cell import Ending
from bench.options import read_options
from bench.report import console_for_output, print_verdicts
from bench.workflow.cell import Cell, Limits, Mode, Question, measure
from bench.workflow.figures import Figures
from bench.workflow.graphs import SHAPES
from bench.workflow.report import (
    describe,
    json_text,
    print_failures,
    print_memory,
    print_recovery,
    print_shape,
)
from bench.workflow.systems import SYSTEMS
from bench.workflow.verdicts import HUGE, LARGE, OURS, verdicts_on

EXTRAS = ("memory", "failure", "huge")
MEMORY_SHAPES = ("layers", "fan")
FAILURES = 200
SMALLEST = 10
HUGE_FACTOR = 5.0
WRONG = "WrongResult"


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.workflow", description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=_names(SHAPES), help="only these shapes, separated by commas")
    parser.add_argument("--systems", type=_names(SYSTEMS), default=list(SYSTEMS), help="only these systems")
    parser.add_argument("--extras", type=_names(EXTRAS), help=f"only these of {', '.join(EXTRAS)}")
    parser.add_argument("--sizes", type=_sizes, help="sizes n, separated by commas, for every shape")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2, help="threads or processes (all cores)")
    parser.add_argument("--max-seconds", type=float, default=60.0, help="time limit of one run (60)")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--strict", action="store_true", help="exit with 2 when a demand is missed")
    arguments = read_options(parser, workers=2)
    if arguments.shapes is None and arguments.extras is None:
        arguments.shapes, arguments.extras = list(SHAPES), list(EXTRAS)
    arguments.shapes = arguments.shapes or []
    arguments.extras = arguments.extras or []
    return arguments


class Measuring:
    """Asks questions, keeps the cells and says what it sees."""

    def __init__(self, figures: Figures, limits: Limits, progress: Console) -> None:
        self._figures = figures
        self._limits = limits
        self._progress = progress
        self.wrong: list[str] = []

    def ask(self, question: Question, limits: Limits | None = None) -> Cell:
        """Measure one cell."""
        cell = measure(question, limits or self._limits)
        self._figures.add(cell)
        self._progress.print(describe(cell), markup=False, style="dim")
        if cell.ending is Ending.FAILED and (question.system in OURS or WRONG in cell.note):
            self.wrong.append(describe(cell))
        return cell

    def skip(self, question: Question) -> None:
        """Note a cell that is not tried, because a smaller one failed."""
        self._figures.add(Cell(question, Ending.SKIPPED))

    def time_shape(self, name: str, systems: list[str], sizes: Collection[int] | None) -> None:
        """Time one shape, sizes in order, the systems in turns."""
        shape = SHAPES[name]
        late: set[str] = set()
        for size in sorted(sizes or {*shape.sizes, *shape.ours}):
            for system in systems:
                question = Question(system, Mode.TIME, name, size)
                if not sizes and size not in shape.sizes and system not in OURS:
                    continue
                if system in late:
                    self.skip(question)
                elif self.ask(question).ending is not Ending.MEASURED:
                    late.add(system)

    def measure_extra(self, name: str, systems: list[str], *, is_smallest: bool) -> None:
        """Measure memory, recovery or 100,000 tasks."""
        match name:
            case "memory":
                size = SMALLEST if is_smallest else LARGE
                for shape in MEMORY_SHAPES[:1] if is_smallest else MEMORY_SHAPES:
                    for system in systems:
                        self.ask(Question(system, Mode.MEMORY, shape, size))
            case "failure":
                for system in systems:
                    self.ask(Question(system, Mode.FAILURE, "-", 1 if is_smallest else FAILURES))
            case "huge" if not is_smallest and "solvent" in systems:
                limits = Limits(self._limits.max_seconds * HUGE_FACTOR, self._limits.workers)
                for shape in SHAPES:
                    self.ask(Question("solvent", Mode.TIME, shape, HUGE), limits)
            case _:
                return


def present_systems(names: list[str], console: Console) -> list[str]:
    """Leave out what is not installed, with a word."""
    present = []
    for name in names:
        absence = SYSTEMS[name].absence()
        if absence and name not in OURS:
            console.print(f"{SYSTEMS[name].title} is skipped: {absence}", markup=False)
        else:
            present.append(name)
    return present


def main() -> int:
    """Measure what is asked for, print it, and judge."""
    arguments = parse_arguments()
    is_table = arguments.format == "table"
    errors = Console(stderr=True, highlight=False)
    console = console_for_output() if is_table else errors
    figures = Figures(max_seconds=arguments.max_seconds)
    systems = present_systems(arguments.systems, console)
    versions = ", ".join(f"{SYSTEMS[name].title} {SYSTEMS[name].version()}" for name in systems)
    console.print(f"{arguments.workers} workers; {versions}", markup=False)
    measuring = Measuring(figures, Limits(arguments.max_seconds, arguments.workers), errors)
    for name in arguments.shapes:
        measuring.time_shape(name, systems, arguments.sizes or ([SMALLEST] if arguments.smallest else None))
    for name in arguments.extras:
        measuring.measure_extra(name, systems, is_smallest=arguments.smallest)
    verdicts = verdicts_on(figures) if set(systems) & set(OURS) else []
    if is_table:
        for name in SHAPES:
            print_shape(console, figures, name, systems)
        print_memory(console, figures)
        print_recovery(console, figures)
        print_failures(console, figures)
        print_verdicts(console, verdicts)
    else:
        print(json_text(figures, verdicts, workers=arguments.workers, systems=systems))
    for complaint in measuring.wrong:
        errors.print(complaint, markup=False, style="bold red")
    if measuring.wrong:
        return 1
    return 2 if arguments.strict and any(verdict.is_met is False for verdict in verdicts) else 0


def _names(known: Collection[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                message = f"{name!r} is none of {', '.join(known)}"
                raise argparse.ArgumentTypeError(message)
        return names

    return read


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part.replace("_", "")) for part in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
