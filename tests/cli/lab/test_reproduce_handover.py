"""`solvent lab reproduce handover`: files, formats and wrong usage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from solvent.cli.main import main
from solvent_lab.experiments.handover import cells
from solvent_lab.experiments.handover.cells import SMALL

if TYPE_CHECKING:
    from pathlib import Path

QUICK = ("--runs", "1", "--processes", "0", "--no-plots", "--figure", "table-2")


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the small scale smaller."""
    changes = {"peers_leaving": (6,), "leaving": (0.5,), "cycles_leaving": 2}
    monkeypatch.setitem(cells.SCALES, "small", SMALL._replace(**changes))


def test_one_figure_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One figure gives its data and the rows of the table that its runs suffice for; small scale is usual."""
    assert main(["lab", "reproduce", "handover", *QUICK, "--out", str(tmp_path), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["figures"] == {"table-2": [str(tmp_path / "figure-table-2.csv")]}
    assert (found["complete"], found["runs"], found["scale"]) == (True, 1, "small")
    assert [claim["where"] for claim in found["claims"]] == ["table 2"]
    assert err.startswith("figure table-2  Table 2: what peers that leave cost the others")
    assert json.loads((tmp_path / "table.json").read_text())["claims"] == found["claims"]


def test_text_says_what_the_paper_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table is printed by where the paper says something; a second call runs nothing."""
    words = ["lab", "reproduce", "handover", *QUICK, "--out", str(tmp_path)]
    assert main(words) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("Table 2\n  paper says  what departures add is negligible\n")
    assert f"1 figure, 1 file and the table in {tmp_path} (" in out
    assert main(words) == 0
    assert "was there already" in capsys.readouterr().err


@pytest.mark.parametrize("words, said", [
    (["--figure", "9"], "there is no figure `9`; there are 7, 8, table-2, messages"),
    (["--runs", "0"], "`0` is not an integer from 1"),
    (["--scale", "huge"], "huge"),
])  # fmt: skip
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """What is wrong is said with exit code 2."""
    assert main(["lab", "reproduce", "handover", *words]) == 2
    assert said in capsys.readouterr().err


def test_help_tells_what_the_figures_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Each figure is explained, and the paper is named among the others."""
    assert main(["lab", "reproduce", "handover", "--help"]) == 0
    assert "table-2    what it costs the others" in capsys.readouterr().out
    assert main(["lab", "reproduce", "--help"]) == 0
    assert "handover: Hernane, Gustedt" in capsys.readouterr().out.replace("\n", " ").replace("  ", "")
