"""The experiments on data handover at a tiny scale: files, tables, what must come out even there, going on."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

from solvent_lab.experiments import plot
from solvent_lab.experiments.handover.cells import COUNTINGS, LEAVERS, PAPER, SMALL, Scale, cells_of
from solvent_lab.experiments.handover.claims import fit_of
from solvent_lab.experiments.handover.figures import FIGURES, overhead
from solvent_lab.experiments.handover.reproduction import Reproduction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from solvent_lab.experiments.figure import Figure

TINY = Scale(
    name="tiny",
    runs=1,
    runs_leaving=1,
    cycles=3,
    peers=8,
    bytes=10 << 20,
    sizes=(1 << 10, 100 << 20),
    locked_by_size=(0.0, 5.0),
    locked=(0.0, 1.0, 5.0),
    wblocked=(0.0, 5.0),
    leaving=(0.25, 0.5),
    peers_leaving=(8,),
    cycles_leaving=3,
    pause_of_dropping=5.0,
    processes=(8, 32, 96),
    min_operations=10,
    max_operations=30,
    turns_in_crowd=1,
)


class Listener:
    """Hears how far it is."""

    def __init__(self) -> None:
        self.new: list[int | str] = []
        self.old: list[int | str] = []
        self.weight = self.done = 0.0

    def begins(self, weight: float) -> None:
        """Note what is to be done."""
        self.weight = weight

    def advances(self, weight: float, _cell: str) -> None:
        """Note what is done."""
        self.done += weight

    def has_written(self, figure: Figure, files: Sequence[Path]) -> None:
        """Note a figure."""
        (self.new if files else self.old).append(figure.number)

    def should_stop(self) -> bool:
        """Go on."""
        return False


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Listener, Reproduction]:
    """Run all figures once."""
    folder, listener = tmp_path_factory.mktemp("handover"), Listener()
    whole = Reproduction(folder, TINY, tuple(FIGURES), with_plots=False, processes=0)
    whole.run(listener)
    return folder, listener, whole


def test_every_figure_has_its_data(everything: tuple[Path, Listener, Reproduction]) -> None:
    """All figures are written, and their files have a row for each x."""
    folder, listener, _ = everything
    assert listener.new == [*FIGURES]
    assert listener.done == pytest.approx(listener.weight)
    rows = {"07": 2, "08": 2, "table-2": 2, "messages": 3}
    for stem, count in rows.items():
        assert len(list(csv.DictReader((folder / f"figure-{stem}.csv").read_text().splitlines()))) == count


def test_what_must_come_out_does(everything: tuple[Path, Listener, Reproduction]) -> None:
    """Data through a server takes twice as long; departures cost the others nothing; requests grow as a logarithm."""
    folder, _, whole = everything
    claims = json.loads((folder / "table.json").read_text())["claims"]
    assert [claim["difference"] for claim in claims if claim["where"] == "wanted"] == ["none"]
    for leavers, platform in LEAVERS:
        more, without = overhead(whole.cells, 8, 0.5, leavers, platform)
        assert abs(more.mean) <= 0.05 * without
    fit = fit_of(whole.cells, TINY, "request")
    assert fit.logarithm < fit.line
    assert fit.over_log.slope > 1
    assert all(claim["measured"] and claim["difference"] for claim in claims)
    assert {claim["where"] for claim in claims} == {"figure 7", "figure 8", "table 2", "complexity", "wanted"}


def test_the_table_shows_all(everything: tuple[Path, Listener, Reproduction]) -> None:
    """Under the statements stand the figures, formula (4), table 2 and the counts."""
    folder, _, _ = everything
    text = (folder / "table.md").read_text()
    for words in (
        "Figure 7, 8 peers",
        "Formula (4), 8 peers",
        "Figure 8, 8 peers",
        "Table 2: ",
        "Messages per operation",
    ):
        assert words in text
    assert sum(f"| {one.says} |" in text for one in COUNTINGS) == len(COUNTINGS)


def test_a_part_is_not_run_again(everything: tuple[Path, Listener, Reproduction]) -> None:
    """What has been measured is taken from its files."""
    folder, _, _ = everything
    listener = Listener()
    Reproduction(folder, TINY, ["messages", 7], with_plots=False, processes=0).run(listener)
    assert (listener.weight, listener.new, listener.old) == (0, [], ["messages", 7])


def test_every_figure_finds_its_cells() -> None:
    """Whatever a figure needs is a cell, at every scale, and every cell is needed."""
    for scale in (PAPER, SMALL, TINY):
        drawn = {name for plan in FIGURES.values() for name in plan.needs(scale)}
        assert drawn == set(cells_of(scale))
    cells = cells_of(PAPER)
    assert {cells[name].setup.cycles for number in (7, 8) for name in FIGURES[number].needs(PAPER)} == {100}


@pytest.mark.skipif(not plot.can_plot(), reason="matplotlib is not installed")
def test_figures_are_drawn(everything: tuple[Path, Listener, Reproduction], tmp_path: Path) -> None:
    """Figures are drawn as PNG and as SVG."""
    _, _, whole = everything
    _, svg = plot.save(FIGURES["table-2"].draw(whole.cells, TINY), tmp_path)
    assert "Table 2: what peers that leave cost the others" in svg.read_text()
