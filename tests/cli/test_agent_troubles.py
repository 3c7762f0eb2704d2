"""What agents and who watches say of a store that has no room, or is gone: once, and when it is over."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli.agent_processes import DONE, Command, agents_of, calls, put_flow, until
from tests.cli.command import solvent
from tests.live.agents_damage import fill, small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FULL = "there is no room for the store"


@pytest.fixture(name="disk")
def _disk(tmp_path: Path) -> Iterator[Path]:
    try:
        with small_disk(tmp_path / "disk") as folder:
            yield folder
    except OSError as error:
        pytest.skip(f"no disk can be mounted here: {error}")


def test_a_full_disk_is_said_once_and_the_run_goes_on_when_there_is_room(tmp_path: Path, disk: Path) -> None:
    """An agent says it and that it is over; who watches is told; `status` and `resume` tell it; nothing is lost."""
    put_flow(tmp_path)
    store = ("--store", disk / "runs.db")
    solvent("submit", "flow.yaml", "--name", "r", *store, cwd=tmp_path)
    agent = Command("agent", *store, "--services", "flow.yaml", "--ttl", "1", cwd=tmp_path)
    with agent, Command("resume", "r", *store, cwd=tmp_path) as run:
        until(lambda: calls(tmp_path).count("gate") == 2)
        run.wait_for("spare  started")
        fill(disk / "ballast")
        agent.wait_for(f"{FULL} {disk / 'runs.db'}: the disk is full; it goes on when there is room")
        run.wait_for(f"! {FULL}")
        assert FULL in solvent("status", "r", *store, cwd=tmp_path).out
        resumed = solvent("resume", "r", *store, cwd=tmp_path)
        assert (resumed.code, f"error[E403]: {FULL}" in resumed.err) == (1, True)
        (disk / "ballast").unlink()
        (tmp_path / "open").touch()
        agent.wait_for("the store is well again")
        assert run.process.wait(200) == 0
        assert (run.said().count(FULL), agent.said().count(FULL)) == (1, 1)
        assert "does not answer" not in agent.said()
        assert "sum: 17" in run.said()
    assert set(calls(tmp_path)) == set(DONE)


def test_an_agent_whose_store_is_gone_ends(tmp_path: Path) -> None:
    """Its files were replaced, and waiting does not help: it says so and ends, and may be started again."""
    put_flow(tmp_path)
    with Command("agent", "--store", "runs.db", "--services", "flow.yaml", "--ttl", "0.5", cwd=tmp_path) as agent:
        until(lambda: agents_of(tmp_path) != [])
        shutil.copy(tmp_path / "runs.db", tmp_path / "copy.db")
        (tmp_path / "copy.db").rename(tmp_path / "runs.db")
        assert agent.process.wait(200) == 1
        assert "error[E409]: the store" in agent.said()
