"""Dask distributed: `client.submit` on a cluster of local processes, futures as arguments.

Submitting a whole graph at once (`dask.delayed`, `client.get`) was tried too and is slower for no-op tasks. Tasks are
submitted as impure, because Dask would otherwise hash every argument. The dashboard is off.
"""

import importlib
import logging
import time
from pathlib import Path
from typing import Any

from bench.workflow.functions import Broken, combine, fail, fall_back
from bench.workflow.graphs import Graph
from bench.workflow.systems.system import Packaged, Running


class DaskRunning:
    """A scheduler in this process, workers of one thread each in others, and a client."""

    def __init__(self, workers: int, folder: Path) -> None:
        distributed: Any = importlib.import_module("distributed")
        self._cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=str(folder),
            silence_logs=logging.CRITICAL,
        )
        self._client = distributed.Client(self._cluster)
        self._client.wait_for_workers(workers)

    def run(self, graph: Graph) -> list[int]:
        """Submit every task, and gather the sinks."""
        submit = self._client.submit
        futures: list[Any] = []
        for task, sources in enumerate(graph.sources):
            futures.append(submit(combine, task, *[futures[source] for source in sources], pure=False))
        results: list[int] = self._client.gather([futures[sink] for sink in graph.sinks])
        return results

    def recover(self, mark: str, answer: int) -> tuple[int, float]:
        """Catch the failure by hand."""
        try:
            value: int = self._client.submit(fail, mark, pure=False).result()
        except Broken:
            value = self._client.submit(fall_back, answer, pure=False).result()
        return value, time.perf_counter()

    def close(self) -> None:
        """End client and cluster."""
        self._client.close()
        self._cluster.close()


class Dask(Packaged):
    """Dask distributed with worker processes."""

    title = "Dask distributed"
    family = "solvent-processes"
    package = "distributed"

    def start(self, workers: int, folder: Path) -> Running:
        """Start a local cluster."""
        return DaskRunning(workers, folder)
