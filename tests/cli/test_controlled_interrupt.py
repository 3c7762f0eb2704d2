"""A loop that never ends: Ctrl-C and limits stop it, and it does not fill the screen."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import time
from itertools import takewhile
from typing import TYPE_CHECKING

from tests.cli import controlled
from tests.cli.command import arguments, environment, solvent, worked
from tests.cli.workflows import calls

if TYPE_CHECKING:
    from pathlib import Path

MAX_SECONDS = 200


def interrupted(folder: Path, *words: str) -> tuple[int, str, str]:
    """Run a command on a loop that never ends, interrupt it when it goes round, and give what it printed."""
    file = controlled.put(folder, controlled.ENDLESS)
    process = subprocess.Popen(
        arguments(words[0], file, *words[1:]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    deadline, began = time.monotonic() + MAX_SECONDS, math.inf
    # It has called something, and worked for a while since then.
    while worked(process.pid) < began + 0.2 and time.monotonic() < deadline:
        if calls(folder):
            began = min(began, worked(process.pid))
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=MAX_SECONDS)
    assert b"Traceback" not in err
    return process.returncode, out.decode(), err.decode()


def test_interrupted_loop(tmp_path: Path) -> None:
    """Ctrl-C ends a loop that never ends, with exit code 130."""
    code, out, err = interrupted(tmp_path, "run")
    assert (code, out) == (130, "")
    assert "error[H504]: interrupted before the workflow was done" in err


def test_interrupted_loop_as_json(tmp_path: Path) -> None:
    """The JSON is whole, with the trace so far."""
    code, out, _ = interrupted(tmp_path, "run", "--format", "json")
    found = json.loads(out)
    assert (code, found["error"]["code"], found["stuck"]) == (130, "H504", [])
    assert {"event": "done", "task": "A"}.items() <= found["trace"][1].items()


def test_interrupted_exploration_of_a_loop(tmp_path: Path) -> None:
    """An exploration that is interrupted says what it knows so far."""
    code, out, err = interrupted(tmp_path, "explore", "--format", "json")
    found = json.loads(out)
    assert (code, found["complete"], found["states"] > 1) == (130, False, True)
    assert "interrupted after " in err


def test_limit_on_seconds_of_a_loop(tmp_path: Path) -> None:
    """A loop that never ends stops at its limit, with exit code 3."""
    result = solvent("run", controlled.put(tmp_path, controlled.ENDLESS), "--max-seconds", "1")
    assert (result.code, result.out) == (3, "")
    assert "error[H502]: not done after 1 second" in result.err


def test_long_loop_is_told_in_numbers(tmp_path: Path) -> None:
    """A loop that has gone round many times is told in numbers, so that it does not fill the screen."""
    file = controlled.put(tmp_path, controlled.ENDLESS)
    process = subprocess.Popen(arguments("run", file), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    lines = list(takewhile(lambda line: "from here on in numbers" not in line, process.stderr))
    following = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=MAX_SECONDS)
    assert (len(lines), process.returncode) == (401, 130)
    assert re.search(r"s  .*\d running.* calls$", following.rstrip()), following
    assert "error[H504]: interrupted" in rest
