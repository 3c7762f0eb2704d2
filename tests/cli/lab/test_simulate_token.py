"""`solvent lab simulate token`: its figures, its words, and wrong usage."""

from __future__ import annotations

import json
import shlex

import pytest

from solvent.cli.main import main

QUICK = ("--nodes", "16", "--gap", "8", "--requests", "200", "--seed", "1", "--processes", "0")


@pytest.mark.parametrize("protocol", ["ring", "binary", "raymond", "naimi"])
def test_json_gives_responsiveness_messages_and_requests_first(
    capsys: pytest.CaptureFixture[str], protocol: str
) -> None:
    """The three figures of the experiments come first; more follow."""
    assert main(["lab", "simulate", "token", *QUICK, "--protocol", protocol, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found)[:3] == ["responsiveness", "messages_per_request", "requests"]
    assert list(found["responsiveness"]) == ["mean", "max"]
    assert 0 < found["responsiveness"]["mean"] <= found["responsiveness"]["max"]
    assert found["requests"] == 200
    assert found["messages_per_request"] == pytest.approx(sum(found["messages"].values()))
    assert set(found["fairness"]) == {"max_one_other", "others_mean", "max_others"}
    assert (found["runs"], found["seed"]) == (1, 1)


def test_runs_are_taken_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Several runs are as one with all their requests."""
    assert main(["lab", "simulate", "token", *QUICK, "--runs", "3", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["runs"], found["requests"]) == (3, 600)


@pytest.mark.parametrize("options", [
    ["--finding", "push"],
    ["--finding", "both", "--gap", "0"],
    ["--clean-up", "inverse"],
    ["--directed"],
    ["--one-search"],
    ["--one-by-one", "--gap", "2"],
    ["--rest", "9"],
    ["--loss", "0.3"],
    ["--again", "3"],
])  # fmt: skip
def test_variants_can_be_chosen(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    """Each variant gives other figures than the usual protocol."""
    gap = options[options.index("--gap") :] if "--gap" in options else []
    assert main(["lab", "simulate", "token", *QUICK, *gap, "--format", "json"]) == 0
    usual = capsys.readouterr().out
    assert main(["lab", "simulate", "token", *QUICK, *options, "--format", "json"]) == 0
    assert capsys.readouterr().out != usual


def test_full_load_is_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a gap every node always wants the token, and in a ring each step serves one."""
    words = shlex.split("lab simulate token --nodes 8 --gap 0 --protocol ring --requests 80 --seed 1")
    assert main([*words, "--processes", "0"]) == 0
    out = capsys.readouterr().out
    assert "8 nodes, ring, everybody always wants it, 80 requests" in out
    assert "steps per grant 1.000; log2 of the nodes 3.00" in out


@pytest.mark.parametrize("words, said", [
    (["--nodes", "1"], "must be an integer of at least 2, not `1`"),
    (["--gap", "-1"], "must be a number of at least 0, not `-1`"),
    (["--gap", "inf"], "must be a number of at least 0, not `inf`"),
    (["--protocol", "ring", "--directed"], "error[P314]: `--directed` is about searches, and `ring` has none"),
    (["--protocol", "naimi", "--clean-up", "rotation"], "`--clean-up` is about searches"),
    (["--protocol", "raymond", "--rest", "3"], "`--rest` is about searches, and `raymond` has none"),
    (["--protocol", "ring", "--one-by-one"], "`--one-by-one` is about searches"),
    (["--loss", "1.5"], "must be a number from 0 to 1, not `1.5`"),
])  # fmt: skip
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """What is wrong is said with exit code 2."""
    assert main(["lab", "simulate", "token", *words]) == 2
    assert said in capsys.readouterr().err
