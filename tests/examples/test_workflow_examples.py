"""The workflows under `examples/workflows` run as their pages say, heal, and call nothing twice that is finished.

Each runs as a process of its own, in a copy of its folder, so that what it writes does not last.
"""

from __future__ import annotations

import difflib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import environment, solvent
from tests.repo.console import exchanges_of, is_as_expected, run_commands
from tests.repo.snippets import blocks_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "workflows"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if (folder / "README.md").exists())
LINES_MAX = 150


def _copy(name: str, to: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / name, to / name, ignore=shutil.ignore_patterns("__pycache__")))


def _run(name: str, file: str, to: Path, *words: str) -> dict[str, Any]:
    """Run a workflow of an example and give its report."""
    done = solvent("run", file, "--format", "json", *words, cwd=_copy(name, to))
    assert done.code == 0, done.err
    report: dict[str, Any] = done.json
    return report


def _adaptations(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["alternative"], one["because"]) for one in report["adaptations"]]


@pytest.mark.parametrize("name", NAMES)
def test_commands_of_an_example_print_what_its_page_shows(name: str, tmp_path: Path) -> None:
    """The commands on the page of an example print what the page says."""
    page = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    folder = _copy(name, tmp_path)
    for block in blocks_of(page):
        if block.language != "console" or "no-check" in block.remarks:
            continue
        exchanges = exchanges_of(block.text)
        outputs = run_commands([exchange.command for exchange in exchanges], folder)
        for exchange, seen in zip(exchanges, outputs, strict=True):
            if exchange.expected and not is_as_expected(exchange.expected, seen):
                changes = difflib.unified_diff(exchange.expected, seen, "shown", "printed", lineterm="")
                pytest.fail("\n".join([f"$ {exchange.command}", *changes]), pytrace=False)


