"""Every benchmark runs at its smallest size, so that none can rot unseen; what it measures is not looked at.

Engines to compare with that are not installed are left out by the benchmarks themselves.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_SECONDS = 250
BENCHMARKS = {
    "bench": "max",
    "bench.agents.faults": "an agent killed",
    "bench.agents.speed": "SQLite",
    "bench.agents.spread": "SQLite",
    "bench.handover.data": "Solvent: a fetch",
    "bench.handover.locks": "Solvent, a handle without data",
    "bench.handover.workflow": "a sweep",
    "bench.memory": "bytes_each",
    "bench.patterns": "multi-merge",
    "bench.protocols.capture": "10,000 nodes",
    "bench.protocols.live": "Solvent",
    "bench.protocols.simulator": "discrete",
    "bench.protocols.token": "Solvent, a ring",
    "bench.recording.overhead": "on disk",
    "bench.recording.update": "replay",
    "bench.rules": "rules",
    "bench.store.appends": "SQLite store",
    "bench.startup": "solvent run",
    "bench.workflow": "Solvent, processes",
}
"""Module to what its report says of Solvent."""
# The other engines take longer than all the rest; a few of Solvent's rows are enough to see that they run.
OPTIONS = {"bench": ("--systems", "hand,solvent"), "bench.workflow": ("--systems", "solvent,solvent-processes")}
_STARTED = re.compile(r'^if __name__ == "__main__":', re.MULTILINE)
# They are started by benchmarks.
_WORKERS = {"bench.worker", "bench.patterns.worker", "bench.workflow.worker"}
_WORKERS |= {"bench.protocols.redis_worker", "bench.protocols.token_worker"}


def _run(module: str, *options: str) -> tuple[int, str]:
    """Run a benchmark; give its exit code and all that it printed. Nothing that it has started outlives it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))), "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", module, "--smallest", *options],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=MAX_SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode, printed


def test_every_benchmark_is_run_here() -> None:
    """Each module of `bench` that can be started is a benchmark of this file, or a process that one starts."""
    started = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
        for file in (ROOT / "bench").rglob("*.py")
        if _STARTED.search(file.read_text(encoding="utf-8"))
    }
    assert started - _WORKERS == set(BENCHMARKS)


@pytest.mark.parametrize("module", BENCHMARKS)
def test_benchmark_runs_at_its_smallest_size(module: str) -> None:
    """At its smallest size a benchmark ends with 0, which means that Solvent did its part, and reports on Solvent."""
    code, printed = _run(module, *OPTIONS.get(module, ()))
    assert code == 0, printed
    assert BENCHMARKS[module] in printed
