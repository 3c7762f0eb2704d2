"""Ctrl-C: the solution as it stands, exit code 130."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import FOREVER, arguments, environment, solvent

if TYPE_CHECKING:
    from pathlib import Path

STARTED = "let tell = replace-one START by told() in\n" + FOREVER.replace("<COUNT", "<START, tell, COUNT")


def interrupted(tmp_path: Path, *words: str, number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Start a program that never ends, send it a signal once it reacts, and give what it printed."""
    file, module, mark = tmp_path / "forever.hocl", tmp_path / "own.py", tmp_path / "started"
    file.write_text(STARTED)
    module.write_text(f"from pathlib import Path\n\ndef told():\n    Path({str(mark)!r}).touch()\n    return 'told'\n")
    process = subprocess.Popen(
        arguments(words[0], file, "--functions", module, *words[1:]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    deadline = time.monotonic() + 200
    while not mark.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(number)
    out, err = process.communicate(timeout=200)
    assert b"Traceback" not in err
    return process.returncode, out.decode(), err.decode()


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


def test_interrupted_exploration(tmp_path: Path) -> None:
    """An exploration that is interrupted says what it knows so far."""
    code, out, err = interrupted(tmp_path, "explore", "--format", "json")
    assert code == 130
    assert '"terminates": null' in out
    assert "interrupted" in err
