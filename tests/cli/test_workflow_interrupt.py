"""Ctrl-C while a workflow runs: calls are cancelled, what is finished is printed, exit code 130."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import arguments, environment
from tests.cli.workflows import calls, one_task, put

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = "shell: 'echo $$ > pid; echo hang >> calls; sleep 600'"
MAX_SECONDS = 200


def interrupted(folder: Path, service: str, *words: str) -> tuple[int, str, str]:
    """Run a workflow that hangs, interrupt it when it does, and give what it printed."""
    file = put(folder, "flow.yaml", one_task(service) + "results: [first, last]\n")
    process = subprocess.Popen(
        arguments("run", file, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    deadline = time.monotonic() + MAX_SECONDS
    while "hang" not in calls(folder) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=MAX_SECONDS)
    assert b"Traceback" not in err
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("words", [(), ("--processes",)])
def test_interrupted_workflow_says_what_is_done(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Results that are there are printed, and the rest is named."""
    code, out, err = interrupted(tmp_path, "python: own:hang", *words)
    assert (code, out) == (130, "first: [1, 2, 3]\n")
    assert "error[H504]: interrupted before the workflow was done" in err
    assert "not done: odd, last\n" in err


def test_interrupted_workflow_as_json(tmp_path: Path) -> None:
    """The JSON is whole, with the error that ended the run."""
    code, out, _ = interrupted(tmp_path, "python: own:hang", "--format", "json")
    found = json.loads(out)
    assert (code, found["results"], found["error"]["code"]) == (130, {"first": [1, 2, 3]}, "H504")
    assert found["states"] == {"first": "done", "odd": "waiting", "last": "waiting"}


def test_interrupted_workflow_ends_its_commands(tmp_path: Path) -> None:
    """A command that runs is ended with the run."""
    code, _, _ = interrupted(tmp_path, COMMAND)
    number = int((tmp_path / "pid").read_text())
    assert code == 130
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
