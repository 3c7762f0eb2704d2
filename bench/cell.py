"""One cell of the table: a worker process, its time limit and what came of it."""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from bench.problems import Order

MAX_LOADING_SECONDS = 180.0
# What a worker does besides the measured run, such as collecting garbage.
ALLOWANCE_SECONDS = 2.0
PROCESSES = Path("/proc")

STACK_BYTES = 1 << 30


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

    max_seconds: float
    order: Order = Order.RANDOM
    is_once: bool = False
    """Whether quick runs, too, are not repeated."""


@dataclass(frozen=True)
class _Told:
    """What a worker said before it ended."""

    messages: list[dict[str, Any]]
    is_late: bool
    complaint: str


class _Watch:
    """Kills a process and its children when they have used up their CPU time; may be set again.

    The clock alone would be unjust: on a busy machine a process may get half of it. Where the CPU time of a
    process group cannot be read, the clock decides.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._timer: threading.Timer | None = None
        self.has_rung = False

    def set(self, seconds: float) -> None:
        """Give the process this much CPU time from now on."""
        self.stop()
        now = time.monotonic()
        self._start(seconds, cpu_end=group_cpu_seconds(self._process.pid) + seconds, clock_end=now + 4 * seconds)

    def stop(self) -> None:
        """Let the process go on for ever."""
        if self._timer is not None:
            self._timer.cancel()

    def _start(self, seconds: float, *, cpu_end: float, clock_end: float) -> None:
        self._timer = threading.Timer(seconds, self._ring, kwargs={"cpu_end": cpu_end, "clock_end": clock_end})
        self._timer.daemon = True
        self._timer.start()

    def _ring(self, *, cpu_end: float, clock_end: float) -> None:
        left = cpu_end - group_cpu_seconds(self._process.pid)
        if PROCESSES.exists() and left > 0 and time.monotonic() < clock_end:
            self._start(max(left, 0.1), cpu_end=cpu_end, clock_end=clock_end)
            return
        self.has_rung = True
        kill_group(self._process)


def group_cpu_seconds(group: int) -> float:
    """Add up the CPU time of a process group, as far as the system tells."""
    ticks = 0
    for path in PROCESSES.glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        # After the name: state, parent, group; user and system time come ninth and tenth behind the group.
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def kill_group(process: subprocess.Popen[str]) -> None:
    """End the worker and whatever it started: it leads a process group of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def raise_stack_limit() -> None:
    """Give workers a large stack: Maude's parser needs it for terms of 100,000 molecules."""
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    soft = STACK_BYTES if hard == resource.RLIM_INFINITY else min(STACK_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))


def measure(system: str, problem: str, size: int, limits: Limits) -> Cell:
    """Run a worker and turn what it says into a cell."""
    told = _run_worker(system, problem, size, limits)
    times = [float(message["seconds"]) for message in told.messages if "seconds" in message]
    if not times and told.is_late:
        if not told.messages:
            return Cell(system, problem, size, Ending.FAILED, note="out of time while loading")
        return Cell(system, problem, size, Ending.OUT_OF_TIME)
    if not times:
        return Cell(system, problem, size, Ending.FAILED, note=told.complaint)
    if min(times) > limits.max_seconds:
        return Cell(system, problem, size, Ending.OUT_OF_TIME)
    (first,) = (message for message in told.messages if "digest" in message)
    return Cell(
        system,
        problem,
        size,
        Ending.MEASURED,
        seconds=min(times),
        runs=len(times),
        digest=first["digest"],
        note=f"{first['count']} molecules, from {first['sample']}",
    )


def _run_worker(system: str, problem: str, size: int, limits: Limits) -> _Told:
    raise_stack_limit()
    command = [
        sys.executable,
        "-m",
        "bench.worker",
        system,
        problem,
        str(size),
        limits.order,
        str(int(not limits.is_once)),
    ]
    with tempfile.TemporaryFile(mode="w+", encoding="utf-8") as complaints:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=complaints, text=True, start_new_session=True
        )
        watch = _Watch(process)
        try:
            messages = _listen(process, watch, limits)
            process.wait()
        finally:
            watch.stop()
            kill_group(process)
            process.wait()
        complaints.seek(0)
        lines = [line.strip() for line in complaints if line.strip()]
    complaint = lines[-1] if lines else f"exit code {process.returncode}"
    return _Told(messages, is_late=watch.has_rung, complaint=complaint)


def _listen(process: subprocess.Popen[str], watch: _Watch, limits: Limits) -> list[dict[str, Any]]:
    assert process.stdout is not None
    messages: list[dict[str, Any]] = []
    watch.set(MAX_LOADING_SECONDS)
    for line in process.stdout:
        if not line.startswith("{"):
            continue
        message = json.loads(line)
        messages.append(message)
        if "end" in message:
            break
        # After a run the next one is prepared, which may take as long as loading.
        preparing = MAX_LOADING_SECONDS if "seconds" in message else ALLOWANCE_SECONDS
        watch.set(limits.max_seconds + preparing)
    return messages
