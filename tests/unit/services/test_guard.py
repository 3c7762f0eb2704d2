"""The commands of a process that is killed end, though it cannot end them any more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

_CALLER = """\
import sys, threading
from solvent.services.command import Command
from solvent.services.guard import GUARD
from solvent.services.output import End

def started(text):
    return Command(["/bin/sh", "-c", text], stdin=None, cwd=sys.argv[1], env=None, out=End(), beat=lambda: None)

first = started("echo $$ > first; sleep 60 & wait")
if sys.argv[2] == "unguarded":
    GUARD._process.kill()
    GUARD._process.wait()
started("sleep 60 > /dev/null 2>&1 & echo $! > left").run()
second = started("echo $$ > second; sleep 60")
print("ready", flush=True)
threading.Event().wait()
"""


_SPLITTING = """\
import os, sys, threading
from solvent.services.command import Command
from solvent.services.output import End

def started(text):
    return Command(["/bin/sh", "-c", text], stdin=None, cwd=sys.argv[1], env=None, out=End(), beat=lambda: None)

if sys.argv[2] == "killed":
    started("echo $$ > first; sleep 60")
else:
    started("true").run()
if not (other := os.fork()):
    os.close(1)
    threading.Event().wait()
print(other, flush=True)
if sys.argv[2] == "killed":
    threading.Event().wait()
"""


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 200
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
@pytest.mark.parametrize("how", ["guarded", "unguarded"])
def test_the_commands_of_a_process_that_is_killed_end(tmp_path: Path, how: str) -> None:
    """Those that run end, also if their guard had been killed before; what an ended one has left behind goes on."""
    words = [sys.executable, "-c", _CALLER, str(tmp_path), how]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == b"ready\n"
        files = [tmp_path / name for name in ("first", "second", "left")]
        _until(lambda: all(file.exists() and file.read_text().endswith("\n") for file in files))
        first, second, left = (int(file.read_text()) for file in files)
        caller.kill()
    try:
        _until(lambda: not _is_running(first) and not _is_running(second))
        assert _is_running(left)
    finally:
        os.kill(left, signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_what_a_service_has_split_off_keeps_nobody_from_ending(tmp_path: Path, how: str) -> None:
    """A process ends, and the commands of one that is killed do, though one that it has split off goes on."""
    words = [sys.executable, "-c", _SPLITTING, str(tmp_path), how]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        other = int(one.stdout.readline())
        try:
            if how == "killed":
                file = tmp_path / "first"
                _until(lambda: file.exists() and file.read_text().endswith("\n"))
                one.kill()
                _until(lambda: not _is_running(int(file.read_text())))
            assert one.wait(200) == (-signal.SIGKILL if how == "killed" else 0)
            assert _is_running(other)
        finally:
            os.kill(other, signal.SIGKILL)
