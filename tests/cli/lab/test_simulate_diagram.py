"""`solvent lab simulate --diagram`: the first messages of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

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
    """Each arrow is a message; the picture is well-formed, and the run is told as usual."""
    words = ("lab", "simulate", protocol, *RUNS[protocol], "--seed", "1", "--messages", "9")
    result = solvent(*words, "--diagram", tmp_path / "run.svg")
    assert (result.code, "seed: 1" in result.out) == (0, True)
    picture = (tmp_path / "run.svg").read_text()
    ET.fromstring(picture)  # noqa: S314 - our own text
    assert picture.count('marker-end="url(#arrow)"') == 9
    drawn = solvent(*words, "--diagram", "-").out
    assert "more messages" in drawn
    assert drawn.lstrip().startswith("n0")


def test_too_many_nodes() -> None:
    """More nodes than there is room for are refused."""
    result = solvent(
        "lab", "simulate", "capture", "--nodes", "50", "--molecules", "200", "--seed", "1", "--diagram", "-"
    )
    assert (result.code, "error[P317]" in result.err) == (2, True)


def test_one_run_only() -> None:
    """A diagram of several runs is refused."""
    result = solvent("lab", "simulate", "token", "--runs", "2", "--diagram", "-")
    assert (result.code, "a single run" in result.err) == (2, True)


def test_a_run_of_which_nothing_is_said_is_small() -> None:
    """Without options so few take part that they can be drawn, and the run that is told is that one."""
    result = solvent("lab", "simulate", "handover", "--seed", "1", "--diagram", "-")
    assert (result.code, "4 peers" in result.out) == (0, True)
