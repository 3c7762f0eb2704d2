"""`solvent run --agents N`: whichever process is killed, the run continues to the same results; its replay."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

from solvent.cli.agent_runs import refuse_without_agents
from solvent.runs.agents.shards import submit
from solvent.runs.registry import end
from tests.cli.agent_processes import DONE, FLOW, Command, agents_of, calls, kill_agents, put_flow, until
from tests.cli.command import solvent
from tests.unit.runs.agents.flows import adaptive, store_at

if TYPE_CHECKING:
    from pathlib import Path

STORE = ("--store", "runs.db")
# Agents that live must not be taken for dead, however busy the machine is.
AGENTS = ("--agents", "2", "--ttl", "3", "--no-sync")


def is_held(folder: Path) -> bool:
    """Whether both tasks wait at the gate, and all that can be done has been."""
    return calls(folder) == ["broken", "gate", "gate", "start"]


def test_it_prints_what_a_run_in_one_process_prints(tmp_path: Path) -> None:
    """Results, states, calls and exit code are the same; the agents end with the run."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    alone = solvent("run", "flow.yaml", "--no-record", "--format", "json", cwd=tmp_path)
    result = solvent("run", "flow.yaml", *AGENTS, *STORE, "--name", "r1", "--format", "json", cwd=tmp_path)
    assert (result.code, result.json["run"]) == (alone.code, "r1")
    for what in ("results", "states", "calls"):
        assert result.json[what] == alone.json[what]
    assert calls(tmp_path) == sorted(DONE * 2)
    assert agents_of(tmp_path) == []


def test_a_failure_is_told_as_in_one_process(tmp_path: Path) -> None:
    """A task that nobody replaces fails the run, with its cause."""
    put_flow(tmp_path, FLOW.partition("alternatives")[0])
    (tmp_path / "open").touch()
    result = solvent("run", "flow.yaml", *AGENTS, *STORE, cwd=tmp_path)
    assert (result.code, result.out) == (1, "spare: 7\n")
    assert "task `odd` failed: ValueError: no such column" in result.err
    assert "  `sum` waits for `odd`, which failed\n" in result.err


def test_the_launcher_may_be_killed(tmp_path: Path) -> None:
    """Agents go on when who started them is gone; somebody else watches, and nothing is called again."""
    put_flow(tmp_path)
    with Command("run", "flow.yaml", *AGENTS, *STORE, "--name", "r1", cwd=tmp_path) as launcher:
        until(lambda: is_held(tmp_path), launcher.said())
        assert launcher.end(signal.SIGKILL) == -signal.SIGKILL
    (tmp_path / "open").touch()
    result = solvent("resume", "r1", *STORE, cwd=tmp_path)
    assert (result.code, result.out) == (0, "sum: 17\n")
    assert calls(tmp_path) == DONE
    until(lambda: agents_of(tmp_path) == [], "agents do not end with their run")


def test_a_run_that_ends_while_agents_are_looked_for_is_not_given_up(tmp_path: Path) -> None:
    """Agents that end with their run leave nobody behind, and who was about to watch it is told how it ended."""
    with store_at(tmp_path) as store:
        submit(store, "r1", adaptive(), {})
        end(store, "r1", "done")
        refuse_without_agents(store, "r1")


def test_all_agents_may_be_killed(tmp_path: Path) -> None:
    """What was finished is not called again; what was out is."""
    put_flow(tmp_path)
    with Command("run", "flow.yaml", *AGENTS, *STORE, "--name", "r1", cwd=tmp_path) as launcher:
        until(lambda: is_held(tmp_path), launcher.said())
        kill_agents(tmp_path)
        assert launcher.process.wait(200) == 1
        assert "error[A105]: all agents that were started have ended" in launcher.said()
    (tmp_path / "open").touch()
    result = solvent("resume", "r1", *STORE, *AGENTS[:4], "--file", "flow.yaml", cwd=tmp_path)
    assert (result.code, result.out) == (0, "sum: 17\n")
    assert calls(tmp_path) == sorted([*DONE, "gate", "gate"])
    assert "2 of them repeated" in solvent("status", "r1", *STORE, cwd=tmp_path).out


def test_ctrl_c_stops_the_agents_and_tells_how_to_go_on(tmp_path: Path) -> None:
    """The agents that were started here end; the run is where it was."""
    put_flow(tmp_path)
    with Command("run", "flow.yaml", *AGENTS, *STORE, "--name", "r1", cwd=tmp_path) as launcher:
        until(lambda: is_held(tmp_path), launcher.said())
        assert launcher.end(signal.SIGINT) == 130
        said = launcher.said()
    assert "to continue: solvent resume r1 --store runs.db --agents 2 --file flow.yaml\n" in said
    assert agents_of(tmp_path) == []
    status = solvent("status", "r1", *STORE, cwd=tmp_path).out
    assert "r1: queued" in status
    assert "0 out, 3 waiting" in status
    (tmp_path / "open").touch()
    words = said.rpartition("solvent ")[2].split()
    result = solvent(*words, cwd=tmp_path)
    assert (result.code, result.out) == (0, "sum: 17\n")
    # The last one to hear of it may have taken what the first one has left.
    assert [one for one in calls(tmp_path) if one != "gate"] == ["broken", "start", "total"]


