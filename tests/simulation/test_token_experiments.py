"""The experiments on token passing at a tiny scale: files, tables, what must come out even there, going on."""

from __future__ import annotations

import csv
import json
from math import log2
from typing import TYPE_CHECKING

import pytest

from solvent_lab.experiments import plot
from solvent_lab.experiments.token.cells import PAPER, PROTOCOLS, SMALL, Scale, cells_of, name_of
from solvent_lab.experiments.token.figures import FIGURES
from solvent_lab.experiments.token.reproduction import Reproduction
from solvent_lab.experiments.token.statements import statements

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from solvent_lab.experiments.figure import Figure

TINY = Scale(
    name="tiny",
    runs=2,
    rounds=30,
    min_requests=60,
    max_steps=2_000,
    gap=10,
    sizes=(8, 16, 64),
    nodes=32,
    gaps=(2, 10, 200),
    gaps_of_variants=(2, 10),
    requests_of_variants=1_000,
    sizes_full=(8, 32),
    turns_full=20,
    losses=(0.0, 0.3),
)


class Listener:
    """Hears how far it is, and stops after so many figures."""

    def __init__(self, max_figures: int | None = None) -> None:
        self.max_figures = max_figures
        self.weight = self.done = 0.0
        self.new: list[int | str] = []
        self.old: list[int | str] = []

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


def reproduction(folder: Path, *figures: int | str, seed: int = 1) -> Reproduction:
    """Make a reproduction in this process, without plots."""
    return Reproduction(folder, TINY, figures or tuple(FIGURES), seed=seed, with_plots=False, processes=0)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Listener, Reproduction]:
    """Reproduce all figures once."""
    folder = tmp_path_factory.mktemp("token")
    listener, whole = Listener(), reproduction(folder)
    whole.run(listener)
    return folder, listener, whole


def test_every_figure_has_data_and_intervals(everything: tuple[Path, Listener, Reproduction]) -> None:
    """Each figure gets a table of numbers; means stand within their intervals."""
    folder, listener, whole = everything
    assert whole.is_complete
    assert sorted(map(str, listener.new)) == ["10", "9", "full", "losses", "variants"]
    assert listener.done == pytest.approx(listener.weight)
    for stem in ("figure-09", "figure-10", "figure-full", "figure-losses", "figure-variants"):
        rows = list(csv.DictReader((folder / f"{stem}.csv").read_text().splitlines()))
        assert len(rows) >= 2
        for row in rows:
            for name, value in row.items():
                low, high = (name.replace(" (", f", {end} (", 1) for end in ("low", "high"))
                if low in row:
                    assert float(row[low]) <= float(value) <= float(row[high])


def test_what_is_wanted_holds_even_here(everything: tuple[Path, Listener, Reproduction]) -> None:
    """Responsiveness is at most log2 N at fixed and at falling load, and full load costs no more than in a ring."""
    _, _, whole = everything
    for nodes in TINY.sizes:
        assert whole.cells[name_of("binary", nodes, 10)].responsiveness.mean <= log2(nodes)
    for gap in TINY.gaps:
        binary, ring = (whole.cells[name_of(one, TINY.nodes, gap)].responsiveness.mean for one in ("binary", "ring"))
        assert binary <= log2(TINY.nodes)
        assert binary <= 1.05 * ring
    assert ring == pytest.approx(TINY.nodes / 2, rel=0.3)
    for nodes in TINY.sizes_full:
        binary, ring = (whole.cells[name_of(one, nodes, 0)].steps_per_grant.mean for one in ("binary", "ring"))
        assert binary <= 1.05 * ring


def test_every_statement_is_judged(everything: tuple[Path, Listener, Reproduction]) -> None:
    """The table has a row for each statement, and says what was measured and how it differs."""
    folder, _, _ = everything
    claims = json.loads((folder / "table.json").read_text())["claims"]
    assert [claim["paper"] for claim in claims] == [statement.says for statement in statements(TINY)]
    assert all(claim["measured"] and claim["difference"] for claim in claims)
    assert {claim["where"] for claim in claims} == {
        "figure 9",
        "figure 10",
        "lemma 6",
        "theorem 2",
        "theorem 3",
        "section 1",
        "section 4.2",
        "section 4.4",
        "wanted",
    }
    assert [claim["difference"] for claim in claims if claim["where"] == "wanted"] == ["none"] * 3


def test_the_table_shows_all_protocols_and_variants(everything: tuple[Path, Listener, Reproduction]) -> None:
    """Under the statements stand the figures by size, by load, at full load and by variant."""
    folder, _, _ = everything
    text = (folder / "table.md").read_text()
    tables = (
        "Fixed load, a request every 10",
        "Falling load, 32 nodes",
        "Full load",
        "Variants, 32 nodes",
        "get lost, 32",
    )
    for words in tables:
        assert words in text
    assert text.count("| Raymond's tree |") == 3
    lengths = [len(line.replace("\\|", "").split("|")) for line in text.splitlines() if line.startswith("| 64 ")]
    assert lengths == [len(PROTOCOLS) + 4]


def test_a_part_is_not_run_again(everything: tuple[Path, Listener, Reproduction], tmp_path: Path) -> None:
    """What has been measured is taken from its files; another seed is measured anew, and can be interrupted."""
    folder, _, _ = everything
    listener = Listener()
    claims = reproduction(folder, 10).run(listener)
    assert (listener.weight, listener.new, listener.old) == (0, [], [10])
    assert len(claims) == len(statements(TINY))
    stopped = reproduction(tmp_path, "full", 9, seed=2)
    claims = stopped.run(Listener(max_figures=1))
    assert (stopped.is_complete, list(stopped.written)) == (False, ["full"])
    assert [claim.where for claim in claims] == ["wanted"]


def test_runs_last_a_thousand_rounds_save_for_the_largest() -> None:
    """At the paper's scale runs last 1,000 rounds up to 1,000 nodes, 100 of 10,000; large systems run half as often."""
    cells = cells_of(PAPER)
    assert {cells[name_of("binary", nodes, 10)].setup.rounds for nodes in (8, 100, 1_000)} == {1_000}
    assert cells[name_of("ring", 10_000, 10)].setup.rounds == 100
    assert cells[name_of("naimi", 10_000, 10)].setup.requests == 100_000
    assert cells[name_of("binary", 100, 1_000)].setup.requests == 1_000
    assert {cell.runs for cell in cells.values()} == {6, 3}


def test_every_figure_and_statement_finds_its_cells() -> None:
    """Whatever a figure or a statement needs is a cell, at every scale, and every cell is needed."""
    for scale in (PAPER, SMALL, TINY):
        cells = cells_of(scale)
        drawn = {name for plan in FIGURES.values() for name in plan.needs(scale)}
        assert drawn == set(cells)
        assert {name for statement in statements(scale) for name in statement.needs} <= drawn


@pytest.mark.skipif(not plot.can_plot(), reason="matplotlib is not installed")
def test_figures_are_drawn(everything: tuple[Path, Listener, Reproduction], tmp_path: Path) -> None:
    """Figures are drawn as PNG and as SVG, with bands."""
    _, _, whole = everything
    figure = FIGURES[10].draw(whole.cells, TINY)
    png, svg = plot.save(figure, tmp_path)
    assert (png.name, svg.name) == ("figure-10.png", "figure-10.svg")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "Figure 10: Falling load, 32 nodes" in svg.read_text()
