"""Ray: remote functions on this machine, object references as arguments. Dashboard and usage statistics are off."""

import importlib
import os
import time
from pathlib import Path
from typing import Any

from bench.workflow.functions import Broken, combine, fail, fall_back
from bench.workflow.graphs import Graph
from bench.workflow.systems.system import Packaged, Running

STORE_BYTES = 256 << 20


class RayRunning:
    """A Ray node of this process's own."""

    def __init__(self, workers: int, folder: Path) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        self._ray: Any = importlib.import_module("ray")
        self._ray.init(
            num_cpus=workers,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=STORE_BYTES,
            _temp_dir=str(folder),
        )
        self._combine = self._ray.remote(combine)
        self._fail = self._ray.remote(max_retries=0)(fail)
        self._fall_back = self._ray.remote(fall_back)

    def run(self, graph: Graph) -> list[int]:
        """Call every function remotely, and get the sinks."""
        remote = self._combine.remote
        references: list[Any] = []
        for task, sources in enumerate(graph.sources):
            references.append(remote(task, *[references[source] for source in sources]))
        results: list[int] = self._ray.get([references[sink] for sink in graph.sinks])
        return results

    def recover(self, mark: str, answer: int) -> tuple[int, float]:
        """Catch the failure by hand."""
        try:
            value: int = self._ray.get(self._fail.remote(mark))
        except Broken:
            value = self._ray.get(self._fall_back.remote(answer))
        return value, time.perf_counter()

    def close(self) -> None:
        """End the node."""
        self._ray.shutdown()


class Ray(Packaged):
    """Ray with worker processes."""

    title = "Ray"
    family = "solvent-processes"
    package = "ray"

    def start(self, workers: int, folder: Path) -> Running:
        """Start a node."""
        return RayRunning(workers, folder)