def test_watching_may_be_stopped(tmp_path: Path) -> None:
    """Who only watches and is interrupted leaves the run and its agents alone."""
    put_flow(tmp_path)
    solvent("submit", "flow.yaml", *STORE, "--name", "r1", cwd=tmp_path)
    with Command("agent", *STORE, "--services", "flow.yaml", cwd=tmp_path) as agent:
        agent.wait_for("offers")
        with Command("resume", "r1", *STORE, cwd=tmp_path) as watcher:
            watcher.wait_for("held   started")
            assert watcher.end(signal.SIGINT) == 130
            assert "the run continues; to watch it: solvent resume r1 --store runs.db\n" in watcher.said()
        (tmp_path / "open").touch()
        assert solvent("resume", "r1", *STORE, cwd=tmp_path).out == "sum: 17\n"
    assert calls(tmp_path) == DONE


def test_a_run_that_was_lost_with_its_agents_goes_on(tmp_path: Path) -> None:
    """Calls may not be lost, and are: the run has failed. When they are retried only they are made again."""
    put_flow(tmp_path, FLOW.replace('"own:gate"', '"own:gate", max_lost: 0'))
    again = ("resume", "r1", *STORE, *AGENTS[:4], "--file", "flow.yaml")
    with Command("run", "flow.yaml", *AGENTS, *STORE, "--name", "r1", cwd=tmp_path) as launcher:
        until(lambda: is_held(tmp_path), launcher.said())
        kill_agents(tmp_path)
        assert launcher.process.wait(200) == 1
    failed = solvent(*again, cwd=tmp_path)
    assert (failed.code, failed.out) == (1, "")
    assert "task `held` was lost: it was out when its agent died" in failed.err
    (tmp_path / "open").touch()
    result = solvent(*again, "--retry-failed", cwd=tmp_path)
    assert (result.code, result.out) == (0, "sum: 17\n")
    assert "r1 continues as version 2: 2 kept, 2 run again, 0 new, 0 gone" in result.err
    assert calls(tmp_path) == sorted([*DONE, "gate", "gate"])


def test_a_name_that_is_taken_is_told_with_where_to_look(tmp_path: Path) -> None:
    """The command of the hint finds the run."""
    put_flow(tmp_path)
    solvent("submit", "flow.yaml", *STORE, "--name", "r1", cwd=tmp_path)
    result = solvent("run", "flow.yaml", *AGENTS, *STORE, "--name", "r1", cwd=tmp_path)
    assert result.code == 2
    assert "hint: look at it: `solvent status r1 --store runs.db`" in result.err


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
        assert "5 calls and 2 repeated" in watched.err
    assert solvent("resume", "r", *STORE, "--format", "json", cwd=tmp_path).json["called_again"] == AGAIN


VALUES = """\
import numpy as np
from solvent import service, workflow

@service
def array() -> object:
    return np.arange(5.0)

@service
def no_number() -> object:
    return [float("nan"), {"deep": float("nan")}]

@workflow
def odd() -> object:
    return array(), no_number()
"""
CHOICE = """\
from solvent import attempt, service, workflow

def big(x: int) -> bool:
    return x > 3

@service
def a(x: int) -> int:
    return x

@service
def b(x: int) -> int:
    return -x

@workflow
def w(x: int = 5) -> int:
    return attempt(a(x), otherwise=b(x), when=big)
"""


def run_by_agents(folder: Path, name: str, text: str) -> None:
    """Write a workflow, and have it run."""
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    words = ("--agents", "1", "--ttl", "1", "--no-sync", "--name", name, *STORE)
    assert solvent("run", f"{name}.py", *words, cwd=folder).code == 0


def test_arrays_and_what_is_no_number_are_compared(tmp_path: Path) -> None:
    """Results that have no truth value, or are not equal to themselves, are the same if they are written the same."""
    run_by_agents(tmp_path, "odd", VALUES)
    result = solvent("replay", "odd", *STORE, cwd=tmp_path)
    assert (result.code, "the replay came to the same as the run odd\n" in result.err) == (0, True)


def test_a_condition_of_ones_own_needs_the_file(tmp_path: Path) -> None:
    """That and the option are said; with it, the replay comes to the same."""
    run_by_agents(tmp_path, "w", CHOICE)
    result = solvent("replay", "w", *STORE, cwd=tmp_path)
    assert (result.code, result.out) == (1, "")
    said = "error[R406]: the run `w` goes by the condition `w:big`, and only its own files say what that is\n"
    assert result.err == f"{said}  hint: `solvent replay w --file WORKFLOW --store runs.db`\n"
    again = solvent("replay", "w", *STORE, "--file", "w.py", cwd=tmp_path)
    assert (again.code, again.out) == (0, "a: -5\n")


def test_a_trace_at_another_scale_is_replayed(tmp_path: Path) -> None:
    """A replay compares the states of tasks by their names: the order in which a process has them means nothing."""
    names = [f"t{number}" for number in range(12)]
    trace = {
        "name": "wide",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {"tasks": [{"name": one, "id": one, "parents": [], "children": []} for one in names]},
            "execution": {
                "makespanInSeconds": 1000,
                "executedAt": "2024-01-01T00:00:00+00:00",
                "tasks": [{"id": one, "runtimeInSeconds": 1000} for one in names],
            },
        },
    }
    (tmp_path / "wide.json").write_text(json.dumps(trace))
    words = ("--agents", "1", "--ttl", "1", "--no-sync", "--name", "wide", *STORE)
    assert solvent("run", "wide.json", "--scale", "0.00001", *words, cwd=tmp_path).code == 0
    for more in ((), ("--file", "wide.json")):
        result = solvent("replay", "wide", *more, *STORE, cwd=tmp_path)
        assert (result.code, "came to the same" in result.err) == (0, True), result.err
