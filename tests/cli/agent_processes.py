"""Agents as processes, for the tests of the command line: workflows that wait for a file, and a store in a folder."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from tests.cli.command import arguments, environment, solvent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAX_SECONDS = 200
SERVICES = '''\
"""What the workflows of these tests call. Every call leaves a line in `calls`."""

import time
from pathlib import Path

HERE = Path(__file__).parent


def noted(name):
    with (HERE / "calls").open("a") as file:
        file.write(name + "\\n")


def start(n):
    noted("start")
    return [n, n + 1]


def gate(*_):
    """Wait until there is a file `open`."""
    noted("gate")
    while not (HERE / "open").exists():
        time.sleep(0.01)
    return 7


def broken(*_):
    noted("broken")
    raise ValueError("no such column")


def total(*parts):
    noted("total")
    return sum(sum(one) if isinstance(one, list) else one for one in parts)
'''
FLOW = """\
workflow: numbers
inputs: {n: 1}
services:
  start: {python: "own:start"}
  gate: {python: "own:gate"}
  broken: {python: "own:broken"}
  total: {python: "own:total"}
tasks:
  first: {service: start, in: [$n]}
  held: {service: gate, from: [first]}
  odd: {service: broken, from: [first]}
  spare: {service: gate, from: [first]}
  sum: {service: total, from: [first, held, odd]}
alternatives:
  - {name: instead, exits: {odd: spare}}
"""
DONE = ["broken", "gate", "gate", "start", "total"]
"""What is called when all goes well."""


def put_flow(folder: Path, text: str = FLOW) -> Path:
    """Write the workflow and its services."""
    folder.mkdir(exist_ok=True)
    (folder / "own.py").write_text(SERVICES, encoding="utf-8")
    (folder / "flow.yaml").write_text(text, encoding="utf-8")
    return folder / "flow.yaml"


def calls(folder: Path) -> list[str]:
    """Give what was called, sorted."""
    file = folder / "calls"
    return sorted(file.read_text(encoding="utf-8").split()) if file.exists() else []


def until(is_so: Callable[[], bool], what: str = "it does not happen") -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + MAX_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


class Command:
    """A command that runs beside the test; a context, at whose end it is over, with what it started."""

    def __init__(self, *words: str | Path, cwd: Path, more: dict[str, str] | None = None) -> None:
        self.log = cwd / f"out-{time.monotonic_ns()}"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                arguments(*words),
                cwd=cwd,
                env={**environment(), **(more or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self.pid = self.process.pid

    def said(self) -> str:
        """Give what it has printed."""
        return self.log.read_text(encoding="utf-8")

    def wait_for(self, words: str) -> None:
        """Wait until it has printed something."""
        until(lambda: words in self.said() or self.process.poll() is not None)
        assert words in self.said(), self.said()

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send it a signal and give its exit code."""
        self.process.send_signal(number)
        return self.process.wait(MAX_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()


def agents_of(folder: Path, store: str = "runs.db") -> list[dict[str, Any]]:
    """Give the agents that are alive."""
    result = solvent("agents", "list", "--store", store, "--format", "json", cwd=folder)
    if "there is no file" in result.err:
        # The first of them makes the store.
        return []
    return [one for one in result.json["agents"] if one["alive"]]


def kill_agents(folder: Path, store: str = "runs.db") -> None:
    """Kill the agents that are there, as a crash would."""
    for one in solvent("agents", "list", "--store", store, "--format", "json", cwd=folder).json["agents"]:
        with suppress(ProcessLookupError):
            os.kill(one["process"], signal.SIGKILL)
