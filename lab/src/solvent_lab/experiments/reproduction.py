"""Runs the cells that figures need, keeps what was measured, and writes data, plots and the table into a folder.

    figure-03.csv, figure-03.png, figure-03.svg ...   the figures
    table.md, table.json                              what the paper says beside what we measure
    data/adaptive.json ...                            what was measured, one file for each cell

A cell that has been measured is not run again while setup, runs and seed are the same. So a reproduction that was
interrupted continues where it stopped, and figures that share cells cost no more than one of them. A figure is written
as soon as its last cell has been measured. Each paper is described by one `Paper`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from solvent_lab.experiments.claims import Claim, Estimate, claims_table, estimate
from solvent_lab.experiments.figure import FORMATS, Figure, can_plot, csv_of, save_plots
from solvent_lab.simulator.many import run_many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

Setup = TypeVar("Setup")
Outcome = TypeVar("Outcome")


class Cell(NamedTuple):
    """A setup that is run several times."""

    #: What figures and statements call it.
    name: str
    setup: Any
    runs: int
    #: Returns the outcome of one run for its seed; sent to other processes.
    job: Callable[[int], Any]
    #: About how long all runs take, in no unit, for the progress bar.
    weight: float


class Outcomes(msgspec.Struct, Generic[Setup, Outcome], frozen=True, kw_only=True):
    """What is kept of a cell's runs: their outcomes as they are."""

    setup: Setup
    seed: int
    outcomes: list[Outcome]

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return len(self.outcomes)

    def mean(self, name: str) -> Estimate:
        """Return the mean over runs of something measured, by its name."""
        return estimate([float(getattr(outcome, name)) for outcome in self.outcomes])

    def most(self, name: str) -> int:
        """Return the greatest of something measured, by its name."""
        return max(int(getattr(outcome, name)) for outcome in self.outcomes)


class Plan(NamedTuple):
    """How a figure comes about: the cells it needs, by name, and how it is drawn from them, at a scale."""

    needs: Callable[[Any], tuple[str, ...]]
    draw: Callable[[Mapping[str, Any], Any], Figure]


class Paper(NamedTuple):
    """The experiments of one paper."""

    figures: Mapping[Any, Plan]
    #: Returns all cells at a scale, by name.
    cells: Callable[[Any], dict[str, Cell]]
    #: Condenses the outcomes of a cell's runs from a seed into what is kept, which is of this type.
    gather: Callable[[Cell, int, Sequence[Any]], Any]
    kept: Any
    #: Judges what the paper says by the cells measured so far, at a scale.
    judge: Callable[[Mapping[str, Any], Any], list[Claim]]
    #: Returns further tables that are written under the claims.
    tables: Callable[[Mapping[str, Any], Any], list[str]]
    #: The names of the parts of a claim's place, and the heads of the table's first columns.
    place: tuple[str, ...] = ("where",)
    head: tuple[str, ...] = ("where", "paper says, or is wanted")

    def values_of(self, claim: Claim) -> dict[str, Any]:
        """Return a claim for JSON."""
        values = claim._asdict()
        return dict(zip(self.place, values.pop("where"), strict=True)) | values


class Watcher(Protocol):
    """Follows the progress of a reproduction."""

    def begins(self, weight: float) -> None:
        """Learn how much there is to do."""

    def advances(self, weight: float, cell: str) -> None:
        """Learn how much more has been done, and in which cell."""

    def has_written(self, figure: Figure, files: Sequence[Path]) -> None:
        """Learn that a figure is complete; without files it had been written before."""

    def should_stop(self) -> bool:
        """Return whether to stop."""


