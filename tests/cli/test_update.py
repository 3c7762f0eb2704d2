"""A run of agents is changed while it goes on, by `solvent update`."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tests.cli.agent_processes import Command, until
from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

STORE = ("--store", "runs.db")
FLOW = """
services:
  fetch: {shell: "echo fetch >> log; echo 12"}
  wait: {shell: "echo wait >> log; while [ ! -e open ]; do sleep 0.05; done; echo {0}"}
  add: {shell: "echo add >> log; expr {0} + 1"}
tasks:
  goods: {service: fetch}
  gate: {service: wait, from: goods}
  last: {service: add, from: gate}
"""
LONGER = f"{FLOW}  more: {{service: add, from: last}}\n"


def calls(folder: Path) -> list[str]:
    """Give the calls that were made, in order."""
    path = folder / "log"
    return path.read_text().split() if path.exists() else []


def test_a_run_is_updated_while_it_goes_on(tmp_path: Path) -> None:
    """What is out goes on, and what is unchanged is not called again."""
    (tmp_path / "flow.yaml").write_text(FLOW)
    (tmp_path / "longer.yaml").write_text(LONGER)
    solvent("submit", "flow.yaml", *STORE, "--name", "r", cwd=tmp_path)
    with Command("agent", *STORE, "--services", "flow.yaml", "--ttl", "2", cwd=tmp_path) as agent:
        until(lambda: "wait" in calls(tmp_path), agent.said())
        unknown = solvent("update", "r", "--from", "gaet", *STORE, cwd=tmp_path)
        assert (unknown.code, "gate" in unknown.err) == (2, True)
        update = solvent("update", "r", "longer.yaml", *STORE, cwd=tmp_path)
        assert (update.code, update.out) == (0, "r continues as version 2: 2 kept, 0 run again, 1 new, 0 gone\n")
        (tmp_path / "open").touch()
        done = solvent("resume", "r", *STORE, cwd=tmp_path)
    assert (done.code, done.out) == (0, "more: 14\n")
    assert calls(tmp_path) == ["fetch", "wait", "add", "add"]


def test_a_finished_step_is_rejected_while_the_run_goes_on(tmp_path: Path) -> None:
    """It is made again with all after it, and the run ends with what comes of that."""
    beside = FLOW.replace("{service: fetch}", "{service: fetch}\n  beside: {service: wait, in: [1]}")
    (tmp_path / "flow.yaml").write_text(beside.replace("gate: {service: wait", "gate: {service: add"))
    solvent("submit", "flow.yaml", *STORE, "--name", "r", cwd=tmp_path)
    with Command("agent", *STORE, "--services", "flow.yaml", "--ttl", "2", cwd=tmp_path) as agent:
        until(lambda: calls(tmp_path).count("add") == 2 and "wait" in calls(tmp_path), agent.said())
        update = solvent("update", "r", "--from", "gate", *STORE, cwd=tmp_path)
        assert (update.code, update.out) == (0, "r continues as version 2: 2 kept, 2 run again, 0 new, 0 gone\n")
        (tmp_path / "open").touch()
        assert solvent("resume", "r", *STORE, cwd=tmp_path).code == 0
    assert sorted(calls(tmp_path)) == ["add"] * 4 + ["fetch", "wait"]


def test_agents_that_do_not_have_what_is_new_let_their_calls_end(tmp_path: Path) -> None:
    """Others take the run, and what was called before is not called again."""
    (tmp_path / "flow.yaml").write_text(FLOW)
    (tmp_path / "fixed.yaml").write_text(FLOW.replace("expr {0} + 1", "expr {0} + 2"))
    solvent("submit", "flow.yaml", *STORE, "--name", "r", cwd=tmp_path)
    with Command("agent", *STORE, "--services", "flow.yaml", "--ttl", "2", cwd=tmp_path) as agent:
        until(lambda: "wait" in calls(tmp_path), agent.said())
        update = solvent("update", "r", "fixed.yaml", *STORE, cwd=tmp_path)
        assert (update.code, update.out) == (0, "r continues as version 2: 2 kept, 0 run again, 0 new, 0 gone\n")
        with Command("agent", *STORE, "--services", "fixed.yaml", "--ttl", "2", cwd=tmp_path):
            (tmp_path / "open").touch()
            done = solvent("resume", "r", *STORE, cwd=tmp_path)
    assert (done.code, done.out) == (0, "last: 14\n")
    assert calls(tmp_path) == ["fetch", "wait", "add"]


def test_an_update_that_is_killed_is_complete_or_changes_nothing(tmp_path: Path) -> None:
    """Agents go on when they presume it dead, and what was answered is not called again."""
    (tmp_path / "flow.yaml").write_text(FLOW)
    (tmp_path / "longer.yaml").write_text(LONGER)
    solvent("submit", "flow.yaml", *STORE, "--name", "r", cwd=tmp_path)
    with Command("agent", *STORE, "--services", "flow.yaml", "--ttl", "2", cwd=tmp_path) as agent:
        until(lambda: "wait" in calls(tmp_path), agent.said())
        # An agent that is stopped lets the updater wait for it.
        agent.process.send_signal(signal.SIGSTOP)
        with Command("update", "r", "longer.yaml", *STORE, cwd=tmp_path) as update:
            until(lambda: bool(solvent("status", "r", *STORE, "--format", "json", cwd=tmp_path).json["updater"]))
            update.end(signal.SIGKILL)
        agent.process.send_signal(signal.SIGCONT)
        (tmp_path / "open").touch()
        done = solvent("resume", "r", *STORE, cwd=tmp_path)
    version = solvent("status", "r", *STORE, "--format", "json", cwd=tmp_path).json.get("version", 1)
    assert (done.code, done.out) == (0, "last: 13\n" if version == 1 else "more: 14\n")
    assert calls(tmp_path).count("fetch") == 1
    assert version == 2 or calls(tmp_path) == ["fetch", "wait", "add"]
