"""`solvent lab simulate`: seeds, runs, formats, wrong usage, failures and Ctrl-C."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import time

import pytest

from solvent.cli.main import main
from solvent_lab.cli import simulate
from tests.cli.command import MAX_SECONDS, arguments, children_worked, environment, solvent

SMALL = ("--nodes", "10", "--molecules", "200")


@pytest.fixture(autouse=True)
def _tennis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be a little protocol beside the real ones."""
    monkeypatch.setitem(simulate.PROTOCOLS, "tennis", "tests.cli.lab.tennis")


def times_of(capsys: pytest.CaptureFixture[str], *words: str) -> list[float]:
    """Simulate matches and give how long they took."""
    assert main(["lab", "simulate", "tennis", "--format", "json", *words]) == 0
    return json.loads(capsys.readouterr().out)["times"]


def test_a_seed_gives_the_same_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """With the same seed the results are the same, in however many processes; with another they differ."""
    one = times_of(capsys, "--seed", "5", "--runs", "4")
    assert len(set(one)) == 4
    assert one == times_of(capsys, "--seed", "5", "--runs", "4", "--processes", "0")
    assert one != times_of(capsys, "--seed", "6", "--runs", "4")


def test_the_seed_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """A seed that was not given is drawn and printed, so that the runs can be played again."""
    assert main(["lab", "simulate", "tennis", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["times"]) == 3
    assert times_of(capsys, "--seed", str(found["seed"])) == found["times"]


def test_text_and_no_progress_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """Text is what the protocol says, and nothing is written to standard error where no terminal is."""
    assert main(["lab", "simulate", "tennis", "--seed", "1", "--throws", "4", "--runs", "2"]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"(4 throws: [\d.]+ ms\n){2}seed: 1\n", out)
    assert err == ""


def test_a_failing_run_says_how_to_see_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    """The error shows a command line, and this very command line shows the same error."""
    words = shlex.split("lab simulate tennis --max-ms 40 --throws=50 --runs 5 --format=json --seed 9")
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "it is not so that matches are short" in said
    line = json.loads(said)["error"]["details"][-1].partition("the same run again: ")[2]
    assert line.startswith("solvent lab simulate tennis --max-ms 40 --throws=50 --runs 1 --seed ")
    assert main([*shlex.split(line)[1:], "--format=json"]) == 1
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("words, said", [
    (["captur"], "did you mean `capture`?"),
    (["zebra"], "there is no protocol `zebra`"),
    ([], "PROTOCOL"),
    (["tennis", "--runs", "0"], "must be an integer of at least 1, not `0`"),
    (["tennis", "--seed", "-1"], "must be an integer of at least 0, not `-1`"),
    (["tennis", "--sets", "3"], "--sets"),
])  # fmt: skip
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """What is wrong is said with exit code 2."""
    assert main(["lab", "simulate", *words]) == 2
    assert said in capsys.readouterr().err


def test_help_names_the_protocols(capsys: pytest.CaptureFixture[str]) -> None:
    """Help lists the protocols, and each protocol its options."""
    assert main(["lab", "simulate", "--help"]) == 0
    assert "capture, handover, token, tennis" in capsys.readouterr().out
    assert main(["lab", "simulate", "tennis", "--help"]) == 0
    assert "--throws" in capsys.readouterr().out


def test_capture_gives_steps_messages_and_the_optimum() -> None:
    """The capture protocol is there, with the numbers that its experiments are about."""
    found = solvent("lab", "simulate", "capture", *SMALL, "--runs", "4", "--seed", "1", "--format", "json").json
    assert (found["runs"], found["finished"], found["optimum"]) == (4, 4, 20)
    assert found["optimum"] <= found["steps"]["mean"] <= found["steps"]["max"]
    assert found["messages"]["mean"] >= 400


def test_ctrl_c_keeps_what_is_done() -> None:
    """An interrupted simulation prints what the runs that are done came to, and says how many these are."""
    process = subprocess.Popen(
        arguments("lab", "simulate", "capture", *SMALL, "--runs", "20000", "--format", "json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )
    # Those that simulate have done something: neither is the command about to begin, nor are they.
    until = time.monotonic() + MAX_SECONDS
    while children_worked(process.pid) < 0.5:
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=200)
    assert (process.returncode, "Traceback" in err) == (130, False)
    said = re.search(r"interrupted(?:: ([\d,]+) of 20,000 runs are done)?", err)
    assert said is not None
    done = int((said[1] or "0").replace(",", ""))
    assert (json.loads(out)["runs"] if out else 0) == done
