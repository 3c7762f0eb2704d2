"""Ctrl-C while a command starts: it is never lost, and never shows a traceback.

A module of the tests' own that Python imports at its start, `sitecustomize`, sends the signal at a chosen moment.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import MAX_SECONDS, arguments, environment

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """\
import os
import signal
import sys


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):  # Python looks for signals at calls.
        os.getpid()


class Ignored:
    # What is raised here is ignored by Python, as it is in callbacks of its import system.
    def __del__(self):
        interrupt()


class Wrapped:
    # Python 3.11 makes a `RuntimeError` of what is raised here.
    def __set_name__(self, owner, name):
        interrupt()


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ.get("INTERRUPT_AT"):
            Ignored()
        return None


sys.meta_path.insert(0, Finder())
"""
FLOW = """\
import sitecustomize
from solvent import service, workflow

HOW


@service
def first():
    print("it runs", flush=True)
    return 1


@workflow
def flow():
    return first()
"""
HOWS = {
    "ignored": "sitecustomize.Ignored()\nfor _ in range(1000):\n    __import__('time').sleep(0.01)",
    "caught": "try:\n    sitecustomize.interrupt()\nexcept BaseException:\n    pass",
    "wrapped": "class Owner:\n    wrapped = sitecustomize.Wrapped()",
    "plain": "sitecustomize.interrupt()",
}


def run(folder: Path, *words: str, at: str = "") -> tuple[int, bytes]:
    """Run a command that interrupts itself; return its exit code and what it wrote."""
    (folder / "sitecustomize.py").write_text(MODULE)
    known = environment()
    more = {"PYTHONPATH": f"{folder}:{known['PYTHONPATH']}", "INTERRUPT_AT": at}
    done = subprocess.run(
        arguments(*words), cwd=folder, env={**known, **more}, capture_output=True, timeout=MAX_SECONDS, check=False
    )
    written = done.stdout + done.stderr
    assert b"Traceback" not in written
    assert b"Exception ignored" not in written
    return done.returncode, written


@pytest.mark.parametrize("record", ["--no-record", "--store=store.db"])
@pytest.mark.parametrize(
    "module", ["solvent.errors", "solvent.cli.run", "solvent.cli.run_workflow", "solvent.runs.embedded", "msgspec"]
)
def test_an_interrupt_while_the_command_is_imported_ends_it(tmp_path: Path, module: str, record: str) -> None:
    """Ctrl-C in a place of an import where Python ignores exceptions ends `run` with 130 before anything runs."""
    (tmp_path / "flow.py").write_text(FLOW.replace("HOW", ""))
    code, written = run(tmp_path, "run", "flow.py", record, at=module)
    assert (code, written) == (130, b"interrupted\n")


@pytest.mark.parametrize("record", ["--no-record", "--store=store.db"])
@pytest.mark.parametrize("how", HOWS)
def test_an_interrupt_while_the_file_is_imported_ends_the_run(tmp_path: Path, how: str, record: str) -> None:
    """Ctrl-C while a user's file is imported ends `run` with 130, also where Python or the file ignores it."""
    (tmp_path / "flow.py").write_text(FLOW.replace("HOW", HOWS[how]))
    code, written = run(tmp_path, "run", "flow.py", record)
    assert code == 130
    assert written.startswith(b"interrupted\n")
    assert b"it runs" not in written


@pytest.mark.parametrize("module", ["solvent.errors", "solvent.cli.agent", "solvent.runs.agents.agent"])
def test_an_agent_that_is_interrupted_while_it_starts_ends_with_0(tmp_path: Path, module: str) -> None:
    """Ctrl-C ends an agent in order, however far it has come."""
    (tmp_path / "flow.py").write_text(FLOW.replace("HOW", ""))
    code, _ = run(tmp_path, "agent", "--store", "store.db", "--services", "flow.py", at=module)
    assert code == 0


def test_an_interrupt_at_the_start_is_told_as_json(tmp_path: Path) -> None:
    """With `--format json` the note that the command was interrupted is JSON."""
    (tmp_path / "flow.py").write_text(FLOW.replace("HOW", ""))
    code, written = run(tmp_path, "run", "flow.py", "--format", "json", at="solvent.cli.run")
    assert (code, written) == (130, b'{"note": {"message": "interrupted"}}\n')
