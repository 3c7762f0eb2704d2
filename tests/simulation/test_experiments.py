"""All experiments of the capture paper at a tiny scale: files, table, going on, interruption."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

from solvent_lab.experiments import plot
from solvent_lab.experiments.capture.cells import PAPER, SMALL, Scale, cells_of
from solvent_lab.experiments.capture.claims_one_rule import statements as of_one_rule
from solvent_lab.experiments.capture.claims_one_rule import statements_of_ours
from solvent_lab.experiments.capture.claims_several_rules import statements as of_several_rules
from solvent_lab.experiments.capture.figures import FIGURES
from solvent_lab.experiments.capture.reproduction import Reproduction
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from solvent_lab.experiments.figure import Figure

TINY = Scale("tiny", 15, 600, 1, (10, 15), (10, 15, 30))


class Listener:
    """Hears how far it is, and stops after so many figures."""

    def __init__(self, max_figures: int | None = None) -> None:
        self.max_figures = max_figures
        self.weight = 0.0
        self.done = 0.0
        self.new: list[int] = []
        self.old: list[int] = []

    def begins(self, weight: float) -> None:
        """Keep what is to be done."""
        self.weight = weight

    def advances(self, weight: float, _cell: str) -> None:
        """Add what has been done."""
        self.done += weight

    def has_written(self, figure: Figure, files: Sequence[Path]) -> None:
        """Keep the figure."""
        (self.new if files else self.old).append(figure.number)

    def should_stop(self) -> bool:
        """Stop when there are enough figures."""
        return self.max_figures is not None and len(self.new) >= self.max_figures


def reproduction(folder: Path, *figures: int, again: bool = False, seed: int = 1) -> Reproduction:
    """Make a reproduction in this process, without plots."""
    return Reproduction(folder, TINY, figures or tuple(FIGURES), seed=seed, again=again, with_plots=False, processes=0)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Listener, Reproduction]:
    """Reproduce all figures once."""
    folder = tmp_path_factory.mktemp("capture")
    listener, whole = Listener(), reproduction(folder)
    whole.run(listener)
    return folder, listener, whole


def test_every_figure_has_data(everything: tuple[Path, Listener, Reproduction]) -> None:
    """Each of the fourteen figures gets a table of numbers with a named column for each curve."""
    folder, listener, whole = everything
    assert whole.is_complete
    assert sorted(listener.new) == [3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18, 19]
    assert listener.done == pytest.approx(listener.weight)
    for number in FIGURES:
        head, *rows = csv.reader((folder / f"figure-{number:02}.csv").read_text().splitlines())
        assert len(set(head)) == len(head) > 2
        assert len(rows) >= 3
        assert all(float(cell) >= 0 for row in rows for cell in row[1:] if cell)


def test_every_statement_of_the_paper_is_judged(everything: tuple[Path, Listener, Reproduction]) -> None:
    """The table has a row for each statement, and says what was measured and how it differs."""
    folder, _, _ = everything
    statements = [*of_one_rule(TINY), *of_several_rules(TINY), *statements_of_ours()]
    claims = json.loads((folder / "table.json").read_text())["claims"]
    assert [claim["paper"] for claim in claims] == [statement.says for statement in statements]
    assert all(claim["measured"] and claim["difference"] for claim in claims)
    assert {claim["experiment"] for claim in claims} == set(range(9))
    assert len((folder / "table.md").read_text().splitlines()) >= 2 + len(claims)


def test_reactions_left_come_to_none(everything: tuple[Path, Listener, Reproduction]) -> None:
    """In figure 3 all curves begin with all reactions; all but that of optimists end with none."""
    folder, _, _ = everything
    rows = list(csv.DictReader((folder / "figure-03.csv").read_text().splitlines()))
    for name in rows[0]:
        if name != "step":
            curve = [float(row[name]) for row in rows if row[name]]
            assert curve[0] == 300
            assert curve == sorted(curve, reverse=True)
            assert curve[-1] == 0 or name == "optimistic"


def test_nodes_are_always_all_there(everything: tuple[Path, Listener, Reproduction]) -> None:
    """Modes and rules of figures 15 to 19 sum up to the number of nodes in every step."""
    _, _, whole = everything
    for name in ("independent", "dependent", "circular", "circular, all types", "workflow"):
        measured = whole.cells[name]
        assert {round(sum(counts)) for counts in zip(*measured.rules, strict=True)} == {TINY.nodes}
        assert {round(sum(counts)) for counts in zip(*measured.modes, strict=True)} == {TINY.nodes}


def test_what_has_been_measured_is_not_run_again(everything: tuple[Path, Listener, Reproduction]) -> None:
    """A second call finds everything there and still gives the whole table, whatever figures it asks for."""
    folder, _, _ = everything
    listener, second = Listener(), reproduction(folder, 5, 9)
    claims = second.run(listener)
    assert (listener.weight, listener.new, listener.old) == (0, [], [5, 9])
    assert {claim.experiment for claim in claims} == set(range(9))


def test_another_seed_or_again_runs_anew(tmp_path: Path) -> None:
    """Other runs are other data; `again` runs even the same."""
    reproduction(tmp_path, 8).run(Listener())
    before = (tmp_path / "figure-08.csv").read_text()
    other, again = Listener(), Listener()
    reproduction(tmp_path, 8, seed=2).run(other)
    assert other.new == [8]
    assert (tmp_path / "figure-08.csv").read_text() != before
    reproduction(tmp_path, 8, seed=2, again=True).run(again)
    assert again.weight > 0


def test_an_interrupted_reproduction_goes_on(tmp_path: Path) -> None:
    """What is complete is kept, with its table; the next call does only the rest."""
    first = reproduction(tmp_path, 8, 9, 15)
    claims = first.run(Listener(max_figures=1))
    assert (first.is_complete, list(first.written)) == (False, [8])
    assert {claim.figure for claim in claims} == {8, 3}
    listener, second = Listener(), reproduction(tmp_path, 8, 9, 15)
    second.run(listener)
    assert second.is_complete
    assert (listener.old, listener.new) == ([8], [9, 15])


def test_a_spoilt_file_is_measured_anew(tmp_path: Path) -> None:
    """A file that cannot be read, or says something else, does not stop anything."""
    reproduction(tmp_path, 8).run(Listener())
    (tmp_path / "data" / "pessimistic.json").write_text('{"setup": 1')
    listener = Listener()
    reproduction(tmp_path, 8).run(listener)
    assert listener.weight > 0


def test_large_systems_run_less_often() -> None:
    """At the paper's scale everything runs fifty times, save for systems of many nodes."""
    cells = cells_of(PAPER)
    assert {cell.runs for cell in cells.values() if cell.setup.nodes <= 250} == {50}
    assert cells["10000 nodes"].runs == 2
    assert {cell.runs for cell in cells_of(SMALL).values()} == {3}


