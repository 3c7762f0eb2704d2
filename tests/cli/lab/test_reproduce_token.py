"""`solvent lab reproduce token`: files, formats and wrong usage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from solvent.cli.main import main
from solvent_lab.experiments.token import cells
from solvent_lab.experiments.token.cells import SMALL

if TYPE_CHECKING:
    from pathlib import Path

QUICK = ("--scale", "small", "--runs", "2", "--processes", "0", "--no-plots", "--figure", "full")


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the small scale smaller."""
    monkeypatch.setitem(cells.SCALES, "small", SMALL._replace(sizes_full=(8, 16), turns_full=5))


def test_one_figure_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One figure gives its data and the rows of the table that its runs suffice for."""
    assert main(["lab", "reproduce", "token", *QUICK, "--out", str(tmp_path), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["figures"] == {"full": [str(tmp_path / "figure-full.csv")]}
    assert (found["complete"], found["runs"], found["scale"]) == (True, 2, "small")
    assert [claim["where"] for claim in found["claims"]] == ["wanted"]
    assert err.startswith("figure full  Full load: every node always wants the token")
    assert json.loads((tmp_path / "table.json").read_text())["claims"] == found["claims"]


def test_text_says_what_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table is printed by where the paper says something; a second call runs nothing."""
    words = ["lab", "reproduce", "token", *QUICK, "--out", str(tmp_path)]
    assert main(words) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("Wanted\n  we want     at full load it takes at most 1.05 times a ring's steps per grant\n")
    assert "  difference  none\n" in out
    assert f"1 figure, 1 file and the table in {tmp_path} (" in out
    assert main(words) == 0
    assert "was there already" in capsys.readouterr().err


@pytest.mark.parametrize("words, said", [
    (["token", "--figure", "11"], "there is no figure `11`; there are 9, 10, variants, full, losses"),
    (["token", "--runs", "0"], "`0` is not an integer from 1"),
    (["token", "--scale", "huge"], "huge"),
    (["--runs", "3", "token"], "the paper comes first: solvent lab reproduce token"),
])  # fmt: skip
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """What is wrong is said with exit code 2."""
    assert main(["lab", "reproduce", *words]) == 2
    assert said in capsys.readouterr().err


def test_help_tells_what_the_figures_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Each figure is explained, those that are not the paper's too."""
    assert main(["lab", "reproduce", "token", "--help"]) == 0
    out = capsys.readouterr().out
    assert "variants   the paper's variants of the search" in out
    assert main(["lab", "reproduce", "--help"]) == 0
    assert "token: Englert, Rudolph, Shvartsman" in capsys.readouterr().out.replace("\n", " ").replace("  ", "")
