"""The experiments of all papers at a tiny scale: files, tables, what must come out even there, interruption."""

from __future__ import annotations

import csv
import json
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from solvent_lab.experiments import capture, handover, token
from solvent_lab.experiments.capture.cells import PAPER as CAPTURE_PAPER
from solvent_lab.experiments.capture.cells import Scale as CaptureScale
from solvent_lab.experiments.figure import can_plot, save_plots
from solvent_lab.experiments.handover.cells import LEAVERS
from solvent_lab.experiments.handover.cells import Scale as HandoverScale
from solvent_lab.experiments.handover.measurement import fit_of, overhead
from solvent_lab.experiments.reproduction import Reproduction
from solvent_lab.experiments.token.cells import Scale as TokenScale
from solvent_lab.experiments.token.cells import name_of
from solvent_lab.experiments.token.claims import statements as token_statements
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from solvent_lab.experiments.figure import Figure

PAPERS: dict[str, Any] = {"capture": capture, "token": token, "handover": handover}
TINY: dict[str, Any] = {
    "capture": CaptureScale("tiny", 15, 600, 1, (10, 15), (10, 15, 30)),
    "token": TokenScale(
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
    ),
    "handover": HandoverScale(
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
    ),
}


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


class Whole(NamedTuple):
    """All figures of a paper, reproduced once."""

    folder: Path
    listener: Listener
    reproduction: Reproduction
    claims: list[dict[str, Any]]


def reproduction(paper: str, folder: Path, *figures: int | str, again: bool = False, seed: int = 1) -> Reproduction:
    """Make a reproduction in this process, without plots."""
    experiments = PAPERS[paper].EXPERIMENTS
    wanted = figures or tuple(experiments.figures)
    return Reproduction(experiments, folder, TINY[paper], wanted, seed, again, with_plots=False, processes=0)


def whole(paper: str, factory: pytest.TempPathFactory) -> Whole:
    """Reproduce all figures of a paper."""
    folder, listener = factory.mktemp(paper), Listener()
    made = reproduction(paper, folder)
    made.run(listener)
    return Whole(folder, listener, made, json.loads((folder / "table.json").read_text())["claims"])


