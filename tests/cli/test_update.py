"""A run of agents is changed while it goes on, by `solvent update`."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

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
        with Command("resume", "r", *STORE, cwd=tmp_path) as watcher:
            update = solvent("update", "r", "longer.yaml", *STORE, cwd=tmp_path)
            assert (update.code, update.out) == (0, "r continues as version 2: 2 kept, 0 run again, 1 new, 0 gone\n")
            (tmp_path / "open").touch()
            assert watcher.process.wait(200) == 0
            assert "more: 14\n" in watcher.said()
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


def test_a_run_of_one_process_is_updated_while_it_goes_on(tmp_path: Path) -> None:
    """Its process goes on with the new workflow, also after another update; what is out is not made again."""
    (tmp_path / "flow.yaml").write_text(FLOW)
    (tmp_path / "longer.yaml").write_text(LONGER)
    (tmp_path / "other.yaml").write_text(LONGER.replace("expr {0} + 1", "expr {0} + 2"))
    with Command("run", "flow.yaml", *STORE, "--name", "r", cwd=tmp_path) as run:
        until(lambda: "wait" in calls(tmp_path), run.said())
        update = solvent("update", "r", "longer.yaml", *STORE, cwd=tmp_path)
        assert (update.code, update.out) == (0, "r continues as version 2: 2 kept, 0 run again, 1 new, 0 gone\n")
        update = solvent("update", "r", "other.yaml", *STORE, cwd=tmp_path)
        assert (update.code, update.out) == (0, "r continues as version 3: 2 kept, 0 run again, 0 new, 0 gone\n")
        (tmp_path / "open").touch()
        assert run.process.wait(200) == 0
        assert "more: 16\n" in run.said()
        assert "r continues as version 3" in run.said()
    assert calls(tmp_path) == ["fetch", "wait", "add", "add"]
    assert solvent("replay", "r", *STORE, cwd=tmp_path).code == 0


@pytest.mark.parametrize("options", [(), ("--processes", "--jobs", "2")], ids=["threads", "processes"])
def test_code_of_a_module_that_has_changed_is_called_by_the_process_of_the_run(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """A call that is out ends with the code that it began with; code that cannot be imported is refused."""
    own = (
        "import time\nfrom pathlib import Path\nHERE = Path(__file__).parent\n"
        "def first(n):\n    with (HERE / 'log').open('a') as file:\n        file.write('first ')\n"
        "    while not (HERE / 'open').exists():\n        time.sleep(0.01)\n    return n + 1\n"
        "def last(n):\n    return n + 1\n"
    )
    (tmp_path / "own.py").write_text(own)
    services = "services:\n  first: {python: 'own:first'}\n  last: {python: 'own:last'}\n"
    (tmp_path / "flow.yaml").write_text(
        f"{services}tasks:\n  one: {{service: first, in: [1]}}\n  two: {{service: last, from: one}}\n"
    )
    with Command("run", "flow.yaml", *STORE, "--name", "r", *options, cwd=tmp_path) as run:
        until(lambda: "first" in calls(tmp_path), run.said())
        (tmp_path / "own.py").write_text(own + "def")
        update = solvent("update", "r", *STORE, cwd=tmp_path)
        assert (update.code, "W171" in update.err) == (2, True)
        changed = own.replace("def last(n):\n    return n + 1", "def last(n):\n    return n + 100")
        (tmp_path / "own.py").write_text(changed)
        update = solvent("update", "r", *STORE, cwd=tmp_path)
        assert (update.code, update.out) == (0, "r continues as version 2: 1 kept, 0 run again, 0 new, 0 gone\n")
        (tmp_path / "open").touch()
        assert run.process.wait(200) == 0
        assert "two: 102\n" in run.said()
    assert calls(tmp_path) == ["first"]


def test_a_stopped_run_keeps_to_the_version_that_it_was_updated_to(tmp_path: Path) -> None:
    """Resumed, it does not make again what was kept; agents' runs take `resume --file` as well."""
    (tmp_path / "flow.yaml").write_text(FLOW)
    (tmp_path / "longer.yaml").write_text(LONGER)
    with Command("run", "flow.yaml", *STORE, "--name", "r", cwd=tmp_path) as run:
        until(lambda: "wait" in calls(tmp_path), run.said())
        run.end(signal.SIGKILL)
    update = solvent("update", "r", "longer.yaml", *STORE, cwd=tmp_path)
    assert (update.code, update.out) == (0, "r continues as version 2: 1 kept, 1 run again, 1 new, 0 gone\n")
    (tmp_path / "open").touch()
    done = solvent("resume", "r", *STORE, cwd=tmp_path)
    assert (done.code, done.out) == (0, "more: 14\n")
    assert calls(tmp_path) == ["fetch", "wait", "wait", "add", "add"]
    solvent("submit", "flow.yaml", *STORE, "--name", "s", cwd=tmp_path)
    done = solvent("resume", "s", "--file", "longer.yaml", "--agents", "1", *STORE, cwd=tmp_path)
    assert (done.code, done.out) == (0, "more: 14\n")
    assert "s continues as version 2: 0 kept, 0 run again, 1 new, 0 gone\n" in done.err
