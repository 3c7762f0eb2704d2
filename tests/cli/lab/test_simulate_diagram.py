"""`solvent lab simulate --diagram`: the first messages of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

RUNS = {
    "token": ("--nodes", "4", "--gap", "20", "--requests", "3"),
    "capture": ("--nodes", "3", "--molecules", "6"),
    "handover": ("--peers", "3", "--cycles", "2", "--platform", "site"),
}


@pytest.mark.parametrize("protocol", RUNS)
def test_messages_of_a_run(protocol: str, tmp_path: Path) -> None:
    """Each arrow is a message, in a file or on standard output, and the run is told as usual."""
    words = ("lab", "simulate", protocol, *RUNS[protocol], "--seed", "1", "--messages", "9")
    result = solvent(*words, "--diagram", tmp_path / "run.txt")
    assert (result.code, "seed: 1" in result.out) == (0, True)
    drawn = (tmp_path / "run.txt").read_text()
    assert drawn.lstrip().startswith("n0")
    assert "\n 9 " in drawn
    assert "more messages" in drawn
    assert solvent(*words, "--diagram", "-").out.startswith(drawn)


def test_too_many_nodes() -> None:
    """More nodes than there is room for are refused."""
    result = solvent(
        "lab", "simulate", "capture", "--nodes", "50", "--molecules", "200", "--seed", "1", "--diagram", "-"
    )
    assert (result.code, "error[P317]" in result.err) == (2, True)


def test_text_only(tmp_path: Path) -> None:
    """A picture in another form is refused before anything runs."""
    result = solvent("lab", "simulate", "token", "--diagram", tmp_path / "run.svg")
    assert (result.code, "it can be: .txt" in result.err) == (2, True)


def test_one_run_only() -> None:
    """A diagram of several runs is refused."""
    result = solvent("lab", "simulate", "token", "--runs", "2", "--diagram", "-")
    assert (result.code, "a single run" in result.err) == (2, True)


def test_a_run_of_which_nothing_is_said_is_small() -> None:
    """Without options so few take part that they can be drawn, and the run that is told is that one."""
    result = solvent("lab", "simulate", "handover", "--seed", "1", "--diagram", "-")
    assert (result.code, "4 peers" in result.out) == (0, True)
