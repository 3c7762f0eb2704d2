"""Runs what figures need, keeps what was measured, and writes data, plots and the table into a folder.

    figure-03.csv, figure-03.png, figure-03.svg ...   the figures
    table.md, table.json                              what the paper says beside what we measure
    data/adaptive.json ...                            what was measured, one file for each cell

A cell that has been measured is not run again while setup, runs and seed are the same, so a reproduction that was
interrupted goes on where it stopped, and figures that share cells cost no more than one of them. A figure is written
as soon as its last cell is there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from solvent.simulation.experiments.capture import plotting
from solvent.simulation.experiments.capture.cells import PAPER, cells_of
from solvent.simulation.experiments.capture.claims import judged
from solvent.simulation.experiments.capture.claims_one_rule import statements as of_one_rule
from solvent.simulation.experiments.capture.claims_one_rule import statements_of_ours
from solvent.simulation.experiments.capture.claims_several_rules import statements as of_several_rules
from solvent.simulation.experiments.capture.drawing import csv_of
from solvent.simulation.experiments.capture.figures import FIGURES
from solvent.simulation.experiments.capture.measuring import Measured, gathered, measure
from solvent.simulation.experiments.capture.tables import table_as_markdown, table_as_values
from solvent.simulation.many import run_many

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from solvent.simulation.experiments.capture.cells import Cell, Scale
    from solvent.simulation.experiments.capture.claims import Claim
    from solvent.simulation.experiments.capture.drawing import Figure


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


@dataclass
class Reproduction:
    """One reproduction into one folder."""

    folder: Path
    scale: Scale
    figures: Sequence[int]
    seed: int = 1
    #: Run also what has been measured before.
    again: bool = False
    with_plots: bool = True
    processes: int | None = None
    cells: dict[str, Measured] = field(default_factory=dict)
    #: The figures that are complete, and the files of each.
    written: dict[int, list[Path]] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether all figures that were asked for are there."""
        return all(number in self.written for number in self.figures)

    def run(self, watcher: Watcher) -> list[Claim]:
        """Do all that is not done yet, and give the table of what there is."""
        (self.folder / "data").mkdir(parents=True, exist_ok=True)
        known = cells_of(self.scale)
        wanted = dict.fromkeys(name for number in self.figures for name in FIGURES[number].needs(self.scale))
        if not self.again:
            for name, cell in known.items():
                # Also those of other figures: the table speaks of all that is known.
                self._recall(name, cell)
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

    def _recall(self, name: str, cell: Cell) -> None:
        """Take a cell from its file if it says the same as what would be run."""
        try:
            measured = msgspec.json.decode(self._file_of(name).read_bytes(), type=Measured)
        except (OSError, msgspec.MsgspecError):
            return
        if (measured.setup, measured.runs, measured.seed) == (cell.setup, cell.runs, self.seed):
            self.cells[name] = measured

    def _measure(self, cell: Cell, watcher: Watcher) -> bool:
        """Run a cell and keep it; tell whether all its runs were done."""
        done_before = 0

        def hear(done: int, _runs: int) -> None:
            nonlocal done_before
            watcher.advances((done - done_before) * cell.weight / cell.runs, cell.name)
            done_before = done

        came = run_many(
            partial(measure, cell.setup, cell.counts_messages),
            seed=self.seed,
            runs=cell.runs,
            processes=self.processes,
            progress=hear,
            should_stop=watcher.should_stop,
        )
        if not came.is_complete:
            return False
        self.cells[cell.name] = gathered(cell, self.seed, came.results)
        self._file_of(cell.name).write_bytes(msgspec.json.encode(self.cells[cell.name]))
        return True

    # -------------------------------------------------------------------------------------------------- files

    def _write_complete(self, watcher: Watcher) -> None:
        """Write those figures for which everything is there now."""
        for number in self.figures:
            plan = FIGURES[number]
            if number not in self.written and all(name in self.cells for name in plan.needs(self.scale)):
                figure = plan.draw(self.cells, self.scale)
                self.written[number], changed = self._write(figure)
                watcher.has_written(figure, changed)

    def _write(self, figure: Figure) -> tuple[list[Path], list[Path]]:
        """Write a figure's files unless they are there; give all of them, and those that changed."""
        table = self.folder / f"{figure.stem}.csv"
        plots = [self.folder / f"{figure.stem}.{ending}" for ending in plotting.FORMATS]
        text = csv_of(figure)
        is_there = table.exists() and table.read_text(encoding="utf-8") == text
        changed = [] if is_there else [table]
        table.write_text(text, encoding="utf-8")
        draws = self.with_plots and plotting.can_plot()
        if draws and not (is_there and all(plot.exists() for plot in plots)):
            changed += plotting.save(figure, self.folder)
        return [table, *(plots if draws else [])], changed

    def _write_table(self) -> list[Claim]:
        statements = (*of_one_rule(self.scale), *of_several_rules(self.scale), *statements_of_ours())
        claims = judged(statements, self.cells, explains=self.scale.name == PAPER.name)
        values = {
            "scale": self.scale._asdict(),
            "seed": self.seed,
            "claims": table_as_values(claims),
        }
        (self.folder / "table.md").write_text(table_as_markdown(claims), encoding="utf-8")
        (self.folder / "table.json").write_bytes(msgspec.json.format(msgspec.json.encode(values), indent=2) + b"\n")
        return claims


__all__ = ["Reproduction", "Watcher"]
