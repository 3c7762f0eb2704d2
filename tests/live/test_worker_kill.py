"""Worker processes end with the process that started them, also if that is killed, at any moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from tests.cli.command import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SECONDS = 200
KILLS = 4
FLOW = """\
import os
import subprocess
import sys
import time
from pathlib import Path

import solvent
from solvent import service, workflow

MARK = Path(__file__).with_name("mark")


@service
def hold_the_interpreter(n):
    subprocess.Popen(["sleep", "600"])
    MARK.touch()
    # One instruction of Python, so no other thread of the process gets a turn.
    return sum(range(10**15))


@service
def rest(n):
    MARK.touch()
    time.sleep(0.02)
    return n


@workflow
def holding(n: int = 1):
    return hold_the_interpreter(n)


@workflow
def many(n: int = 1):
    return [rest(number) for number in range(400)]


if __name__ == "__main__":
    solvent.run({"holding": holding, "many": many}[sys.argv[1]], jobs=3, processes=True)
"""


@contextmanager
def run(folder: Path, workflow: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start a run with worker processes; at the end kill what is left of it."""
    (folder / "flow.py").write_text(FLOW)
    (folder / "mark").unlink(missing_ok=True)
    name = uuid4().hex
    with subprocess.Popen(
        [sys.executable, "flow.py", workflow], cwd=folder, env={**environment(), "SOLVENT_TEST": name}
    ) as process:
        try:
            yield process, name
        finally:
            for one in {process.pid, *processes_of(name)}:
                os.kill(one, signal.SIGKILL)


def processes_of(name: str) -> set[int]:
    """Return the processes that have this name in their environment, but for those that have ended."""
    found = set[int]()
    for one in Path("/proc").glob("[0-9]*"):
        try:
            if f"SOLVENT_TEST={name}".encode() in (one / "environ").read_bytes():
                found.add(int(one.name))
        except OSError:
            continue  # It ended meanwhile.
    return found


def wait_for_mark(folder: Path) -> None:
    """Wait until a call has begun."""
    deadline = time.monotonic() + MAX_SECONDS
    while not (folder / "mark").exists():
        assert time.monotonic() < deadline, "no call has begun"
        time.sleep(0.005)


def ends(name: str, max_seconds: float = MAX_SECONDS) -> bool:
    """Wait until no process of this name is left; false if some stay."""
    deadline = time.monotonic() + max_seconds
    while processes_of(name):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_worker_that_holds_the_interpreter_ends_with_its_parent(tmp_path: Path) -> None:
    """A worker in a call that lets no other thread run ends when its parent is killed, with what it has started."""
    with run(tmp_path, "holding") as (process, name):
        wait_for_mark(tmp_path)
        process.kill()
        assert ends(name, 60)


def test_no_worker_outlives_a_parent_that_is_killed_at_any_moment(tmp_path: Path) -> None:
    """Whenever a run is killed, from its first moment on, no process of it is left."""
    moments = random.Random(7)
    for number in range(KILLS):
        with run(tmp_path, "many") as (process, name):
            if number % 2:
                wait_for_mark(tmp_path)
            time.sleep(moments.uniform(0, 0.5))
            process.kill()
            assert ends(name)
