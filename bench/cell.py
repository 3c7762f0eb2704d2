"""One cell of the table: a worker process, its time limit and what came of it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, Any

from bench.problems import Order

LOADING_SECONDS_MAX = 180.0
# The limit is on CPU time; a busy machine may need a little longer by the clock.
CLOCK_ALLOWANCE = 1.25


class Ending(StrEnum):
    """How a cell ended."""

    MEASURED = "measured"
    OUT_OF_TIME = "out of time"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True)
class Cell:
    """What one system did with one problem of one size."""

    system: str
    problem: str
    size: int
    ending: Ending
    seconds: float | None = None
    runs: int = 0
    digest: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Limits:
    """What a cell may take."""

    seconds_max: float
    order: Order = Order.RANDOM


class _Watch:
    """Kills a process and its children when a time is over; may be set again."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._timer: threading.Timer | None = None
        self.has_rung = False

    def set(self, seconds: float) -> None:
        """Give the process this long from now on."""
        self.stop()
        self._timer = threading.Timer(seconds, self._ring)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Let the process go on for ever."""
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self.has_rung = True
        kill_group(self._process)


def kill_group(process: subprocess.Popen[str]) -> None:
    """End the worker and whatever it started: it leads a process group of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def measure(system: str, problem: str, size: int, limits: Limits) -> Cell:
    """Run a worker and collect what it says."""
    command = [sys.executable, "-m", "bench.worker", system, problem, str(size), limits.order]
    with tempfile.TemporaryFile(mode="w+", encoding="utf-8") as complaints:
        process = subprocess.Popen(  # noqa: S603 - our own worker
            command, stdout=subprocess.PIPE, stderr=complaints, text=True, start_new_session=True
        )
        watch = _Watch(process)
        try:
            messages = _listen(process, watch, limits)
        finally:
            watch.stop()
            kill_group(process)
            process.wait()
        complaints.seek(0)
        return _cell(system, problem, size, messages, watch, complaints, limits)


def _listen(process: subprocess.Popen[str], watch: _Watch, limits: Limits) -> list[dict[str, Any]]:
    assert process.stdout is not None
    messages: list[dict[str, Any]] = []
    watch.set(LOADING_SECONDS_MAX)
    for line in process.stdout:
        if not line.startswith("{"):
            continue
        message = json.loads(line)
        messages.append(message)
        if "end" in message:
            break
        watch.set(limits.seconds_max * CLOCK_ALLOWANCE + (LOADING_SECONDS_MAX if "seconds" in message else 1))
    return messages


def _cell(
    system: str,
    problem: str,
    size: int,
    messages: list[dict[str, Any]],
    watch: _Watch,
    complaints: IO[str],
    limits: Limits,
) -> Cell:
    times = [float(message["seconds"]) for message in messages if "seconds" in message]
    if not times and watch.has_rung:
        note = "" if messages else "while loading"
        return Cell(system, problem, size, Ending.OUT_OF_TIME, note=note)
    if not times:
        lines = [line for line in complaints.read().splitlines() if line.strip()]
        return Cell(system, problem, size, Ending.FAILED, note=lines[-1].strip() if lines else "no word why")
    if min(times) > limits.seconds_max:
        return Cell(system, problem, size, Ending.OUT_OF_TIME)
    (first,) = (message for message in messages if "digest" in message)
    note = f"{first['count']} molecules, from {first['sample']}"
    return Cell(
        system, problem, size, Ending.MEASURED, seconds=min(times), runs=len(times), digest=first["digest"], note=note
    )
