"""The measured child process: one system and one graph, or one system and its way out of a failure.

It prints JSON lines: `{"ready": …}` when the system is started and warm, with the memory that all of its processes
hold then; one `{"seconds": …}` for each run, quick ones being repeated; and `{"end": true}`. A wrong result ends it.

    python -m bench.workflow.worker SYSTEM time|memory SHAPE SIZE WORKERS FOLDER
    python -m bench.workflow.worker SYSTEM failure - COUNT WORKERS FOLDER
"""

import gc
import json
import os
import sys
import time
from pathlib import Path

from bench.workflow.graphs import SHAPES, Graph, evaluate, make_fan
from bench.workflow.processes import adopt_orphans, resident_bytes, tree
from bench.workflow.systems import SYSTEMS, Running

MAX_REPEATS = 7
MIN_REPEATS = 3
REPEAT_BELOW_SECONDS = 8.0
ENOUGH_SECONDS = 4.0
WARM_WIDTH = 50
WARM_FAILURES = 5
ANSWER = 42


class WrongResult(Exception):
    """A system gave other results than the plain evaluation."""


def say(**message: object) -> None:
    """Print one line for the parent, at once."""
    print(json.dumps(message), flush=True)


def run_once(running: Running, graph: Graph, expected: list[int]) -> float:
    """Run a graph and check its results; give the seconds from the first submission to the last result."""
    gc.collect()
    start = time.perf_counter()
    results = running.run(graph)
    seconds = time.perf_counter() - start
    if results != expected:
        differing = sum(1 for found, right in zip(results, expected, strict=False) if found != right)
        message = f"{len(results)} results for {len(expected)}, {differing} of them wrong"
        raise WrongResult(message)
    return seconds


def measure_times(running: Running, graph: Graph, *, max_repeats: int) -> None:
    """Run the graph, and again until there are enough runs or enough time is measured."""
    expected = evaluate(graph)
    total, count = 0.0, 0
    while count < max_repeats and (count < MIN_REPEATS or total < ENOUGH_SECONDS):
        seconds = run_once(running, graph, expected)
        say(seconds=seconds)
        total += seconds
        count += 1
        if seconds >= REPEAT_BELOW_SECONDS:
            return


def measure_failures(running: Running, count: int, mark: Path) -> None:
    """Fail and recover; give the seconds from the exception to the other result."""
    for attempt in range(WARM_FAILURES + count):
        value, now = running.recover(str(mark), ANSWER)
        if value != ANSWER:
            message = f"{value!r} after a failure"
            raise WrongResult(message)
        if attempt >= WARM_FAILURES:
            say(seconds=now - float(mark.read_text(encoding="ascii")))


def main(arguments: list[str]) -> None:
    """Measure one cell."""
    name, mode, shape, size, workers, folder = arguments
    adopt_orphans()
    running = SYSTEMS[name].start(int(workers), Path(folder))
    warm = make_fan(WARM_WIDTH)
    run_once(running, warm, evaluate(warm))
    say(ready=True, resident=sum(resident_bytes(process) for process in tree(os.getpid())))
    if mode == "failure":
        measure_failures(running, int(size), Path(folder) / "mark")
    else:
        graph = SHAPES[shape].make(int(size))
        measure_times(running, graph, max_repeats=1 if mode == "memory" else MAX_REPEATS)
    say(end=True)
    running.close()


if __name__ == "__main__":
    main(sys.argv[1:])
