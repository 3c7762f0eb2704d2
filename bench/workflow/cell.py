"""One cell of the table: a worker process, its time limit and what came of it."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from bench.cell import Ending
from bench.workflow.processes import Scales, end_tree

ROOT = Path(__file__).resolve().parents[2]
MAX_STARTING_SECONDS = 60.0
MAX_CLOSING_SECONDS = 15.0


class Mode(StrEnum):
    """What a cell measures; memory apart from time, because weighing disturbs."""

    TIME = "time"
    MEMORY = "memory"
    FAILURE = "failure"


@dataclass(frozen=True)
class Question:
    """Which system is to do what."""

    system: str
    mode: Mode
    shape: str
    size: int


@dataclass(frozen=True)
class Cell:
    """What one system did."""

    question: Question
    ending: Ending
    times: tuple[float, ...] = ()
    ready_bytes: int | None = None
    peak_bytes: int | None = None
    note: str = ""

    @property
    def best(self) -> float | None:
        """The shortest time."""
        return min(self.times, default=None)

    @property
    def median(self) -> float | None:
        """The time in the middle."""
        return statistics.median(self.times) if self.times else None


@dataclass(frozen=True)
class Limits:
    """What a cell may take."""

    max_seconds: float
    workers: int


@dataclass
class _Told:
    """What a worker has said so far."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    peak_bytes: int = 0
    is_late: bool = False
    complaint: str = ""


class _Alarm:
    """Ends a worker and all below it when its time is up; may be set again."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._timer: threading.Timer | None = None
        self.has_rung = False

    def set(self, seconds: float) -> None:
        """Give the worker this much time from now on."""
        self.stop()
        self._timer = threading.Timer(seconds, self._ring)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Give the worker all the time it wants."""
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self.has_rung = True
        end_tree(self._process.pid)


def measure(question: Question, limits: Limits) -> Cell:
    """Run a worker and turn what it says into a cell."""
    told = _run_worker(question, limits)
    times = tuple(float(message["seconds"]) for message in told.messages if "seconds" in message)
    ready = next((message for message in told.messages if "ready" in message), None)
    has_ended = any("end" in message for message in told.messages)
    if ready is None:
        note = "out of time while starting" if told.is_late else told.complaint
        return Cell(question, Ending.FAILED, note=note)
    if not has_ended and not told.is_late:
        return Cell(question, Ending.FAILED, note=told.complaint)
    if not times or min(times) > limits.max_seconds:
        return Cell(question, Ending.OUT_OF_TIME)
    # Being late with a repetition does not spoil the runs before.
    peak = told.peak_bytes if question.mode is Mode.MEMORY else None
    return Cell(question, Ending.MEASURED, times, ready_bytes=int(ready["resident"]), peak_bytes=peak)


def _run_worker(question: Question, limits: Limits) -> _Told:
    told = _Told()
    # A short name: Ray puts sockets into the folder, and their paths may not be long.
    with (
        tempfile.TemporaryDirectory(prefix="wf-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace") as complaints,
    ):
        parts = (question.system, question.mode, question.shape, str(question.size), str(limits.workers), folder)
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.workflow.worker", *parts],
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            start_new_session=True,
            cwd=folder,
            env=_environment(),
        )
        alarm = _Alarm(process)
        try:
            _listen(process, alarm, told, question.mode, limits)
        finally:
            alarm.stop()
            end_tree(process.pid)
            process.wait()
        complaints.seek(0)
        lines = [line.strip() for line in complaints if line.strip()]
    told.complaint = lines[-1] if lines else f"exit code {process.returncode}"
    told.is_late = alarm.has_rung and not any("end" in message for message in told.messages)
    return told


def _environment() -> dict[str, str]:
    """Let workers find the functions that the tasks call, and Parsl the commands installed beside this Python."""
    paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))
    commands = (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PATH": os.pathsep.join(commands),
    }


def _listen(process: subprocess.Popen[str], alarm: _Alarm, told: _Told, mode: Mode, limits: Limits) -> None:
    assert process.stdout is not None
    scales: Scales | None = None
    alarm.set(MAX_STARTING_SECONDS)
    for line in process.stdout:
        if not line.startswith("{"):
            continue
        message = json.loads(line)
        told.messages.append(message)
        if "end" in message:
            break
        alarm.set(limits.max_seconds)
        if "ready" in message and mode is Mode.MEMORY:
            scales = Scales(process.pid)
    if scales is not None:
        scales.stop()
        told.peak_bytes = scales.peak_bytes
    alarm.stop()
    try:
        process.wait(MAX_CLOSING_SECONDS)
    except subprocess.TimeoutExpired:
        # What does not end by itself is ended by the caller.
        return
