"""Runs what figures need, keeps what was measured, and writes data, plots and the table into a folder.

    figure-03.csv, figure-03.png, figure-03.svg ...   the figures
    table.md, table.json                              what the paper says beside what we measure
    data/adaptive.json ...                            what was measured, one file for each cell

A cell that has been measured is not run again while setup, runs and seed are the same, so a reproduction that was
interrupted goes on where it stopped, and figures that share cells cost no more than one of them. A figure is written
as soon as its last cell is there.

What is the same for all papers is here; the package of a paper says which cells and figures there are, what one run of
a cell does, what is kept of them, and what the table says.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from solvent_lab.experiments import plot
from solvent_lab.experiments.figure import csv_of
from solvent_lab.simulator.many import run_many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from solvent_lab.experiments.figure import Figure


class Watcher(Protocol):
    """Who hears how far it is."""

    def begins(self, weight: float) -> None:
        """So much is to be done in all."""

    def advances(self, weight: float, cell: str) -> None:
        """So much of it has been done, and this is what is being done."""

    def has_written(self, figure: Figure, files: Sequence[Path]) -> None:
        """A figure is there; without files it was there already."""

    def should_stop(self) -> bool:
        """Say whether somebody wants to stop."""


class Cell(Protocol):
    """A setup that is run several times."""

    @property
    def name(self) -> str:
        """What figures and statements call it."""

    @property
    def setup(self) -> Any:
        """What is run."""

    @property
    def runs(self) -> int:
        """How often."""

    @property
    def weight(self) -> float:
        """About how long it takes, in no unit, for the progress bar."""


class Kept(Protocol):
    """What is kept of a cell's runs: enough to know whether the same would be run again."""

    @property
    def setup(self) -> Any:
        """What was run."""

    @property
    def runs(self) -> int:
        """How often."""

    @property
    def seed(self) -> int:
        """The seed from which all runs have theirs."""


Measured = TypeVar("Measured", bound=Kept)
Claim = TypeVar("Claim")


class Plan(NamedTuple):
    """How a figure comes about: the cells it needs, by name, and how it is drawn from them, at a scale."""

    needs: Callable[[Any], tuple[str, ...]]
    draw: Callable[[Mapping[str, Any], Any], Figure]


@dataclass
class Reproduction(ABC, Generic[Measured, Claim]):
    """One reproduction into one folder."""

    folder: Path
    scale: Any
    figures: Sequence[int | str]
    seed: int = 1
    #: Run also what has been measured before.
    again: bool = False
    with_plots: bool = True
    processes: int | None = None
    cells: dict[str, Measured] = field(default_factory=dict)
    #: The figures that are complete, and the files of each.
    written: dict[int | str, list[Path]] = field(default_factory=dict)

    # ---------------------------------------------------------------------------------------- what a paper says

    @property
    @abstractmethod
    def plans(self) -> Mapping[Any, Plan]:
        """All figures there are."""

    @abstractmethod
    def known(self) -> Mapping[str, Cell]:
        """Give all cells there are at this scale, by name."""

    @abstractmethod
    def job(self, cell: Any) -> Callable[[int], Any]:
        """Give what one run of a cell does with its seed."""

    @abstractmethod
    def gathered(self, cell: Any, results: Sequence[Any]) -> Measured:
        """Condense what came of a cell's runs."""

    @abstractmethod
    def recalled(self, data: bytes) -> Measured:
        """Read what was kept of a cell."""

    @abstractmethod
    def table(self) -> tuple[list[Claim], str, list[dict[str, Any]]]:
        """Judge what the paper says by the cells there are: as claims, as Markdown, and as plain values."""

    # ------------------------------------------------------------------------------------------------ all in all

    @property
    def is_complete(self) -> bool:
        """Whether all figures that were asked for are there."""
        return all(number in self.written for number in self.figures)

    def run(self, watcher: Watcher) -> list[Claim]:
        """Do all that is not done yet, and give the table of what there is."""
        (self.folder / "data").mkdir(parents=True, exist_ok=True)
        known = self.known()
        wanted = dict.fromkeys(name for number in self.figures for name in self.plans[number].needs(self.scale))
        if not self.again:
            for cell in known.values():
                # Also those of other figures: the table speaks of all that is known.
                self._recall(cell)
        missing = [known[name] for name in wanted if name not in self.cells]
        watcher.begins(sum(cell.weight for cell in missing))
        self._write_complete(watcher)
        for cell in missing:
            if not self._measure(cell, watcher):
                break
            self._write_complete(watcher)
        return self._write_table()

    # -------------------------------------------------------------------------------------------------- cells

    def _file_of(self, name: str) -> Path:
        return self.folder / "data" / (re.sub(r"[^a-z0-9.]+", "-", name) + ".json")

    def _recall(self, cell: Cell) -> None:
        """Take a cell from its file if it says the same as what would be run."""
        try:
            measured = self.recalled(self._file_of(cell.name).read_bytes())
        except (OSError, msgspec.MsgspecError, RecursionError):
            return
        if (measured.setup, measured.runs, measured.seed) == (cell.setup, cell.runs, self.seed):
            self.cells[cell.name] = measured

    def _measure(self, cell: Cell, watcher: Watcher) -> bool:
        """Run a cell and keep it; tell whether all its runs were done."""
        done_before = 0

        def hear(done: int, _runs: int) -> None:
            nonlocal done_before
            watcher.advances((done - done_before) * cell.weight / cell.runs, cell.name)
            done_before = done

        came = run_many(
            self.job(cell),
            seed=self.seed,
            runs=cell.runs,
            processes=self.processes,
            progress=hear,
            should_stop=watcher.should_stop,
        )
        if not came.is_complete:
            return False
        self.cells[cell.name] = self.gathered(cell, came.results)
        self._file_of(cell.name).write_bytes(msgspec.json.encode(self.cells[cell.name]))
        return True

    # -------------------------------------------------------------------------------------------------- files

    def _write_complete(self, watcher: Watcher) -> None:
        """Write those figures for which everything is there now."""
        for number in self.figures:
            plan = self.plans[number]
            if number not in self.written and all(name in self.cells for name in plan.needs(self.scale)):
                figure = plan.draw(self.cells, self.scale)
                self.written[number], changed = self._write(figure)
                watcher.has_written(figure, changed)

    def _write(self, figure: Figure) -> tuple[list[Path], list[Path]]:
        """Write a figure's files unless they are there; give all of them, and those that changed."""
        table = self.folder / f"{figure.stem}.csv"
        plots = [self.folder / f"{figure.stem}.{ending}" for ending in plot.FORMATS]
        text = csv_of(figure)
        is_there = table.exists() and table.read_text(encoding="utf-8") == text
        changed = [] if is_there else [table]
        table.write_text(text, encoding="utf-8")
        draws = self.with_plots and plot.can_plot()
        if draws and not (is_there and all(one.exists() for one in plots)):
            changed += plot.save(figure, self.folder)
        return [table, *(plots if draws else [])], changed

    def _write_table(self) -> list[Claim]:
        claims, text, rows = self.table()
        values = {"scale": self.scale._asdict(), "seed": self.seed, "claims": rows}
        (self.folder / "table.md").write_text(text, encoding="utf-8")
        (self.folder / "table.json").write_bytes(msgspec.json.format(msgspec.json.encode(values), indent=2) + b"\n")
        return claims


__all__ = ["Cell", "Kept", "Plan", "Reproduction", "Watcher"]
