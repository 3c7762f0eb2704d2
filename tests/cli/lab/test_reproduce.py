"""`solvent lab reproduce`: files, formats, wrong usage, missing matplotlib and Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from solvent.cli.main import main
from solvent_lab.experiments import figure, handover, token
from tests.cli.command import arguments, environment

if TYPE_CHECKING:
    from pathlib import Path

QUICK = ("--scale", "small", "--runs", "1", "--processes", "0")


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small scales smaller."""
    changes = {"peers_leaving": (6,), "leaving": (0.5,), "cycles_leaving": 2}
    monkeypatch.setitem(handover.SCALES, "small", handover.SCALES["small"]._replace(**changes))
    monkeypatch.setitem(token.SCALES, "small", token.SCALES["small"]._replace(sizes_full=(8, 16), turns_full=5))


#: Of each paper a figure: its name, its title, where the paper speaks of it, and how the printed table begins.
FIGURES: dict[str, tuple[str, str, dict[str, set[int | str]], str]] = {
    "capture": (
        "8",
        "Messages of the pessimistic sub-protocol",
        {"experiment": {1, 4}, "figure": {3, 8}},
        "Experiment 1\n  paper says  pessimists alone finish",
    ),
    "token": (
        "full",
        "Full load: every node always wants the token",
        {"where": {"wanted"}},
        "Wanted\n  we want     at full load it takes at most 1.05 times a ring's steps per grant\n",
    ),
    "handover": (
        "table-2",
        "Table 2: what peers that leave cost the others",
        {"where": {"table 2"}},
        "Table 2\n  paper says  what departures add is negligible\n",
    ),
}


@pytest.mark.parametrize("paper", FIGURES)
def test_one_figure_as_json_and_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str], paper: str) -> None:
    """One figure gives its data and the rows of the table that its runs suffice for; a second call runs nothing."""
    number, title, places, printed = FIGURES[paper]
    words = ["lab", "reproduce", paper, "--figure", number, *QUICK, "--no-plots", "--out", str(tmp_path)]
    assert main([*words, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["figures"] == {number: [str(tmp_path / f"figure-{number.zfill(2)}.csv")]}
    assert (found["complete"], found["runs"], found["scale"]) == (True, 1, "small")
    assert {place: {claim[place] for claim in found["claims"]} for place in places} == places
    assert err.startswith(f"figure {number:>2}  {title}")
    assert json.loads((tmp_path / "table.json").read_text())["claims"] == found["claims"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert out.startswith(printed)
    assert f"1 figure, 1 file and the table in {tmp_path} (" in out
    assert "was there already" in err


def test_without_matplotlib_there_is_everything_but_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data and table are written, and what is missing is said before and after, with exit code 2."""
    monkeypatch.setattr(figure, "can_plot", lambda: False)
    monkeypatch.setattr("solvent_lab.experiments.reproduction.can_plot", lambda: False)
    assert main(["lab", "reproduce", "capture", "--figure", "10", *QUICK, "--out", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert "Experiment 3" in out
    assert err.count("pip install 'solvent[figures]'") == 2
    assert "error[P330]: the plots need matplotlib; data and table are in " in err
    assert {file.name for file in tmp_path.iterdir()} == {"data", "figure-10.csv", "table.json", "table.md"}


@pytest.mark.parametrize("words, said", [
    ([], "PAPER"),
    (["captur"], "captur"),
    (["capture", "--figure", "12"], "`--figure` must be one of 3, 4, "),
    (["token", "--figure", "11"], "`--figure` must be one of 9, 10, variants, full, losses, not `11`"),
    (["--runs", "3", "token"], "the paper comes first: solvent lab reproduce token"),
    (["handover", "--figure", "9"], "`--figure` must be one of 7, 8, table-2, messages, not `9`"),
])  # fmt: skip
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """What is wrong is said with exit code 2."""
    assert main(["lab", "reproduce", *words]) == 2
    assert said in capsys.readouterr().err


def test_help_tells_what_the_figures_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Each figure is explained, those that are not the paper's too, and all papers are named."""
    for paper, says in (("token", "variants   the paper's variants"), ("handover", "table-2    what it costs")):
        assert main(["lab", "reproduce", paper, "--help"]) == 0
        assert says in capsys.readouterr().out
    assert main(["lab", "reproduce", "--help"]) == 0
    out = capsys.readouterr().out.replace("\n", " ").replace("  ", "")
    assert "token: Englert, Rudolph, Shvartsman" in out
    assert "handover: Hernane, Gustedt" in out


def test_a_folder_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that cannot be made is an error before anything runs."""
    (tmp_path / "file").write_text("")
    assert main(["lab", "reproduce", "capture", "--out", str(tmp_path / "file" / "folder")]) == 2
    assert "error[P331]: cannot write to " in capsys.readouterr().err


def test_interrupted_it_keeps_what_is_complete(tmp_path: Path) -> None:
    """Ctrl-C leaves the figures that are complete, says so, and exits with 130."""
    words = ("--scale", "small", "--runs", "4", "--no-plots", "--out", tmp_path)
    # One that is there already, and several that are not, so that the interruption comes in the middle.
    assert main(["lab", "reproduce", "capture", "--figure", "10", *map(str, words)]) == 0
    figures = [word for number in (10, 15, 16, 17, 18, 19) for word in ("--figure", str(number))]
    process = subprocess.Popen(
        arguments("lab", "reproduce", "capture", *figures, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stderr is not None
    assert b"figure 10" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 130
    assert "interrupted; complete figures: 10" in err.decode()
    assert "Traceback" not in err.decode()
    assert "Experiment 3" in out.decode()
