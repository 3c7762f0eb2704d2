"""The commands of a process that is killed end, though it cannot end them any more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    Begun: TypeAlias = Callable[..., tuple[subprocess.Popen[bytes], str]]

_BEGIN = """\
import os, signal, sys, threading
from solvent.services.shell import Command
from solvent.services.guard import GUARD
from solvent.services.shell import End

def started(text):
    return Command(text, stdin=None, cwd=sys.argv[1], env=None, out=End(), beat=lambda: None)

"""
_CALLER = """\
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
_KILLED = """\
def begin(group):
    print(group, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

GUARD.begin = begin
started("echo $$ > first; sleep 10")
"""


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Begun]:
    """Start processes that run a script, and give each with the first line that it says."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("processes are looked for in /proc")
    with ExitStack() as stack:

        def begin(script: str, how: str = "") -> tuple[subprocess.Popen[bytes], str]:
            words = [sys.executable, "-c", _BEGIN + script, str(tmp_path), how]
            one = stack.enter_context(subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE))
            stack.callback(one.kill)
            assert one.stdout is not None
            return one, one.stdout.readline().decode().strip()

        yield begin


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


@pytest.mark.parametrize("how", ["guarded", "unguarded"])
def test_the_commands_of_a_process_that_is_killed_end(tmp_path: Path, begun: Begun, how: str) -> None:
    """Those that run end, also if their guard had been killed before; what an ended one has left behind goes on."""
    caller, said = begun(_CALLER, how)
    assert said == "ready"
    files = [tmp_path / name for name in ("first", "second", "left")]
    _until(lambda: all(file.exists() and file.read_text().endswith("\n") for file in files))
    first, second, left = (int(file.read_text()) for file in files)
    caller.kill()
    try:
        _until(lambda: not _is_running(first) and not _is_running(second))
        assert _is_running(left)
    finally:
        os.kill(left, signal.SIGKILL)


def test_a_command_begins_only_when_its_guard_knows_it(tmp_path: Path, begun: Begun) -> None:
    """One that is started in the very moment in which its process is killed ends, and has done nothing."""
    _, command = begun(_KILLED)
    _until(lambda: not _is_running(int(command)))
    assert not (tmp_path / "first").exists()


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_what_a_service_has_split_off_keeps_nobody_from_ending(tmp_path: Path, begun: Begun, how: str) -> None:
    """A process ends, and the commands of one that is killed do, though one that it has split off goes on."""
    one, said = begun(_SPLITTING, how)
    other = int(said)
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
