"""Calls that were made again, since whoever had made them was killed, are counted where calls are counted."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tests.cli.agent_processes import Command, calls, put_flow, until
from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

STORE = ("--store", "runs.db")
AGAIN = {"held": 1, "spare": 1}


def test_a_resumed_run_tells_what_was_called_again(tmp_path: Path) -> None:
    """Two calls were out when the process was killed: the summary and the JSON have them."""
    put_flow(tmp_path)
    with Command("run", "flow.yaml", *STORE, "--name", "r", cwd=tmp_path) as run:
        until(lambda: calls(tmp_path).count("gate") == 2)
        run.end(signal.SIGKILL)
    (tmp_path / "open").touch()
    result = solvent("resume", "r", *STORE, "--format", "json", cwd=tmp_path)
    assert (result.code, result.json["called_again"]) == (0, AGAIN)
    assert set(result.json["calls"].values()) == {1}


def test_a_run_of_agents_tells_what_was_called_again(tmp_path: Path) -> None:
    """Two calls were out when their agent was killed: the summary and the JSON have them, whenever one asks."""
    put_flow(tmp_path)
    words = ("agent", *STORE, "--services", "flow.yaml", "--ttl", "3")
    solvent("submit", "flow.yaml", *STORE, "--name", "r", cwd=tmp_path)
    with Command(*words, cwd=tmp_path) as first:
        until(lambda: calls(tmp_path).count("gate") == 2)
        first.end(signal.SIGKILL)
    (tmp_path / "open").touch()
    with Command(*words, "--until", "r", cwd=tmp_path):
        watched = solvent("resume", "r", *STORE, cwd=tmp_path)
        assert "5 calls and 2 made again" in watched.err
    assert solvent("resume", "r", *STORE, "--format", "json", cwd=tmp_path).json["called_again"] == AGAIN
