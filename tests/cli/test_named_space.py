"""The variable SOLVENT_SPACE stands for `--space`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.agent_processes import agents_of, put_flow
from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

AGENTS = ("--agents", "1", "--ttl", "1")


def test_agents_that_are_started_look_where_the_variable_says(tmp_path: Path) -> None:
    """They are told of the same space that the run was given to, and no other is made."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    more = {"SOLVENT_SPACE": str(tmp_path / "runs.db")}
    result = solvent("run", "flow.yaml", *AGENTS, "--no-sync", "--name", "r1", cwd=tmp_path, more=more)
    assert (result.code, result.out) == (0, "sum: 17\n")
    assert agents_of(tmp_path) == []
    assert not (tmp_path / ".solvent" / "space.db").exists()


def test_agents_that_go_on_look_where_the_variable_says(tmp_path: Path) -> None:
    """`resume --agents` starts them at the space in which it has found the run."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    more = {"SOLVENT_SPACE": str(tmp_path / "runs.db")}
    solvent("submit", "flow.yaml", "--name", "r1", cwd=tmp_path, more=more)
    result = solvent("resume", "r1", *AGENTS, "--file", "flow.yaml", cwd=tmp_path, more=more)
    assert (result.code, result.out) == (0, "sum: 17\n")
    assert not (tmp_path / ".solvent" / "space.db").exists()
