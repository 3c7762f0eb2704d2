"""`solvent lab reproduce`: files, formats, wrong usage, missing matplotlib and Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from solvent.cli.main import main
from solvent_lab.experiments import plot
from tests.cli.command import arguments, environment

if TYPE_CHECKING:
    from pathlib import Path

QUICK = ("--scale", "small", "--runs", "1", "--processes", "0")


def test_one_figure_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One figure gives its data and the rows of the table that its runs suffice for."""
    words = [
        "lab",
        "reproduce",
        "capture",
        "--figure",
        "10",
        *QUICK,
        "--no-plots",
        "--out",
        str(tmp_path),
        "--format",
        "json",
    ]
    assert main(words) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["figures"] == {"10": [str(tmp_path / "figure-10.csv")]}
    assert found["complete"]
    assert {claim["figure"] for claim in found["claims"]} == {5}
    assert err.startswith("figure 10  Messages of the protocol, with dormant nodes")
    assert json.loads((tmp_path / "table.json").read_text())["claims"] == found["claims"]


def test_text_says_what_the_paper_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table is printed by experiment; a second call runs nothing."""
    words = ["lab", "reproduce", "capture", "--figure", "8", *QUICK, "--no-plots", "--out", str(tmp_path)]
    assert main(words) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("Experiment 1\n  paper says  pessimists alone finish")
    assert "\nExperiment 4\n  paper says  pessimists: a peak of 8,000 messages per cycle\n" in out
    assert main(words) == 0
    assert "was there already" in capsys.readouterr().err


def test_without_matplotlib_there_is_everything_but_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data and table are written, and what is missing is said before and after, with exit code 2."""
    monkeypatch.setattr(plot, "can_plot", lambda: False)
    assert main(["lab", "reproduce", "capture", "--figure", "10", *QUICK, "--out", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert "Experiment 3" in out
    assert err.count("pip install 'solvent[figures]'") == 2
    assert "error[P330]: the plots need matplotlib; data and table are in " in err
    assert {file.name for file in tmp_path.iterdir()} == {"data", "figure-10.csv", "table.json", "table.md"}


@pytest.mark.parametrize("words, said", [
    ([], "PAPER"),
    (["captur"], "captur"),
    (["capture", "--figure", "12"], "12"),
    (["capture", "--runs", "0"], "`0` is not an integer from 1"),
    (["capture", "--scale", "huge"], "huge"),
])  # fmt: skip
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """What is wrong is said with exit code 2."""
    assert main(["lab", "reproduce", *words]) == 2
    assert said in capsys.readouterr().err


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
