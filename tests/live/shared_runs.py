"""Runs of programs in a store, for tests: real commands, real processes, and kills."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.runs.nodes.shared import Board, runs_in
from solvent.store import open_store
from solvent.store.leases import heartbeat_from_value
from tests.cli.command import EXAMPLES, arguments, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.runs.nodes.control import Status
    from solvent.store import Store

MAX_SECONDS = 200.0

SLOW = """
import time

def slow(one, other):
    time.sleep({seconds})
    return one + other
"""


def sum_program(folder: Path, count: int, *, seconds: float = 0.05) -> list[str]:
    """Write a program that adds numbers up, so slowly that it is not done before it is disturbed; give its words."""
    (folder / "slow.py").write_text(SLOW.format(seconds=seconds), encoding="utf-8")
    numbers = ", ".join(map(str, range(1, count + 1)))
    program = folder / "sum.hocl"
    program.write_text(f"let add = replace x::int, y::int by slow(x, y) in\n<{numbers}, add>", encoding="utf-8")
    return ["run", str(program), "--functions", str(folder / "slow.py")]


def total(count: int) -> str:
    """Give the solution that such a program ends with."""
    return f"<{count * (count + 1) // 2}, add>"


def final(name: str) -> list[str]:
    """Give the states in which an example may end."""
    lines = (EXAMPLES / name / f"{name}.final.hocl").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("//")]


class Shared:
    """A run in a store, and the processes that take part in it."""

    def __init__(self, url: str, *words: Any) -> None:
        self.url = url
        self._store = open_store(url)
        before = set(runs_in(self._store))
        self.command = start(*words, "--store", url, "--format", "json")
        self.run = _until(lambda: next(iter(set(runs_in(self._store)) - before), ""), self.command)
        self.board = Board(self._store, self.run)

    @property
    def store(self) -> Store:
        """The store, open."""
        return self._store

    def statuses(self, is_so: Callable[[dict[int, Status]], Any]) -> dict[int, Status]:
        """Give how the nodes are, as soon as something is so."""

        def look() -> dict[int, Status]:
            found = self.board.statuses()
            return found if is_so(found) else {}

        return _until(look, None)

    def all_react(self, nodes: int) -> dict[int, Status]:
        """Give how the nodes are, as soon as all of them react."""
        return self.statuses(
            lambda found: len(found) == nodes and all(one.phase in ("alone", "together") for one in found.values())
        )

    def members(self) -> list[int]:
        """Give the processes that have a heartbeat and are there."""
        found = [heartbeat_from_value(entry.value)["pid"] for entry in self.board.members().values()]
        return [number for number in found if _is_there(number)]

    def wait_for_end(self) -> str:
        """Wait until somebody has said how the run has ended."""

        def look() -> str:
            ending = self.board.look().ending
            return "" if ending is None else ending.how

        return _until(look, None)

    def until_opened_by(self, command: subprocess.Popen[str]) -> None:
        """Wait until a command has opened the file that is the store: it has begun with what it is to do."""

        def is_open() -> bool:
            return any(os.path.realpath(one) == self.url for one in Path(f"/proc/{command.pid}/fd").iterdir())

        _until(is_open, command)

    def close(self) -> None:
        """Leave nothing behind."""
        for number in (*self.members(), self.command.pid):
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
        self.command.communicate()
        self._store.close()


@contextmanager
def shared(url: str, *words: Any) -> Iterator[Shared]:
    """Start a run in a store; its processes are gone afterwards, whatever happened."""
    run = Shared(url, *words)
    try:
        yield run
    finally:
        run.close()


def start(*words: Any) -> subprocess.Popen[str]:
    """Start the command."""
    return subprocess.Popen(
        arguments(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    )


def _is_there(number: int) -> bool:
    try:
        os.kill(number, 0)
        # A child of somebody who has not looked yet is there and is dead.
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _until(look: Callable[[], Any], command: subprocess.Popen[str] | None) -> Any:
    until = time.monotonic() + MAX_SECONDS
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        if command is not None and command.poll() is not None:
            raise AssertionError(command.communicate())
        time.sleep(0.01)
    raise AssertionError("it never came about")
