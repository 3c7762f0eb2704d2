"""The command: `python -m bench`, from the top of the checkout.

Without options everything is measured (about half an hour); `--programs`, `--systems` and `--extras` choose.
The exit code is 1 if any system left other molecules than the hand-written loop or Solvent failed, and, with
`--strict`, 2 if a demand is missed.
"""

import argparse
import sys
from collections.abc import Callable, Collection

from rich.console import Console

from bench.cell import Cell, Ending, Limits, measure
from bench.extras import NAMES, measure_extra, verdicts_on_extras
from bench.figures import Figures
from bench.options import read_options
from bench.problems import PROBLEMS, Order
from bench.report import console_for_output, format_seconds, json_text, print_problem, print_verdicts
from bench.systems import SYSTEMS
from bench.verdicts import verdicts_on_programs


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="measure everything (the default)")
    parser.add_argument("--programs", type=_names(PROBLEMS), help="only these programs, separated by commas")
    parser.add_argument("--systems", type=_names(SYSTEMS), default=list(SYSTEMS), help="only these systems")
    parser.add_argument("--extras", type=_names(NAMES), help="only these of memory, rules, startup")
    parser.add_argument("--sizes", type=_sizes, help="sizes n, separated by commas, for every program")
    parser.add_argument("--order", type=Order, choices=list(Order), default=Order.RANDOM, help="of max and sum")
    parser.add_argument("--max-seconds", type=float, default=60.0, help="time limit of one cell (60)")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--strict", action="store_true", help="exit with 2 when a demand is missed")
    arguments = read_options(parser)
    is_chosen = arguments.programs is not None or arguments.extras is not None
    if arguments.all or not is_chosen:
        arguments.programs, arguments.extras = (
            arguments.programs or list(PROBLEMS),
            arguments.extras or list(NAMES),
        )
    arguments.programs = arguments.programs or []
    arguments.extras = arguments.extras or []
    return arguments


def present_systems(names: list[str], console: Console) -> list[str]:
    """Leave out what is not installed, with a word."""
    present = []
    for name in names:
        absence = SYSTEMS[name].absence()
        if absence and name != "solvent":
            console.print(f"{SYSTEMS[name].title} is skipped: {absence}", markup=False)
        else:
            present.append(name)
    return present


def measure_problem(
    name: str, systems: list[str], arguments: argparse.Namespace, figures: Figures, progress: Console
) -> list[str]:
    """Fill the cells of one program; give what is wrong with the results."""
    problem = PROBLEMS[name]
    limits = Limits(max_seconds=arguments.max_seconds, order=arguments.order, is_once=arguments.smallest)
    sizes = arguments.sizes or ((problem.smallest,) if arguments.smallest else problem.sizes)
    wrong: list[str] = []
    late: set[str] = set()
    for size in sorted(sizes):
        loop = measure("hand", name, size, limits)
        for system in systems:
            if not SYSTEMS[system].can_run(problem):
                continue
            if system in late:
                figures.add(Cell(system, name, size, Ending.SKIPPED))
                continue
            cell = loop if system == "hand" else measure(system, name, size, limits)
            figures.add(cell)
            if cell.ending is not Ending.MEASURED:
                late.add(system)
            wrong += complaints_about(cell, loop)
            time = format_seconds(cell.seconds) if cell.seconds is not None else f"{cell.ending} {cell.note}"
            progress.print(f"{name} {size:,} {SYSTEMS[system].title}: {time}", markup=False, style="dim")
    return wrong


def complaints_about(cell: Cell, loop: Cell) -> list[str]:
    """Compare a result with the hand-written loop's."""
    where = f"{cell.problem}, n = {cell.size:,}, {SYSTEMS[cell.system].title}"
    if cell.ending is Ending.FAILED and cell.system in {"hand", "solvent"}:
        return [f"{where}: {cell.note}"]
    if cell.digest is None or loop.digest is None or cell.digest == loop.digest:
        return []
    return [f"{where}: a wrong result, {cell.note}; by hand {loop.note}"]


def main() -> int:
    """Measure what is asked for, print it, and judge."""
    arguments = parse_arguments()
    is_table = arguments.format == "table"
    errors = Console(stderr=True, highlight=False)
    console = console_for_output() if is_table else errors
    figures = Figures(max_seconds=arguments.max_seconds)
    systems = present_systems(arguments.systems, console)
    wrong: list[str] = []
    for name in arguments.programs:
        wrong += measure_problem(name, systems, arguments, figures, errors)
        print_problem(console, figures, name, systems)
    extras: dict[str, dict[str, float]] = {}
    for name in arguments.extras if "solvent" in systems else []:
        found = measure_extra(name, is_smallest=arguments.smallest)
        if isinstance(found, str):
            wrong.append(f"{name}: {found}")
        else:
            extras[name] = found
            numbers = ", ".join(f"{key} {value:.4g}" for key, value in found.items())
            console.print(f"{name}: {numbers}", markup=False)
    verdicts = verdicts_on_programs(figures) if "solvent" in systems else []
    verdicts += verdicts_on_extras(extras) if arguments.extras else []
    if is_table:
        print_verdicts(console, verdicts)
    else:
        print(json_text(figures, extras, verdicts))
    for complaint in wrong:
        errors.print(complaint, markup=False, style="bold red")
    if wrong:
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
