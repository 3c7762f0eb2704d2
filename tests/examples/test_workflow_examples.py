"""The workflows under `examples/workflows` run as their pages say, heal, and call nothing twice that is finished.

Each runs as a process of its own, in a copy of its folder, so that what it writes does not last.
"""

from __future__ import annotations

import difflib
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import solvent
from tests.repo.console import exchanges_of, is_as_expected, run_commands
from tests.repo.snippets import blocks_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "workflows"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if (folder / "README.md").exists())
MAX_LINES = 150
# What a developer's own runs have left in a folder.
MADE = shutil.ignore_patterns("__pycache__", "data", "out", ".solvent")


def _copy(name: str, to: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / name, to / name, ignore=MADE))


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
    assert {file: length for file, length in lengths.items() if length > MAX_LINES} == {}
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
    from solvent.workflows.formats.files import load

    models = [load(str(EXAMPLES / "diamond" / file)).workflow for file in ("diamond.hocl", "diamond.yaml")]
    assert models[0] == models[1]


def test_adaptive_diamond_replaces_one_task(tmp_path: Path) -> None:
    """When T2 fails, T5 gets T1's result, and neither T1 nor T3 is called again."""
    report = _run("diamond", "adaptive.hocl", tmp_path)
    assert report["results"] == {"T4": [120, 125, 120]}
    assert report["calls"] == {"T1": 1, "T2": 1, "T3": 1, "T4": 3, "T5": 1}
    assert _adaptations(report) == [("closed", "T2")]


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
