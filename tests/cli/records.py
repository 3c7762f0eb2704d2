"""Workflows for the tests of records: they hang until a file is there, and note every call."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from tests.live.record_storm import MAX_SECONDS, finish, start

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

FLOW = """\
services: {one: {python: "own:one"}, hang: {python: "own:hang"}, add: {python: "own:add"}, odd: {python: "own:odd"}}
tasks:
  first: {service: one}
  second: {service: hang, from: first}
  third: {service: add, from: second}
"""
OWN = '''\
import os, time
from pathlib import Path

HERE = Path(__file__).parent


def noted(name):
    with (HERE / "calls").open("a") as file:
        file.write(name + "\\n")


def one():
    noted("one")
    return 1


def hang(number):
    """Wait until it may go on."""
    noted("hang")
    while not (HERE / "go").exists():
        time.sleep(0.01)
    return number + 1


def add(number):
    noted("add")
    return number + 1


def odd(number):
    noted("odd")
    return print


def long(number):
    noted("long")
    return "x" * 30_000
'''


def make(folder: Path, flow: str = FLOW) -> None:
    """Write a workflow and its services."""
    (folder / "flow.yaml").write_text(flow, encoding="utf-8")
    (folder / "own.py").write_text(OWN, encoding="utf-8")


def calls(folder: Path) -> list[str]:
    """Give the calls that were made."""
    file = folder / "calls"
    return file.read_text(encoding="utf-8").split() if file.exists() else []


def hanging(folder: Path, *words: str, hangs: int = 1) -> subprocess.Popen[bytes]:
    """Start a command, and give it when its service hangs."""
    process = start(folder, *words)
    deadline = time.monotonic() + MAX_SECONDS
    while calls(folder).count("hang") < hangs and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    return process


def killed(folder: Path, *words: str) -> None:
    """Run the workflow, and kill the command while its service hangs."""
    process = hanging(folder, "run", "flow.yaml", "--name", "r", *words)
    os.killpg(process.pid, signal.SIGKILL)
    finish(process)


def go(folder: Path) -> None:
    """Let services hang no longer."""
    (folder / "go").touch()
