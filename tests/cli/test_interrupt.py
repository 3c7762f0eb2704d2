"""Ctrl-C in programs, workflows and loops: what there is so far is printed, and the exit code is 130."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import time
from itertools import takewhile
from typing import TYPE_CHECKING

import pytest

from tests.cli import controlled
from tests.cli.command import FOREVER, arguments, environment, solvent, worked
from tests.cli.workflows import calls, one_task, put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAX_SECONDS = 200
STARTED = "let tell = replace-one START by told() in\n" + FOREVER.replace("<COUNT", "<START, tell, COUNT")


def _interrupted(*words: str | Path, when: Callable[[int], bool], number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Start a command, send it a signal when it is so far, and return its exit code and what it printed."""
    process = subprocess.Popen(arguments(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    deadline = time.monotonic() + MAX_SECONDS
    while not when(process.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=MAX_SECONDS)
    assert b"Traceback" not in err
    return process.returncode, out.decode(), err.decode()


def interrupted(tmp_path: Path, command: str, *words: str, number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Interrupt a program that never ends, once it reacts."""
    file, module, mark = tmp_path / "forever.hocl", tmp_path / "own.py", tmp_path / "started"
    file.write_text(STARTED)
    module.write_text(f"from pathlib import Path\n\ndef told():\n    Path({str(mark)!r}).touch()\n    return 'told'\n")

    def reacts(_process: int) -> bool:
        if mark.exists():
            time.sleep(0.2)
        return mark.exists()

    return _interrupted(command, file, "--functions", module, *words, when=reacts, number=number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_prints_its_solution(tmp_path: Path, number: int) -> None:
    """Ctrl-C and a request to terminate stop a run that would never end; its solution is printed."""
    code, out, err = interrupted(tmp_path, "run", number=number)
    assert code == 130
    assert out.startswith('<"told", COUNT:')
    assert out.endswith(", grow>\n")
    assert "interrupted" in err


def test_interrupted_run_is_saved_and_goes_on(tmp_path: Path) -> None:
    """What an interrupted run saved can be run on from where it stood."""
    saved = tmp_path / "saved.hocl"
    _, out, _ = interrupted(tmp_path, "run", "--save", str(saved))
    reached = int(out.split("COUNT:")[1].split(",")[0])
    again = solvent("run", saved, "--max-reactions", "10")
    assert again.out == f'<"told", COUNT:{reached + 10}, grow>\n'


def test_interrupted_seeded_run(tmp_path: Path) -> None:
    """A random run can be interrupted too."""
    code, out, _ = interrupted(tmp_path, "run", "--seed", "1")
    assert (code, "COUNT:" in out) == (130, True)


def test_interrupted_trace(tmp_path: Path) -> None:
    """A trace that is interrupted ends with the solution as it is."""
    code, out, err = interrupted(tmp_path, "trace", "--limit", "100000000")
    assert (code, "\nnot inert after " in out, "interrupted" in err) == (130, True, True)


def test_interrupted_exploration(tmp_path: Path) -> None:
    """An exploration that is interrupted says what it knows so far."""
    code, out, err = interrupted(tmp_path, "explore", "--format", "json")
    assert code == 130
    assert '"terminates": null' in out
    assert "interrupted" in err


COMMAND = "shell: 'echo $$ > pid; echo hang >> calls; sleep 600'"


def interrupted_workflow(folder: Path, service: str, *words: str) -> tuple[int, str, str]:
    """Interrupt a workflow that hangs."""
    file = put(folder, "flow.yaml", one_task(service) + "results: [first, last]\n")
    return _interrupted("run", file, *words, when=lambda _: "hang" in calls(folder))


@pytest.mark.parametrize("words", [(), ("--processes",)])
def test_interrupted_workflow_says_what_is_done(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Results that are there are printed, and the rest is named."""
    code, out, err = interrupted_workflow(tmp_path, "python: own:hang", *words)
    assert (code, out) == (130, "first: [1, 2, 3]\n")
    assert "error[H504]: interrupted before the workflow was done" in err
    assert "not done:\n  `odd` was running\n  `last` waits for `odd`\n" in err


def test_interrupted_workflow_as_json(tmp_path: Path) -> None:
    """The JSON is whole, with the error that ended the run."""
    code, out, _ = interrupted_workflow(tmp_path, "python: own:hang", "--format", "json")
    found = json.loads(out)
    assert (code, found["results"], found["error"]["code"]) == (130, {"first": [1, 2, 3]}, "H504")
    assert found["states"] == {"first": "done", "odd": "interrupted", "last": "waiting"}


def test_interrupted_workflow_ends_its_commands(tmp_path: Path) -> None:
    """A command that runs is ended with the run."""
    code, _, _ = interrupted_workflow(tmp_path, COMMAND)
    number = int((tmp_path / "pid").read_text())
    assert code == 130
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def interrupted_loop(folder: Path, command: str, *words: str) -> tuple[int, str, str]:
    """Interrupt a loop that never ends, when it has called something and worked for a while since then."""
    began = [math.inf]

    def goes_round(process: int) -> bool:
        if calls(folder):
            began[0] = min(began[0], worked(process))
        return worked(process) >= began[0] + 0.2

    return _interrupted(command, controlled.put(folder, controlled.ENDLESS), *words, when=goes_round)


def test_interrupted_loop_as_json(tmp_path: Path) -> None:
    """The JSON is whole, with the trace so far."""
    code, out, _ = interrupted_loop(tmp_path, "run", "--format", "json")
    found = json.loads(out)
    assert (code, found["error"]["code"], found["stuck"]) == (130, "H504", [])
    assert {"event": "done", "task": "A"}.items() <= found["trace"][1].items()


def test_interrupted_exploration_of_a_loop(tmp_path: Path) -> None:
    """An exploration that is interrupted_loop says what it knows so far."""
    code, out, err = interrupted_loop(tmp_path, "explore", "--format", "json")
    found = json.loads(out)
    assert (code, found["complete"], found["states"] > 1) == (130, False, True)
    assert "interrupted after " in err


def test_limit_on_seconds_of_a_loop(tmp_path: Path) -> None:
    """A loop that never ends stops at its limit, with exit code 3."""
    result = solvent("run", controlled.put(tmp_path, controlled.ENDLESS), "--max-seconds", "1")
    assert (result.code, result.out) == (3, "")
    assert "error[H502]: time limit of 1 s reached" in result.err


def test_long_loop_is_told_in_numbers(tmp_path: Path) -> None:
    """A loop that has gone round many times is told in numbers, so that it does not fill the screen."""
    file = controlled.put(tmp_path, controlled.ENDLESS)
    process = subprocess.Popen(
        arguments("run", file), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stderr is not None
    lines = list(takewhile(lambda line: "only totals from here on" not in line, process.stderr))
    following = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=MAX_SECONDS)
    assert (len(lines), process.returncode) == (401, 130)
    assert re.search(r"s  .*\d running.* calls$", following.rstrip()), following
    assert "error[H504]: interrupted" in rest
