"""One Ctrl-C ends every run of a workflow, whatever it is doing."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import environment
from tests.live.interrupting import HOWS, KINDS, MAX_SECONDS, command, interrupt, is_in_order, put_files

if TYPE_CHECKING:
    from pathlib import Path

WAITING = """\
import os
import signal
import threading
import time

import solvent
from solvent import service, workflow

interrupted = threading.Event()


def note(*_):
    interrupted.set()
    time.sleep(0.5)


@service
def hang():
    time.sleep(0.3)  # By now the run waits, most likely.
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(600)


@workflow
def flow():
    return hang()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, note)
    print(solvent.run(flow, should_stop=interrupted.is_set, check=False).error.code)
"""
POOL = """\
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

from solvent import service, workflow

pool = ThreadPoolExecutor()


@service
def hang():
    pool.submit(time.sleep, 600)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(600)


@workflow
def flow():
    return hang()
"""


@pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", HOWS)
def test_one_interrupt_ends_a_run(tmp_path: Path, kind: str, how: str, *, processes: bool) -> None:
    """A run that is interrupted once ends with exit code 130."""
    put_files(tmp_path)
    end = interrupt(tmp_path, command(tmp_path, kind, how, processes=processes), random.Random())
    assert end.code == 130, end.errors
    assert "Traceback" not in end.errors


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", HOWS)
def test_one_interrupt_ends_a_run_that_starts(tmp_path: Path, kind: str, how: str) -> None:
    """A run that is interrupted while it starts ends with 130, except where Python itself still starts."""
    put_files(tmp_path)
    end = interrupt(tmp_path, command(tmp_path, kind, how, processes=False), random.Random(), while_starting=True)
    assert is_in_order(end), end


@pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_interrupt_ends_a_run_of_a_script(tmp_path: Path, kind: str, *, processes: bool) -> None:
    """`run_workflow` ends its calls and raises `KeyboardInterrupt`."""
    put_files(tmp_path)
    end = interrupt(tmp_path, command(tmp_path, kind, "script", processes=processes), random.Random())
    assert end.code == 130, end.errors
    assert "Traceback" not in end.errors


def test_a_signal_while_a_run_waits_for_an_answer_is_not_lost(tmp_path: Path) -> None:
    """A run whose wait was interrupted by a handler that takes longer than the wait looks whether it is to stop."""
    (tmp_path / "flow.py").write_text(WAITING)
    words = [sys.executable, str(tmp_path / "flow.py")]
    done = subprocess.run(words, env=environment(), capture_output=True, timeout=MAX_SECONDS, check=True)
    assert done.stdout == b"H504\n"


def test_threads_of_a_service_do_not_hold_up_an_interrupted_run(tmp_path: Path) -> None:
    """Python would wait at its end for threads that a service has started; after Ctrl-C they are not waited for."""
    (tmp_path / "flow.py").write_text(POOL)
    words = [sys.executable, "-m", "solvent", "run", str(tmp_path / "flow.py"), "--no-record"]
    done = subprocess.run(words, env=environment(), capture_output=True, timeout=MAX_SECONDS, check=False)
    assert done.returncode == 130
    assert b"Traceback" not in done.stderr
