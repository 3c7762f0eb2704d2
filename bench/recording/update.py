"""How long it takes to plan and write a further version of a run: `python -m bench.recording.update`.

A graph whose tasks do nothing has been run and recorded. Its replay, and an update to the same workflow but for one
task's code, take turns. Judged is the median of the ratios of the rounds, in the processor's time.

Demanded: an update of 10,000 tasks takes at most twice its replay.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.table import Table

from bench.options import read_options
from bench.recording.overhead import JUDGED, workflow_of
from bench.report import console_for_output
from bench.workflow.functions import combine
from bench.workflow.graphs import SHAPES
from solvent.runs.embedded import EmbeddedRun
from solvent.runs.recorded_run import new_run
from solvent.runs.registry import existing
from solvent.runs.replay import Replay
from solvent.runs.versions import apply, plan_update
from solvent.store import open_store
from solvent.workflows.model import Service

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (100, 1_000, 10_000)
MAX_RATIO = 2.0


def combine_again(*values: int) -> int:
    """Do what `combine` does, by other code."""
    return combine(*values)


def seconds_of(do: Callable[[], object]) -> float:
    """Return the seconds of the processor that something takes."""
    gc.collect()
    began = time.process_time()
    do()
    return time.process_time() - began


def measure(shape: str, size: int, rounds: int, folder: Path) -> list[tuple[float, float]]:
    """Return the seconds of a replay and of an update, of each round."""
    workflow = workflow_of(SHAPES[shape].make(size))
    last = replace(workflow.tasks[-1], service="other")
    services = (*workflow.services, Service("other", function=combine_again))
    changed = replace(workflow, tasks=(*workflow.tasks[:-1], last), services=services)
    found = []
    with open_store(str(folder / f"{shape}{size}.db"), is_durable=False) as store:
        for _ in range(rounds):
            held = new_run(store, workflow)
            run = EmbeddedRun(workflow, None, journal=held.journal)
            held.open()
            held.end(run.run())
            record = existing(store, held.record.run)

            def update() -> None:
                planned = plan_update(store, record, changed)  # noqa: B023 - it is called at once
                if (planned.kept, planned.again) != (size - 1, 1):
                    raise SystemExit(f"it keeps too little: {planned}")
                apply(store, planned)

            replayed = seconds_of(Replay(store, record, workflow).run)
            found.append((replayed, seconds_of(update)))
    return found


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description="How long an update of a run takes, and a replay.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--shape", choices=SHAPES, default="layers")
    options = read_options(parser, rounds=1, sizes=[10])
    table = Table(title=f"An update of a run ({SHAPES[options.shape].title}), seconds of the processor")
    for column in ("tasks", "replay", "update", "ratio"):
        table.add_column(column, justify="right")
    ratios: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            found = measure(options.shape, size, options.rounds, Path(folder))
            ratios[size] = median(update / replay for replay, update in found)
            times = [f"{median(column):.3f}" for column in zip(*found, strict=True)]
            table.add_row(f"{size:,}", *times, f"{ratios[size]:.2f}")
    console = console_for_output()
    console.print(table)
    if JUDGED not in ratios:
        return 0
    holds = ratios[JUDGED] <= MAX_RATIO
    said = "holds" if holds else "is missed"
    console.print(f"{JUDGED:,} tasks: {ratios[JUDGED]:.2f} times the replay, at most {MAX_RATIO}: {said}")
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
