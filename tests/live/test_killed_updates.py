"""Whoever updates or resumes a run may be killed at any moment: before each of its writes to the store in turn."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from solvent.runs.events import CallAnswered
from solvent.runs.projection import JournalReader
from solvent.runs.registry import existing
from solvent.store import open_store
from tests.cli.agent_processes import Command, until
from tests.cli.command import environment, solvent

if TYPE_CHECKING:
    from collections.abc import Iterator

STORE = ("--store", "runs.db")
FLOW = """
services:
  fetch: {shell: "echo fetch >> log; echo 12"}
  wait: {shell: "echo wait >> log; while [ ! -e open ]; do sleep 0.05; done; echo {0}"}
  add: {shell: "echo add >> log; expr {0} + 1"}
  more: {shell: "echo more >> log; expr {0} + 1"}
tasks:
  goods: {service: fetch}
  gate: {service: wait, from: goods}
  last: {service: add, from: gate}
"""
TASKS = ("goods", "fetch"), ("gate", "wait"), ("last", "add"), ("more", "more")
LONGER = f"{FLOW}  more: {{service: more, from: last}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a workflow, and what becomes of it."""
    (tmp_path / "flow.yaml").write_text(FLOW)
    (tmp_path / "longer.yaml").write_text(LONGER)
    return tmp_path


def calls(folder: Path) -> Counter[str]:
    """Return how often each service was called."""
    log = folder / "log"
    return Counter(log.read_text().split()) if log.exists() else Counter()


def killed(folder: Path, *arguments: str) -> Iterator[str]:
    """Run a command, killed before each of its writes in turn, until one is not killed; yield what became of each."""
    command = [sys.executable, "-m", "tests.live.dying_commands", *arguments, *STORE]
    root = str(Path(__file__).parents[2])
    about = environment() | {"PYTHONPATH": root}
    with subprocess.Popen(command, cwd=folder, env=about, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield line.strip()
    assert process.returncode == 0


@pytest.mark.parametrize("by_agents", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_an_update_may_be_killed_before_each_of_its_writes(folder: Path, *, by_agents: bool) -> None:
    """The run goes on as it was until the new version counts, and no call is made again."""
    if by_agents:
        solvent("submit", "flow.yaml", *STORE, "--name", "r", cwd=folder)
        words = "agent", "--services", "longer.yaml", "--ttl", "1"
    else:
        words = "run", "flow.yaml", "--name", "r"
    with Command(*words, *STORE, cwd=folder) as process, open_store(str(folder / "runs.db")) as store:
        until(lambda: calls(folder)["wait"] == 1, process.said())
        versions = [existing(store, "r").version for _ in killed(folder, "update", "r", "longer.yaml")]
        assert versions == sorted(versions)
        assert (versions[0], len(versions) > 10) == (1, True)
        assert calls(folder) == {"fetch": 1, "wait": 1}
        (folder / "open").touch()
        until(lambda: existing(store, "r").has_ended, process.said())
    done = solvent("resume", "r", *STORE, cwd=folder)
    assert (done.code, done.out) == (0, "more: 14\n")
    assert calls(folder) == {"fetch": 1, "wait": 1, "add": 1, "more": 1}


@pytest.mark.soak
@pytest.mark.parametrize("options", [(), ("--file", "longer.yaml"), ("--from", "gate")])
def test_a_resumed_run_may_be_killed_before_each_of_its_writes(folder: Path, options: tuple[str, ...]) -> None:
    """What was answered stays answered, in whichever version; the run ends with the right result."""
    with Command("run", "flow.yaml", *STORE, "--name", "r", cwd=folder) as process:
        until(lambda: calls(folder)["wait"] == 1, process.said())
        process.end(signal.SIGKILL)
    (folder / "open").touch()
    with open_store(str(folder / "runs.db")) as store:
        made, said = dict[str, int](), ""
        for became in killed(folder, "resume", "r", *options):
            said = became
            record = existing(store, "r")
            noted = [event for _, event in JournalReader(store, record.prefix).news()]
            answered = {event.call for event in noted if isinstance(event, CallAnswered)}
            # A step that is wanted once more is made again by each command.
            kept = TASKS[:1] if "--from" in options else TASKS
            for task, service in kept:
                if task in answered:
                    assert made.setdefault(task, calls(folder)[service]) == calls(folder)[service]
        assert said == "done 0"
    done = solvent("resume", "r", *STORE, cwd=folder)
    assert (done.code, done.out) == (0, "more: 14\n" if "--file" in options else "last: 13\n")