@pytest.fixture(scope="module")
def of_capture(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Reproduce the paper on capture."""
    return whole("capture", tmp_path_factory)


@pytest.fixture(scope="module")
def of_token(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Reproduce the paper on token passing."""
    return whole("token", tmp_path_factory)


@pytest.fixture(scope="module")
def of_handover(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Reproduce the paper on data handover."""
    return whole("handover", tmp_path_factory)


def rows_of(folder: Path, stem: str) -> list[dict[str, str]]:
    """Read the data of a figure."""
    return list(csv.DictReader((folder / f"figure-{stem}.csv").read_text().splitlines()))


# ------------------------------------------------------------------------------------------------------ all papers


@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_finds_its_cells(paper: str) -> None:
    """Whatever a figure or a statement needs is a cell, at every scale, and every cell is drawn."""
    experiments = PAPERS[paper].EXPERIMENTS
    for scale in (*PAPERS[paper].SCALES.values(), TINY[paper]):
        drawn = {name for plan in experiments.figures.values() for name in plan.needs(scale)}
        # Of capture, sizes that only one of two figures has are run with and without dormant nodes.
        assert drawn == set(experiments.cells(scale)) or (paper == "capture" and drawn < set(experiments.cells(scale)))
    if paper == "token":
        assert {name for one in token_statements(scale) for name in one.needs} <= drawn


@pytest.mark.parametrize("paper, figures", [("capture", (5, 9)), ("token", (10,)), ("handover", ("messages", 7))])
def test_what_has_been_measured_is_not_run_again(
    paper: str, figures: tuple[int | str, ...], request: pytest.FixtureRequest
) -> None:
    """A second call finds everything there and still gives the whole table, whatever figures it asks for."""
    before: Whole = request.getfixturevalue(f"of_{paper}")
    listener = Listener()
    claims = reproduction(paper, before.folder, *figures).run(listener)
    assert (listener.weight, listener.new, listener.old) == (0, [], [*figures])
    assert [claim.paper for claim in claims] == [claim["paper"] for claim in before.claims]


@pytest.mark.skipif(not can_plot(), reason="matplotlib is not installed")
@pytest.mark.parametrize("paper, numbers", [("capture", (3, 9, 15)), ("token", (10,)), ("handover", ("table-2",))])
def test_figures_are_drawn(
    paper: str, numbers: tuple[int | str, ...], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Figures are drawn as PNG and as SVG, be it curves, bands, bars or panels; the same again for the same data."""
    made: Whole = request.getfixturevalue(f"of_{paper}")
    for number in numbers:
        figure = PAPERS[paper].EXPERIMENTS.figures[number].draw(made.reproduction.cells, TINY[paper])
        png, svg = save_plots(figure, tmp_path)
        assert (png.name, svg.name) == (f"{figure.stem}.png", f"{figure.stem}.svg")
        assert png.read_bytes().startswith(b"\x89PNG")
        drawn = svg.read_text()
        assert figure.heading in drawn
        assert all(series.name.replace("&", "&amp;") in drawn for panel in figure.panels for series in panel.series)
        assert save_plots(figure, tmp_path)[1].read_text() == drawn


# --------------------------------------------------------------------------------------------------------- capture


def test_every_figure_has_data(of_capture: Whole) -> None:
    """Each of the fourteen figures gets a table of numbers with a named column for each curve."""
    folder, listener, whole, _ = of_capture
    assert whole.is_complete
    assert sorted(listener.new) == [3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18, 19]
    assert listener.done == pytest.approx(listener.weight)
    for number in capture.EXPERIMENTS.figures:
        head, *rows = csv.reader((folder / f"figure-{number:02}.csv").read_text().splitlines())
        assert len(set(head)) == len(head) > 2
        assert len(rows) >= 3
        assert all(float(cell) >= 0 for row in rows for cell in row[1:] if cell)


def test_every_statement_of_the_paper_is_judged(of_capture: Whole) -> None:
    """The table has a row for each statement, and says what was measured and how it differs."""
    folder = of_capture.folder
    statements = capture.statements(TINY["capture"])
    claims = of_capture.claims
    assert [claim["paper"] for claim in claims] == [statement.says for statement in statements]
    assert all(claim["measured"] and claim["difference"] for claim in claims)
    assert {claim["experiment"] for claim in claims} == set(range(9))
    assert len((folder / "table.md").read_text().splitlines()) >= 2 + len(claims)


def test_reactions_left_come_to_none(of_capture: Whole) -> None:
    """In figure 3 all curves begin with all reactions; all but that of optimists end with none."""
    folder = of_capture.folder
    rows = rows_of(folder, "03")
    for name in rows[0]:
        if name != "step":
            curve = [float(row[name]) for row in rows if row[name]]
            assert curve[0] == 300
            assert curve == sorted(curve, reverse=True)
            assert curve[-1] == 0 or name == "optimistic"


def test_nodes_are_always_all_there(of_capture: Whole) -> None:
    """Modes and rules of figures 15 to 19 sum up to the number of nodes in every step."""
    whole = of_capture.reproduction
    for name in ("independent", "dependent", "circular", "circular, all types", "workflow"):
        measured = whole.cells[name]
        assert {round(sum(counts)) for counts in zip(*measured.rules, strict=True)} == {TINY["capture"].nodes}
        assert {round(sum(counts)) for counts in zip(*measured.modes, strict=True)} == {TINY["capture"].nodes}


def test_another_seed_or_again_runs_anew(tmp_path: Path) -> None:
    """Other runs are other data; `again` runs even the same."""
    reproduction("capture", tmp_path, 8).run(Listener())
    before = (tmp_path / "figure-08.csv").read_text()
    other, again = Listener(), Listener()
    reproduction("capture", tmp_path, 8, seed=2).run(other)
    assert other.new == [8]
    assert (tmp_path / "figure-08.csv").read_text() != before
    reproduction("capture", tmp_path, 8, seed=2, again=True).run(again)
    assert again.weight > 0


def test_an_interrupted_reproduction_goes_on(tmp_path: Path) -> None:
    """What is complete is kept, with its table; the next call does only the rest."""
    first = reproduction("capture", tmp_path, 8, 9, 15)
    claims = first.run(Listener(max_figures=1))
    assert (first.is_complete, list(first.written)) == (False, [8])
    assert {claim.where[1] for claim in claims} == {8, 3}
    listener, second = Listener(), reproduction("capture", tmp_path, 8, 9, 15)
    second.run(listener)
    assert second.is_complete
    assert (listener.old, listener.new) == ([8], [9, 15])


def test_a_spoilt_file_is_measured_anew(tmp_path: Path) -> None:
    """A file that cannot be read, or says something else, does not stop anything."""
    reproduction("capture", tmp_path, 8).run(Listener())
    (tmp_path / "data" / "pessimistic.json").write_text('{"setup": 1')
    listener = Listener()
    reproduction("capture", tmp_path, 8).run(listener)
    assert listener.weight > 0


def test_the_page_shows_the_whole_table() -> None:
    """The documentation has a row for each statement, and the picture of each figure."""
    page = (ROOT / "docs" / "explanation" / "capture-experiments.md").read_text(encoding="utf-8")
    statements = capture.statements(CAPTURE_PAPER)
    assert [statement.says for statement in statements if f"| {statement.says} |" not in page] == []
    assert [number for number in capture.EXPERIMENTS.figures if f"capture/figure-{number:02}.svg" not in page] == []


# ----------------------------------------------------------------------------------------------------------- token


def test_every_figure_has_data_and_intervals(of_token: Whole) -> None:
    """Each figure gets a table of numbers; means stand within their intervals."""
    folder, listener, whole, _ = of_token
    assert whole.is_complete
    assert sorted(map(str, listener.new)) == ["10", "9", "full", "losses", "variants"]
    assert listener.done == pytest.approx(listener.weight)
    for stem in ("09", "10", "full", "losses", "variants"):
        rows = rows_of(folder, stem)
        assert len(rows) >= 2
        for row in rows:
            for name, value in row.items():
                low, high = (name.replace(" (", f", {end} (", 1) for end in ("low", "high"))
                if low in row:
                    assert float(row[low]) <= float(value) <= float(row[high])


def test_what_is_wanted_holds_even_here(of_token: Whole) -> None:
    """Responsiveness is at most log2 N at fixed and at falling load, and full load costs no more than in a ring."""
    whole, tiny = of_token.reproduction, TINY["token"]
    for nodes in tiny.sizes:
        assert whole.cells[name_of("binary", nodes, 10)].responsiveness.mean <= log2(nodes)
    for gap in tiny.gaps:
        binary, ring = (whole.cells[name_of(one, tiny.nodes, gap)].responsiveness.mean for one in ("binary", "ring"))
        assert binary <= log2(tiny.nodes)
        assert binary <= 1.05 * ring
    assert ring == pytest.approx(tiny.nodes / 2, rel=0.3)
    for nodes in tiny.sizes_full:
        binary, ring = (whole.cells[name_of(one, nodes, 0)].steps_per_grant.mean for one in ("binary", "ring"))
        assert binary <= 1.05 * ring


def test_every_statement_is_judged(of_token: Whole) -> None:
    """The table has a row for each statement, and says what was measured and how it differs."""
    claims = of_token.claims
    assert [claim["paper"] for claim in claims] == [statement.says for statement in token_statements(TINY["token"])]
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


# -------------------------------------------------------------------------------------------------------- handover


def test_figures_of_handover_have_a_row_for_each_x(of_handover: Whole) -> None:
    """All figures are written, and their files have a row for each x."""
    folder, listener, _, _ = of_handover
    assert listener.new == [*handover.EXPERIMENTS.figures]
    assert listener.done == pytest.approx(listener.weight)
    rows = {"07": 2, "08": 2, "table-2": 2, "messages": 3}
    for stem, count in rows.items():
        assert len(rows_of(folder, stem)) == count


def test_what_must_come_out_does(of_handover: Whole) -> None:
    """Data through a server takes twice as long; departures cost the others nothing; requests grow as a logarithm."""
    whole, tiny, claims = of_handover.reproduction, TINY["handover"], of_handover.claims
    assert [claim["difference"] for claim in claims if claim["where"] == "wanted"] == ["none"]
    for leavers, platform in LEAVERS:
        more, without = overhead(whole.cells, 8, 0.5, leavers, platform)
        assert abs(more.mean) <= 0.05 * without
    fit = fit_of(whole.cells, tiny, "request")
    assert fit.over_log.left < fit.over_n.left
    assert fit.over_log.slope > 1
    assert all(claim["measured"] and claim["difference"] for claim in claims)
    assert {claim["where"] for claim in claims} == {"figure 7", "figure 8", "table 2", "complexity", "wanted"}
