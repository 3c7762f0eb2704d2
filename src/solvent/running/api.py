"""Runs a workflow from Python: what `solvent.run_workflow` is.

    report = solvent.run_workflow(pipeline, {"url": "http://localhost/"}, jobs=8)
    print(report.results)

It takes what `@workflow` makes, or the model itself, checks it as `solvent run` does, and gives the report of the run.
A task that fails is no exception: the report says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse
from solvent.workflow.checks import check
from solvent.workflow.model import Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from solvent.running.report import Event, Report
    from solvent.services import Processes
    from solvent.workflow.callables import WorkflowFunction


def run_workflow(
    workflow: Workflow | WorkflowFunction[..., Any],
    inputs: Mapping[str, Any] | None = None,
    *,
    jobs: int | None = None,
    processes: bool | Processes = False,
    executor: Executor | None = None,
    folder: str | Path | None = None,
    signals: Sequence[tuple[float, str, Any]] = (),
    seconds_max: float | None = None,
    watch: Callable[[Event], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Report:
    """Run a workflow in this process until nothing more can happen, and report.

    A signal from outside is when it comes, in seconds from the start, its name, and what comes with it.
    """
    from solvent.running.making import run_workflow as run

    definition = _definition_of(workflow)
    problems = check(definition)
    if problems:
        raise problems[0]
    return run(
        definition,
        inputs,
        jobs=jobs,
        processes=processes,
        executor=executor,
        folder=None if folder is None else Path(folder),
        seconds_max=seconds_max,
        watch=watch,
        should_stop=should_stop,
        **signal_options(definition, signals),
    )


def signal_options(workflow: Workflow, signals: Sequence[tuple[float, str, Any]]) -> dict[str, Any]:
    """Give the options of a run that signals come to; a workflow whose tasks wait for none refuses them."""
    if not signals:
        return {}
    if not workflow.is_controlled:
        message = f"no task of `{workflow.name}` waits for the signal `{signals[0][1]}`"
        raise Misuse("H316", message, hint="it has no signals")
    return {"signals": signals}


def _definition_of(workflow: object) -> Workflow:
    """Give the model of what may be one or may make one."""
    if isinstance(workflow, Workflow):
        return workflow
    define = getattr(workflow, "definition", None)
    found = define() if callable(define) else None
    if not isinstance(found, Workflow):
        message = f"`run_workflow` runs workflows, and this is a {type(workflow).__name__}"
        raise Misuse("H314", message, hint="give it a function under @workflow, or `load_python(FILE)`")
    return found


__all__ = ["run_workflow", "signal_options"]
