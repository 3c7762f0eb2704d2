"""A run that does not read takes no other with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.store import open_store
from tests.cli.agent_processes import put_flow
from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

STORE = ("--store", "runs.db")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a store: one run of agents that reads, and of each kind one that does not."""
    put_flow(tmp_path)
    solvent("submit", "flow.yaml", *STORE, "--name", "well", cwd=tmp_path)
    with open_store(str(tmp_path / "runs.db"), is_durable=False) as store:
        store.append("news/submitted", b"agents")
        for key in ("runs/agents/plan", "runs/alone", "programs/nodes/run"):
            store.put(key, b"\x81\x00")
    return tmp_path


def test_the_list_of_runs_shows_those_that_do_not_read_as_damaged(folder: Path) -> None:
    """All others are listed as ever, and why one does not read is said."""
    result = solvent("status", *STORE, cwd=folder)
    assert (result.code, result.err) == (0, "")
    told = {line.split()[0]: " ".join(line.split()[1:]) for line in result.out.splitlines()}
    assert told["well"].startswith("submitted")
    assert {one: text.split()[0] for one, text in told.items() if one != "well"} == dict.fromkeys(
        ("alone", "agents", "nodes"), "damaged"
    )
    assert "the plan of `agents` does not read" in told["agents"]


def test_json_has_those_that_do_not_read(folder: Path) -> None:
    """They have the state `damaged`, and why."""
    runs = solvent("status", *STORE, "--format", "json", cwd=folder).json["runs"]
    states = {one["run"]: one["state"] for one in runs}
    assert states == {"well": "submitted", "alone": "damaged", "agents": "damaged", "nodes": "damaged"}


def test_the_latest_run_is_found_among_those_that_do_not_read(folder: Path) -> None:
    """`resume` without a name goes on with one that reads."""
    (folder / "open").touch()
    with open_store(str(folder / "runs.db"), is_durable=False) as store:
        store.delete("runs/alone")
    result = solvent("resume", *STORE, "--agents", "1", "--ttl", "1", "--file", "flow.yaml", cwd=folder)
    assert (result.code, result.out) == (0, "sum: 17\n")


def test_a_workflow_without_tasks_is_run_by_agents(tmp_path: Path) -> None:
    """It is done, as in one process."""
    (tmp_path / "z.yaml").write_text("workflow: z\nservices: {}\ntasks: {}\n", encoding="utf-8")
    result = solvent("run", "z.yaml", *STORE, "--agents", "1", "--ttl", "1", "--name", "z", cwd=tmp_path)
    assert (result.code, result.out) == (0, "")
    assert solvent("status", "z", *STORE, cwd=tmp_path).out.startswith("z: done, z, 1 place of agents\n")