@dataclass
class Reproduction:
    """One reproduction of a paper into one folder."""

    paper: Paper
    folder: Path
    scale: Any
    figures: Sequence[int | str]
    seed: int = 1
    #: Run also what has been measured before.
    again: bool = False
    with_plots: bool = True
    processes: int | None = None
    #: What was measured, by the names of cells.
    cells: dict[str, Any] = field(default_factory=dict)
    #: The figures that are complete, and the files of each.
    written: dict[int | str, list[Path]] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether all figures that were asked for are written."""
        return all(number in self.written for number in self.figures)

    def run(self, watcher: Watcher) -> list[Claim]:
        """Run what has not been measured yet, write all files, and return the claims."""
        (self.folder / "data").mkdir(parents=True, exist_ok=True)
        known, plans = self.paper.cells(self.scale), self.paper.figures
        wanted = dict.fromkeys(name for number in self.figures for name in plans[number].needs(self.scale))
        if not self.again:
            for cell in known.values():
                # Also those of other figures: the table covers all that is known.
                self._recall(cell)
        missing = [known[name] for name in wanted if name not in self.cells]
        watcher.begins(sum(cell.weight for cell in missing))
        self._write_complete(watcher)
        for cell in missing:
            if not self._measure(cell, watcher):
                break
            self._write_complete(watcher)
        return self._write_table()

    def _file_of(self, name: str) -> Path:
        return self.folder / "data" / (re.sub(r"[^a-z0-9.]+", "-", name) + ".json")

    def _recall(self, cell: Cell) -> None:
        """Take a cell from its file if that has the same setup, runs and seed."""
        try:
            kept = msgspec.json.decode(self._file_of(cell.name).read_bytes(), type=self.paper.kept)
        except (OSError, msgspec.MsgspecError, RecursionError):
            return
        if (kept.setup, kept.runs, kept.seed) == (cell.setup, cell.runs, self.seed):
            self.cells[cell.name] = kept

    def _measure(self, cell: Cell, watcher: Watcher) -> bool:
        """Run a cell and keep it; return whether all its runs were done."""
        done_before = 0

        def hear(done: int, _runs: int) -> None:
            nonlocal done_before
            watcher.advances((done - done_before) * cell.weight / cell.runs, cell.name)
            done_before = done

        gathered = run_many(
            cell.job,
            seed=self.seed,
            runs=cell.runs,
            processes=self.processes,
            progress=hear,
            should_stop=watcher.should_stop,
        )
        if not gathered.is_complete:
            return False
        self.cells[cell.name] = self.paper.gather(cell, self.seed, gathered.results)
        self._file_of(cell.name).write_bytes(msgspec.json.encode(self.cells[cell.name]))
        return True

    def _write_complete(self, watcher: Watcher) -> None:
        """Write those figures for which everything has been measured."""
        for number in self.figures:
            plan = self.paper.figures[number]
            if number not in self.written and all(name in self.cells for name in plan.needs(self.scale)):
                figure = plan.draw(self.cells, self.scale)
                self.written[number], changed = self._write(figure)
                watcher.has_written(figure, changed)

    def _write(self, figure: Figure) -> tuple[list[Path], list[Path]]:
        """Write a figure's files unless they are there; return all of them, and those that changed."""
        table = self.folder / f"{figure.stem}.csv"
        plots = [self.folder / f"{figure.stem}.{ending}" for ending in FORMATS]
        text = csv_of(figure)
        is_there = table.exists() and table.read_text(encoding="utf-8") == text
        changed = [] if is_there else [table]
        table.write_text(text, encoding="utf-8")
        draws = self.with_plots and can_plot()
        if draws and not (is_there and all(one.exists() for one in plots)):
            changed += save_plots(figure, self.folder)
        return [table, *(plots if draws else [])], changed

    def _write_table(self) -> list[Claim]:
        claims = self.paper.judge(self.cells, self.scale)
        parts = [claims_table(self.paper.head, claims)] if claims else []
        text = "\n\n".join(parts + self.paper.tables(self.cells, self.scale)) + "\n"
        rows = [self.paper.values_of(claim) for claim in claims]
        values = {"scale": self.scale._asdict(), "seed": self.seed, "claims": rows}
        (self.folder / "table.md").write_text(text, encoding="utf-8")
        (self.folder / "table.json").write_bytes(msgspec.json.format(msgspec.json.encode(values), indent=2) + b"\n")
        return claims
