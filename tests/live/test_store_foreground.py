"""A process that was stopped with the lock, and is brought to the foreground while it is let go on, is not stopped."""

from __future__ import annotations

import os
import pty
import signal
import sqlite3
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from solvent.store import open_store
from solvent.store.sqlite_file import stopped_holder_goes_on

SHELL = """
import os, signal, sqlite3, sys, time

signal.signal(signal.SIGTTOU, signal.SIG_IGN)
path, told = sys.argv[1:]
job = os.fork()
if not job:
    os.setpgid(0, 0)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(600)
os.waitpid(job, os.WUNTRACED)
open(told, "w").write(str(job))
while os.path.exists(told):
    time.sleep(0.01)
os.tcsetpgrp(0, job)
open(told, "w").close()
time.sleep(600)
"""


def state_of(process: int) -> str:
    """Give the letter of a process's state."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


@pytest.mark.parametrize("is_called", [True, False])
def test_who_is_called_to_the_foreground_goes_on(tmp_path: Path, *, is_called: bool) -> None:
    """As if it had been stopped a little later; but not where somebody wants it to run by now."""
    path, told = tmp_path / "store.db", tmp_path / "told"
    store = open_store(str(path))
    shell, terminal = pty.fork()
    if not shell:
        os.execv(sys.executable, [sys.executable, "-c", SHELL, str(path), str(told)])  # noqa: S606
    job, until = 0, time.monotonic() + 200
    try:
        while not job and time.monotonic() < until:
            time.sleep(0.01)
            with suppress(OSError, ValueError):
                job = int(told.read_text(encoding="ascii"))
        with stopped_holder_goes_on(path) as is_somebody:
            assert is_somebody
            if is_called:
                told.unlink()
            while not told.exists() and time.monotonic() < until:
                time.sleep(0.01)
        assert (state_of(job) == "T") == (not is_called)
    finally:
        for one in (shell, job):
            with suppress(OSError):
                os.kill(one, signal.SIGKILL)
        os.waitpid(shell, 0)
        os.close(terminal)
        with suppress(sqlite3.Error):
            store.close()
