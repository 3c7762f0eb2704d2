"""Solvent: the graph becomes a `Workflow` of Python tasks, run in this process with threads or worker processes."""

import importlib
import time
from pathlib import Path
from typing import Any

from bench.workflow.functions import combine, fail, fall_back
from bench.workflow.graphs import Graph
from bench.workflow.systems.system import Packaged, Running


class SolventRunning:
    """The runner, with its number of threads or processes."""

    def __init__(self, workers: int, *, processes: bool) -> None:
        self._model: Any = importlib.import_module("solvent.workflows.model")
        self._solvent: Any = importlib.import_module("solvent")
        self._workers = workers
        services: Any = importlib.import_module("solvent.services")
        self._processes = services.Processes(workers) if processes else False
        self._combine = self._model.Service("combine", function=combine)
        self._fail = self._model.Service("fail", function=fail)
        self._fall_back = self._model.Service("fall_back", function=fall_back)

    def run(self, graph: Graph) -> list[int]:
        """Build the workflow and run it."""
        model = self._model
        names = [f"T{task}" for task in range(len(graph.sources))]
        tasks = tuple(
            model.Task(name, "combine", (model.Value(task), *[model.Result(names[source]) for source in sources]))
            for task, (name, sources) in enumerate(zip(names, graph.sources, strict=True))
        )
        results = self._results_of(model.Workflow("graph", tasks, (self._combine,)))
        return [results[names[sink]] for sink in graph.sinks]

    def recover(self, mark: str, answer: int) -> tuple[int, float]:
        """Declare an alternative; its result is there when its task is done, the run ends a little later."""
        model = self._model
        tasks = (
            model.Task("work", "fail", (model.Value(mark),)),
            model.Task("spare", "fall_back", (model.Value(answer),)),
        )
        alternative = model.Alternative("fallback", exits={"work": "spare"})
        workflow = model.Workflow("recovery", tasks, (self._fail, self._fall_back), (alternative,))
        moments: list[float] = []

        def note(event: Any) -> None:
            if event.kind == "done":
                moments.append(time.perf_counter())

        value: int = self._results_of(workflow, watch=note)["work"]
        return value, moments[-1]

    def close(self) -> None:
        """End the worker processes."""
        if self._processes:
            self._processes.close()

    def _results_of(self, workflow: Any, **options: Any) -> dict[str, Any]:
        report = self._solvent.run(workflow, jobs=self._workers, processes=self._processes, **options)
        results: dict[str, Any] = report.results
        return results


class SolventThreads(Packaged):
    """Solvent with threads."""

    title = "Solvent, threads"
    family = "solvent"
    package = "solvent"

    def start(self, workers: int, folder: Path) -> Running:  # noqa: ARG002 - it leaves no files
        """Import what is needed."""
        return SolventRunning(workers, processes=False)


class SolventProcesses(SolventThreads):
    """Solvent with worker processes."""

    title = "Solvent, processes"
    family = "solvent-processes"

    def start(self, workers: int, folder: Path) -> Running:  # noqa: ARG002 - it leaves no files
        """Import what is needed."""
        return SolventRunning(workers, processes=True)
