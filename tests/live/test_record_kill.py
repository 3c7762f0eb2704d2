"""Runs that are killed again and again, and resumed, end like others, and call nobody again who has answered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.live.record_storm import RUN, finish, make_workflow, start, weather

if TYPE_CHECKING:
    from pathlib import Path


def _survives(folder: Path, seed: int, tasks: int, *words: str) -> int:
    """Let a random workflow go through a storm, compare its end with that of an unrecorded run; give the kills."""
    make_workflow(folder, seed, tasks)
    _, out, _ = finish(start(folder, "run", "flow.json", "--no-record", "--format", "json"))
    calm = json.loads(out)
    (folder / "calls").unlink()
    storm = weather(folder, seed, max_calls=8, words=words)
    assert storm.repeated == set()
    assert storm.untold == set()
    for name in ("results", "states"):
        assert storm.end[name] == calm[name]
    adapted = sorted(one["alternative"] for one in calm["adaptations"])
    assert sorted(one["alternative"] for one in storm.end["adaptations"]) == adapted
    _, out, err = finish(start(folder, "replay", RUN, "--format", "json", seed=seed))
    assert "came to the same" in err
    assert json.loads(out)["results"] == calm["results"]
    return storm.kills


def test_a_killed_run_is_resumed(tmp_path: Path) -> None:
    """A random graph with failures and alternatives survives `kill -9` at any moment."""
    assert _survives(tmp_path, 2, 14) > 0


def test_a_killed_run_over_worker_processes_is_resumed(tmp_path: Path) -> None:
    """The same where services run in processes of their own."""
    assert _survives(tmp_path, 3, 8, "--processes") > 0


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_killed_runs_are_resumed(tmp_path: Path) -> None:
    """Two hundred kills, and nothing is lost."""
    kills = seed = 0
    while kills < 200:
        seed += 1
        folder = tmp_path / str(seed)
        folder.mkdir()
        kills += _survives(folder, 100 + seed, 30, *(["--processes"] if seed % 4 == 0 else []))
