"""A workflow with and without a record: `python -m bench.recording.overhead`.

A graph in layers whose tasks do nothing is run in this process: not recorded, recorded, and recorded such that every
answer and every call is on disk before what rests on it is done. All that `solvent run` does for a record counts: the
entry in the register, the journal, the end. The ways take turns in rounds; what is judged is the median of the ratios
of the rounds, since what else goes on at the machine is much the same within one. Beside it stand the ratio of the
fastest rounds and that of the processor's time, which do not depend on it so much: where they differ widely, the
machine was busy.

Demanded: on disk, 10,000 tasks take at most 1.5 times as long as without a record.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from rich.table import Table

from bench.options import read_options
from bench.report import console_for_output
from bench.workflow.functions import combine
from bench.workflow.graphs import SHAPES, Graph, evaluate
from solvent.hocl.process_settings import few_collections
from solvent.runs.embedded import EmbeddedRun
from solvent.runs.recorded_run import new_run
from solvent.runs.registry import journal_of
from solvent.store import open_store
from solvent.workflows.model import Result, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from solvent.store import Store

SIZES = (100, 1_000, 10_000)
WAYS = ("not recorded", "recorded", "on disk")
MAX_RATIO = 1.5
JUDGED = 10_000


def workflow_of(graph: Graph) -> Workflow:
    """Make the workflow of a graph."""
    names = [f"T{task}" for task in range(len(graph.sources))]
    tasks = tuple(
        Task(names[task], "combine", (Value(task), *(Result(names[source]) for source in sources)))
        for task, sources in enumerate(graph.sources)
    )
    return Workflow("graph", tasks, (Service("combine", function=combine),))


class Round(NamedTuple):
    """One run: the seconds, those of the processor, and the records that were written."""

    seconds: float
    processor: float
    records: int


def run_once(workflow: Workflow, expected: list[int], store: Store | None) -> Round:
    """Run a workflow."""
    gc.collect()
    began, used = time.perf_counter(), time.process_time()
    count = 0
    with few_collections():
        if store is None:
            run = EmbeddedRun(workflow)
            report = run.run()
        else:
            held = new_run(store, workflow)
            run = EmbeddedRun(workflow, None, journal=held.journal, should_stop=held.should_stop)
            held.open()
            report = run.run()
            held.end(report)
        run.execution.dissolve()
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    if [report.results[name] for name in workflow.outcomes] != expected:
        raise SystemExit("the results are wrong")
    if store is not None:
        count = len(store.read(journal_of(held.record.run), 0, 10**9))
    return Round(seconds, processor, count)


def measure(shape: str, size: int, rounds: int, folder: Path) -> dict[str, list[Round]]:
    """Run all ways in turns."""
    graph = SHAPES[shape].make(size)
    workflow, expected = workflow_of(graph), evaluate(graph)
    found: dict[str, list[Round]] = {way: [] for way in WAYS}
    with (
        open_store(str(folder / f"{shape}{size}.db"), is_durable=False) as fast,
        open_store(str(folder / f"{shape}{size}-on-disk.db"), is_durable=True) as durable,
    ):
        stores = dict(zip(WAYS, (None, fast, durable), strict=True))
        for number in range(rounds + 1):
            for way in WAYS:
                one = run_once(workflow, expected, stores[way])
                if number:
                    found[way].append(one)
    return found


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description="What it costs that a run of a workflow is recorded.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--shape", choices=SHAPES, default="layers")
    parser.add_argument("--folder", type=Path, help="where the stores are made (default: a temporary folder)")
    options = read_options(parser, rounds=1, sizes=[10])
    table = Table(title=f"A workflow of tasks that do nothing ({SHAPES[options.shape].title}), seconds")
    for column in ("tasks", *WAYS, "ratio", "on disk", "fastest", "processor", "records"):
        table.add_column(column, justify="right")
    ratios: dict[int, float] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for size in options.sizes:
            found = measure(options.shape, size, options.rounds, Path(folder))
            plain, on_disk = found[WAYS[0]], found[WAYS[2]]
            pairs = list(zip(on_disk, plain, strict=True))
            ratios[size] = median(one.seconds / base.seconds for one, base in pairs)
            fast = median(one.seconds / base.seconds for one, base in zip(found[WAYS[1]], plain, strict=True))
            best = min(on_disk).seconds / min(plain).seconds
            processor = median(one.processor / base.processor for one, base in pairs)
            times = [f"{median(one.seconds for one in found[way]):.3f}" for way in WAYS]
            shares = [f"{one:.2f}" for one in (fast, ratios[size], best, processor)]
            table.add_row(f"{size:,}", *times, *shares, f"{on_disk[-1].records:,}")
    console = console_for_output()
    console.print(table)
    if JUDGED not in ratios:
        return 0
    holds = ratios[JUDGED] <= MAX_RATIO
    said = "holds" if holds else "is missed"
    console.print(
        f"{JUDGED:,} tasks recorded on disk: {ratios[JUDGED]:.2f} times the time, at most {MAX_RATIO}: {said}"
    )
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