@pytest.mark.parametrize("name", NAMES)
def test_example_is_short(name: str) -> None:
    """An example is one idea, so its files are short, and its page shows a command."""
    files = [file for file in (EXAMPLES / name).iterdir() if file.suffix in {".py", ".hocl", ".yaml", ".md"}]
    lengths = {file.name: len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert {file: length for file, length in lengths.items() if length > LINES_MAX} == {}
    assert "$ " in (EXAMPLES / name / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", ["diamond.hocl", "diamond.yaml"])
def test_diamond_filters_and_multiplies(file: str, tmp_path: Path) -> None:
    """The paper's diamond calls T4 once for each pair, as HOCLflow and as YAML."""
    report = _run("diamond", file, tmp_path)
    assert report["results"] == {"T4": [120, 125, 120]}
    assert report["calls"] == {"T1": 1, "T2": 1, "T3": 1, "T4": 3}
    assert report["adaptations"] == []


def test_diamond_in_both_forms_is_one_model() -> None:
    """The two files of the diamond say the same."""
    from solvent.workflow.files import load

    models = [load(str(EXAMPLES / "diamond" / file)).workflow for file in ("diamond.hocl", "diamond.yaml")]
    assert models[0] == models[1]


def test_adaptive_diamond_replaces_one_task(tmp_path: Path) -> None:
    """When T2 fails, T5 gets T1's result, and neither T1 nor T3 is called again."""
    report = _run("diamond", "adaptive.hocl", tmp_path)
    assert report["results"] == {"T4": [120, 125, 120]}
    assert report["calls"] == {"T1": 1, "T2": 1, "T3": 1, "T4": 3, "T5": 1}
    assert _adaptations(report) == [("closed", "T2")]


def test_cleaning_falls_back_at_an_odd_row(tmp_path: Path) -> None:
    """When the strict parser stops, the tolerant one takes over; the file is neither read nor counted again."""
    report = _run("cleaning", "cleaning.yaml", tmp_path)
    assert report["results"] == {
        "report": "7 of 9 rows are usable\n  Faro: 21.8 °C\n  Lisbon: 20.0 °C\n  Porto: 17.8 °C"
    }
    assert report["calls"] == dict.fromkeys(["raw", "rows", "parsed", "repaired", "averages", "report"], 1)
    assert _adaptations(report) == [("odd rows", "parsed")]


def test_cleaning_needs_no_fallback_for_clean_rows(tmp_path: Path) -> None:
    """With clean rows the tolerant parser is never called."""
    report = _run("cleaning", "cleaning.yaml", tmp_path, "--input", "file=clean.csv")
    assert report["states"]["repaired"] == "unused"
    assert (report["calls"]["repaired"], report["adaptations"]) == (0, [])


def test_sweep_calls_each_with_each_in_order(tmp_path: Path) -> None:
    """The sweep simulates every combination once, and its table has the rows and columns of the lists."""
    report = _run("sweep", "sweep.py", tmp_path, "--input", "count=3")
    rows = [line.split() for line in report["results"]["table"].splitlines()]
    assert rows[0] == ["contact", "0.05", "0.125", "0.2"]
    assert [row[0] for row in rows[1:]] == ["0.1", "0.25", "0.4"]
    # More contacts make a higher peak, faster recovery a lower one.
    peaks = [[int(cell) for cell in row[1:]] for row in rows[1:]]
    assert all(row == sorted(row, reverse=True) for row in peaks)
    assert all(list(column) == sorted(column) for column in zip(*peaks, strict=True))
    assert report["calls"] == {"contacts": 1, "recoveries": 1, "simulate": 9, "table": 1, "worst": 1}


def test_text_analysis_gives_up_a_slow_step(tmp_path: Path) -> None:
    """The slow search for names is replaced after its time-out; chapters are counted once each meanwhile."""
    report = _run("text", "words.py", tmp_path)
    assert report["results"]["describe"].splitlines()[-1] == "names: Ines, Lisbon"
    assert report["calls"] == {
        "read": 1, "split": 1, "count": 3, "merge": 1, "top": 1, "find_names_thoroughly": 1, "find_names": 1,
        "title": 3, "describe": 1,
    }  # fmt: skip
    assert [(one["alternative"], one["cause"]) for one in report["adaptations"]] == [
        ("too slow", "TIMEOUT: no result after 0.5 s")
    ]


def test_text_analysis_waits_for_a_step_that_is_fast_enough(tmp_path: Path) -> None:
    """With a short text the thorough search ends in time, and its stand-in is never called."""
    (folder := _copy("text", tmp_path)).joinpath("short.txt").write_text("CHAPTER I. Ships\n\nHere Ines rests.\n")
    done = solvent("run", "words.py", "--format", "json", "--input", "file=short.txt", cwd=folder)
    assert done.json["results"] == {"describe": "Ships: 3 words\nmost frequent: here, ines, rests\nnames: Ines"}
    assert (done.json["calls"]["find_names"], done.json["adaptations"]) == (0, [])


@pytest.mark.parametrize("words", [(), ("--processes",)])
def test_grid_tries_richer_models_when_accuracy_is_low(words: tuple[str, ...], tmp_path: Path) -> None:
    """When the best linear model is rejected, the richer grid is trained on the same points, also in processes."""
    report = _run("grid", "grid.py", tmp_path, *words)
    assert report["results"] == {"describe": "3 nearest neighbours: accuracy 0.92 (guessing: 0.51)"}
    assert report["calls"] == {
        "make_points": 1, "train_linear": 4, "best_linear": 1, "train_neighbours": 3, "best_neighbours": 1,
        "guess": 1, "describe": 1,
    }  # fmt: skip
    assert _adaptations(report) == [("not good enough", "best_linear")]


def test_grid_keeps_linear_models_when_they_suffice(tmp_path: Path) -> None:
    """When a linear model is accurate, the richer grid is never trained."""
    report = _run("grid", "grid.py", tmp_path, "--input", "task=line")
    assert report["results"]["describe"].startswith("logistic regression")
    assert (report["calls"]["train_neighbours"], report["adaptations"]) == (0, [])


def test_shop_survives_the_death_of_a_server(tmp_path: Path) -> None:
    """When the server of prices dies in the middle, its mirror is asked; the others saw each request once."""
    done = subprocess.run(
        [sys.executable, "shop.py", "--format", "json"],
        cwd=_copy("http", tmp_path),
        env=environment(),
        capture_output=True,
        timeout=200,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["results"] == {"total": 56.25}
    assert report["calls"] == {"items": 1, "parcel": 1, "costs": 5, "costs_elsewhere": 5, "total": 1}
    assert _adaptations(report) == [("prices are gone", "costs")]
    # The servers' own count: the catalogue answers for the order and for the total.
    assert done.stderr.splitlines() == [
        "catalogue answered 2",
        "prices is dead",
        "mirror answered 5",
        "shipping answered 1",
    ]


def test_mosaic_fits_again_when_seams_are_left(tmp_path: Path) -> None:
    """A seam noticed three steps later makes the fits again: what led to them is not called again, what follows is."""
    report = _run("mosaic", "mosaic.py", tmp_path)
    assert report["results"] == {"describe": "out/mosaic.ppm: 40 x 40 pixels, largest seam 0"}
    assert report["calls"] == {
        "photograph": 4, "project": 4, "overlaps": 1, "difference": 6, "fit": 6, "model": 2, "correct": 8, "seam": 2,
        "fit_by_median": 6, "add": 1, "describe": 1,
    }  # fmt: skip
    assert _adaptations(report) == [("seams", "seam")]


def test_mosaic_shows_the_sky(tmp_path: Path) -> None:
    """The mosaic is the sky that was photographed, but for the trail of the aeroplane."""
    _run("mosaic", "mosaic.py", tmp_path)
    compare = (
        "from images import read, sky\n"
        "true, made = sky().pixels, read('out/mosaic.ppm').pixels\n"
        "print(made.keys() == true.keys(), sum(abs(made[place] - true[place]) > 1 for place in true))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", compare], cwd=tmp_path / "mosaic", capture_output=True, check=True, text=True
    )
    assert done.stdout == "True 35\n"


def test_solver_goes_on_from_what_a_diverging_sweep_had_spoiled(tmp_path: Path) -> None:
    """Sweeps that diverge in worker processes leave the plate as it was, and careful ones bring it into balance."""
    np = pytest.importorskip("numpy")
    words = ("--input", "omega=2.1", "--input", "tolerance=0.1", "--input", "save=plate.npy", "--processes")
    report = _run("solver", "solver.py", tmp_path, *words)
    assert set(_adaptations(report)) == {("diverged", "sweep")}
    assert report["calls"]["careful"] == report["calls"]["sweep"] == len(report["adaptations"])
    plate = np.load(tmp_path / "solver" / "plate.npy")
    means = (plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]) / 4
    assert np.abs(means - plate[1:-1, 1:-1]).max() <= 0.1
