"""Tables for people and JSON for programs."""

import json
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from bench.cell import Cell, Ending
from bench.figures import Figures
from bench.problems import PROBLEMS
from bench.systems import SYSTEMS
from bench.verdicts import Verdict

PIPE_WIDTH = 140


def console_for_output() -> Console:
    """Make a console that is wide enough on a pipe, where nobody folds lines."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def print_problem(console: Console, figures: Figures, name: str, systems: Iterable[str]) -> None:
    """Print one program's table: times, times over Solvent's, growth."""
    sizes = figures.sizes(name)
    table = Table(title=f"{name}: {PROBLEMS[name].title}, CPU time", title_justify="left")
    table.add_column("system")
    for size in sizes:
        table.add_column(f"n = {size:,}", justify="right")
    for size in sizes:
        table.add_column(f"over Solvent, {size:,}", justify="right")
    table.add_column("growth", justify="right")
    for system in systems:
        cells = [figures.cell(system, name, size) for size in sizes]
        if not any(cells):
            continue
        growth = figures.growth(system, name)
        table.add_row(
            SYSTEMS[system].title,
            *(_time(cell, figures) for cell in cells),
            *(_ratio(figures, system, name, size) for size in sizes),
            "" if growth is None else f"n^{growth:.2f}",
        )
    console.print(table)
    for cell in figures.cells.values():
        if cell.problem == name and cell.ending is Ending.FAILED:
            console.print(f"{SYSTEMS[cell.system].title}, n = {cell.size:,}: {cell.note}", markup=False)


def print_verdicts(console: Console, verdicts: list[Verdict]) -> None:
    """Print what Solvent must reach, and whether it does."""
    if not verdicts:
        return
    table = Table(title="What Solvent must reach", title_justify="left")
    table.add_column("")
    table.add_column("demand")
    table.add_column("found")
    marks = {True: "[green]pass[/]", False: "[bold red]FAIL[/]", None: "[dim]—[/]"}
    for verdict in verdicts:
        table.add_row(marks[verdict.is_met], verdict.demand, verdict.figures)
    console.print(table)
    counts = {mark: sum(verdict.is_met is mark for verdict in verdicts) for mark in marks}
    console.print(f"{counts[True]} met, {counts[False]} missed, {counts[None]} not measured")


def json_text(figures: Figures, extras: dict[str, dict[str, float]], verdicts: list[Verdict]) -> str:
    """Give everything as one JSON object."""
    cells = [
        {
            "system": cell.system,
            "program": cell.problem,
            "n": cell.size,
            "ending": cell.ending,
            "seconds": cell.seconds,
            "runs": cell.runs,
        }
        for cell in figures.cells.values()
    ]
    pairs = sorted({(cell.system, cell.problem) for cell in figures.cells.values()})
    growth = [
        {"system": system, "program": problem, "exponent": figures.growth(system, problem)} for system, problem in pairs
    ]
    judged = [{"demand": verdict.demand, "met": verdict.is_met, "figures": verdict.figures} for verdict in verdicts]
    return json.dumps({"cells": cells, "growth": growth, **extras, "verdicts": judged}, indent=2)


def format_seconds(seconds: float) -> str:
    """Write a time with three digits and the unit that suits it."""
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def _time(cell: Cell | None, figures: Figures) -> str:
    if cell is None:
        return ""
    match cell.ending:
        case Ending.MEASURED:
            assert cell.seconds is not None
            return format_seconds(cell.seconds)
        case Ending.OUT_OF_TIME:
            return f"> {figures.max_seconds:g} s"
        case Ending.SKIPPED:
            return "skipped"
        case Ending.FAILED:
            return "failed"


def _ratio(figures: Figures, system: str, problem: str, size: int) -> str:
    ours = figures.seconds("solvent", problem, size)
    theirs = figures.seconds_least(system, problem, size)
    if ours is None or theirs is None:
        return ""
    sign = "" if figures.has_ended(system, problem, size) else "> "
    return f"{sign}{theirs / ours:.3g}"
