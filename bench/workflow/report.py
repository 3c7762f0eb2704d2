"""Tables for people and JSON for programs."""

import json
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from bench.cell import Ending
from bench.report import format_seconds
from bench.verdicts import Verdict
from bench.workflow.cell import Cell, Mode
from bench.workflow.figures import Figures
from bench.workflow.graphs import SHAPES
from bench.workflow.systems import SYSTEMS


def print_shape(console: Console, figures: Figures, name: str, systems: Iterable[str]) -> None:
    """Print one shape's table: best and median time, times over Solvent's, time of a task, growth."""
    sizes = figures.sizes(name)
    if not sizes:
        return
    table = Table(title=f"{name}: {SHAPES[name].title}; best, median; times over Solvent's", title_justify="left")
    table.add_column("system")
    for size in sizes:
        table.add_column(f"n = {size:,}", justify="right")
        table.add_column("ratio", justify="right")
    table.add_column("a task", justify="right")
    table.add_column("growth", justify="right")
    for system in systems:
        cells = [figures.cell(system, Mode.TIME, name, size) for size in sizes]
        if not any(cells):
            continue
        columns: list[str] = []
        for size, cell in zip(sizes, cells, strict=True):
            columns += [_time(cell, figures), _ratio(figures, system, name, size)]
        growth = figures.growth(system, name)
        table.add_row(SYSTEMS[system].title, *columns, _each(cells), "" if growth is None else f"n^{growth:.2f}")
    console.print(table)


def print_memory(console: Console, figures: Figures) -> None:
    """Print what the processes of each system hold together."""
    cells = figures.of_mode(Mode.MEMORY)
    if not cells:
        return
    table = Table(title="memory of all processes together", title_justify="left")
    for column in ("system", "graph", "started", "peak"):
        table.add_column(column, justify="left" if column in {"system", "graph"} else "right")
    for cell in cells:
        graph = f"{cell.question.shape} {cell.question.size:,}"
        weights = [f"{weight / 2**20:.0f} MiB" if weight else "" for weight in (cell.ready_bytes, cell.peak_bytes)]
        if cell.ending is not Ending.MEASURED:
            weights = ["", str(cell.ending)]
        table.add_row(SYSTEMS[cell.question.system].title, graph, *weights)
    console.print(table)


def print_recovery(console: Console, figures: Figures) -> None:
    """Print how long it takes from a failure to the other result."""
    cells = figures.of_mode(Mode.FAILURE)
    if not cells:
        return
    table = Table(title="from a failure to the other result", title_justify="left")
    for column in ("system", "best", "median"):
        table.add_column(column, justify="left" if column == "system" else "right")
    for cell in cells:
        times = [format_seconds(time) if time is not None else str(cell.ending) for time in (cell.best, cell.median)]
        table.add_row(SYSTEMS[cell.question.system].title, *times)
    console.print(table)


def print_failures(console: Console, figures: Figures) -> None:
    """Print why cells failed."""
    for cell in figures.cells.values():
        if cell.ending is Ending.FAILED:
            console.print(f"{describe(cell)}", markup=False)


def describe(cell: Cell) -> str:
    """Say in one line what came of a cell."""
    question = cell.question
    what = "" if question.mode is Mode.FAILURE else f" {question.shape} {question.size:,}"
    found = f"{cell.ending} {cell.note}".rstrip()
    if cell.best is not None:
        found = format_seconds(cell.best)
    if cell.peak_bytes is not None:
        found = f"{cell.peak_bytes / 2**20:.0f} MiB"
    return f"{question.mode}{what}, {SYSTEMS[question.system].title}: {found}"


def json_text(figures: Figures, verdicts: list[Verdict], *, workers: int, systems: Iterable[str]) -> str:
    """Give everything as one JSON object."""
    cells = [
        {
            "system": cell.question.system,
            "mode": cell.question.mode,
            "shape": cell.question.shape,
            "n": cell.question.size,
            "ending": cell.ending,
            "seconds": cell.best,
            "seconds_median": cell.median,
            "runs": len(cell.times),
            "bytes_started": cell.ready_bytes,
            "bytes_peak": cell.peak_bytes,
            "note": cell.note,
        }
        for cell in figures.cells.values()
    ]
    pairs = sorted({(cell.question.system, cell.question.shape) for cell in figures.of_mode(Mode.TIME)})
    growth = [{"system": system, "shape": shape, "exponent": figures.growth(system, shape)} for system, shape in pairs]
    judged = [{"demand": verdict.demand, "met": verdict.is_met, "figures": verdict.figures} for verdict in verdicts]
    versions = {system: SYSTEMS[system].version() for system in systems}
    found = {"workers": workers, "versions": versions, "cells": cells, "growth": growth, "verdicts": judged}
    return json.dumps(found, indent=2)


def _time(cell: Cell | None, figures: Figures) -> str:
    if cell is None:
        return ""
    match cell.ending:
        case Ending.MEASURED:
            assert cell.best is not None
            assert cell.median is not None
            best = format_seconds(cell.best)
            return f"{best}, {format_seconds(cell.median)}" if len(cell.times) > 1 else best
        case Ending.OUT_OF_TIME:
            return f"> {figures.max_seconds:g} s"
        case Ending.SKIPPED:
            return "skipped"
        case Ending.FAILED:
            return "failed"


def _each(cells: list[Cell | None]) -> str:
    """Give the time of a task in the largest graph that was measured."""
    ended = [cell for cell in cells if cell is not None and cell.best is not None]
    if not ended:
        return ""
    largest = ended[-1]
    assert largest.best is not None
    return f"{largest.best / largest.question.size * 1e3:.3f} ms"


def _ratio(figures: Figures, system: str, shape: str, size: int) -> str:
    """Compare threads with threads, and processes with processes."""
    ours = figures.seconds(SYSTEMS[system].family, shape, size)
    theirs = figures.seconds_least(system, shape, size)
    if ours is None or theirs is None:
        return ""
    sign = "" if figures.seconds(system, shape, size) is not None else "> "
    return f"{sign}{theirs / ours:.3g}"
