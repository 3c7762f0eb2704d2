"""A bare loop over a thread pool: what Python itself asks for the same graphs, without any workflow system."""

import platform
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from bench.workflow.functions import Broken, combine, fail, fall_back
from bench.workflow.graphs import Graph
from bench.workflow.systems.system import Running


class PoolLoopRunning:
    """A thread pool and a queue of what is done."""

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers)

    def run(self, graph: Graph) -> list[int]:
        """Submit what has all its arguments, and again whenever something is done."""
        missing = [len(sources) for sources in graph.sources]
        waiting: list[list[int]] = [[] for _ in missing]
        for task, sources in enumerate(graph.sources):
            for source in sources:
                waiting[source].append(task)
        values: dict[int, int] = {}
        done: SimpleQueue[tuple[int, Future[int]]] = SimpleQueue()

        def submit(task: int) -> None:
            arguments = [values[source] for source in graph.sources[task]]
            future = self._pool.submit(combine, task, *arguments)
            future.add_done_callback(lambda ended: done.put((task, ended)))

        for task, count in enumerate(missing):
            if not count:
                submit(task)
        while len(values) < len(missing):
            task, future = done.get()
            values[task] = future.result()
            for later in waiting[task]:
                missing[later] -= 1
                if not missing[later]:
                    submit(later)
        return [values[sink] for sink in graph.sinks]

    def recover(self, mark: str, answer: int) -> tuple[int, float]:
        """Catch the failure by hand."""
        try:
            value = self._pool.submit(fail, mark).result()
        except Broken:
            value = self._pool.submit(fall_back, answer).result()
        return value, time.perf_counter()

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


class PoolLoop:
    """`concurrent.futures` and nothing else."""

    title = "bare loop, threads"
    family = "solvent"

    def absence(self) -> str | None:
        """It is always here."""
        return None

    def version(self) -> str:
        """Give Python's version."""
        return platform.python_version()

    def start(self, workers: int, folder: Path) -> Running:  # noqa: ARG002 - it leaves no files
        """Make the pool."""
        return PoolLoopRunning(workers)