def test_every_figure_finds_its_cells() -> None:
    """Whatever a figure needs is a cell, at every scale."""
    for scale in (PAPER, SMALL, TINY):
        cells = cells_of(scale)
        assert all(name in cells for plan in FIGURES.values() for name in plan.needs(scale))


def test_the_page_shows_the_whole_table() -> None:
    """The documentation has a row for each statement, and the picture of each figure."""
    page = (ROOT / "docs" / "explanation" / "capture-experiments.md").read_text(encoding="utf-8")
    statements = [*of_one_rule(PAPER), *of_several_rules(PAPER), *statements_of_ours()]
    assert [statement.says for statement in statements if f"| {statement.says} |" not in page] == []
    assert [number for number in FIGURES if f"capture/figure-{number:02}.svg" not in page] == []


@pytest.mark.skipif(not plot.can_plot(), reason="matplotlib is not installed")
def test_figures_are_drawn(everything: tuple[Path, Listener, Reproduction], tmp_path: Path) -> None:
    """Figures are drawn as PNG and as SVG, be it curves, bars or panels; the same again for the same data."""
    _, _, whole = everything
    for number in (3, 9, 15):
        figure = FIGURES[number].draw(whole.cells, TINY)
        png, svg = plot.save(figure, tmp_path)
        assert png.read_bytes().startswith(b"\x89PNG")
        drawn = svg.read_text()
        assert f"Figure {number}: " in drawn
        assert all(series.name in drawn for panel in figure.panels for series in panel.series)
        assert plot.save(figure, tmp_path)[1].read_text() == drawn
