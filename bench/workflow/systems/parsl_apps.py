"""Parsl: each function is a `python_app`, futures are passed as arguments.

Two executors: threads in this process, and the high-throughput executor, whose interchange and workers are
processes on this machine. Monitoring, usage tracking, scaling and encryption are off: they cost time. So is the log,
which Parsl writes unless told otherwise and which takes most of the time of a no-op task; `ParslLogging` keeps it.
"""

import importlib
import time
from pathlib import Path
from typing import Any

from bench.workflow.functions import Broken, combine, fail, fall_back
from bench.workflow.graphs import Graph
from bench.workflow.systems.system import Packaged, Running


class ParslRunning:
    """A loaded configuration with its apps."""

    def __init__(self, executor: Any, folder: Path, *, has_log: bool = False) -> None:
        parsl: Any = importlib.import_module("parsl")
        config: Any = importlib.import_module("parsl.config")
        self._kernel = parsl.load(
            config.Config(
                executors=[executor],
                strategy="none",
                run_dir=str(folder),
                initialize_logging=has_log,
                usage_tracking=0,
            )
        )
        self._combine = parsl.python_app(combine, data_flow_kernel=self._kernel)
        self._fail = parsl.python_app(fail, data_flow_kernel=self._kernel)
        self._fall_back = parsl.python_app(fall_back, data_flow_kernel=self._kernel)

    def run(self, graph: Graph) -> list[int]:
        """Call every app; Parsl waits for the futures among the arguments."""
        app = self._combine
        futures: list[Any] = []
        for task, sources in enumerate(graph.sources):
            futures.append(app(task, *[futures[source] for source in sources]))
        return [futures[sink].result() for sink in graph.sinks]

    def recover(self, mark: str, answer: int) -> tuple[int, float]:
        """Catch the failure by hand."""
        try:
            value: int = self._fail(mark).result()
        except Broken:
            value = self._fall_back(answer).result()
        return value, time.perf_counter()

    def close(self) -> None:
        """End threads, interchange and workers."""
        self._kernel.cleanup()


class ParslThreads(Packaged):
    """Parsl with threads, as fast as it can be."""

    title = "Parsl, threads, no log"
    family = "solvent"
    package = "parsl"
    has_log = False

    def start(self, workers: int, folder: Path) -> Running:
        """Load a thread pool."""
        threads: Any = importlib.import_module("parsl.executors.threads")
        return ParslRunning(threads.ThreadPoolExecutor(max_threads=workers), folder, has_log=self.has_log)


class ParslLogging(ParslThreads):
    """Parsl with threads and the log that it writes by default."""

    title = "Parsl, threads"
    has_log = True


class ParslProcesses(Packaged):
    """Parsl with worker processes."""

    title = "Parsl, HTEX"
    family = "solvent-processes"
    package = "parsl"

    def start(self, workers: int, folder: Path) -> Running:
        """Load an executor with one block of workers on this machine."""
        executors: Any = importlib.import_module("parsl.executors")
        providers: Any = importlib.import_module("parsl.providers")
        executor = executors.HighThroughputExecutor(
            address="127.0.0.1",
            loopback_address="127.0.0.1",
            max_workers_per_node=workers,
            provider=providers.LocalProvider(init_blocks=1, min_blocks=1, max_blocks=1),
            encrypted=False,
        )
        return ParslRunning(executor, folder)
