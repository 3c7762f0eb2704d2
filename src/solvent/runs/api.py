"""Runs a workflow from Python: what `solvent.run` is.

    report = solvent.run(pipeline, {"url": "http://localhost/"}, jobs=8)
    print(report.results)

It takes what `@workflow` makes, or the model itself, checks it as `solvent run` does, and returns the report. A run
that does not succeed raises `RunFailed`, which has the report; with `check=False` the report is returned.
"""

from __future__ import annotations

from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse
from solvent.hocl.process_settings import interruptible
from solvent.runs.report import succeeded
from solvent.workflows.checks import check as problems_of
from solvent.workflows.model import Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from solvent.runs.report import Event, Report
    from solvent.services import Processes
    from solvent.workflows.formats.python.callables import WorkflowFunction


def run(
    workflow: Workflow | WorkflowFunction[..., Any],
    inputs: Mapping[str, Any] | None = None,
    *,
    jobs: int | None = None,
    processes: bool | Processes = False,
    executor: Executor | None = None,
    folder: str | Path | None = None,
    signals: Sequence[tuple[float, str, Any]] = (),
    max_seconds: float | None = None,
    watch: Callable[[Event], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    check: bool = True,
) -> Report:
    """Run a workflow in this process until nothing more can happen, and return its `Report`.

    - `workflow`: what `@workflow` made, or a model (`Workflow`).
    - `inputs`: values for its inputs; those with a default may be left out.
    - `jobs`: how many threads (default: cores + 4, at most 32) or worker processes (default: cores) run Python
      functions.
    - `processes`: `True` runs Python functions in worker processes that end with the run; a `Processes` pool can be
      shared by runs.
    - `executor`: any `concurrent.futures.Executor` for the Python functions; it stays open.
    - `folder`: where the files that the workflow names are; the current folder by default.
    - `signals`: signals from outside, each with the seconds from the start, the name and the value.
    - `max_seconds`: stop after that time.
    - `watch`: called with each `Event`, one at a time, from any thread of the run.
    - `should_stop`: called now and then, likewise; the run stops when it returns true.

    - `check`: if false, return the report of a run that did not succeed instead of raising `RunFailed`; its `failures`,
      `stuck` and `error` (`LimitReached`, `Interrupted` or `ReactionFailed`) say why.

    Raises `RunFailed` from the exception of the task that failed. Raises `WorkflowProblem` before anything is called if
    the workflow or its inputs are wrong; `ProgramError` if a program that it calls is; `Misuse` (H304, H314, H316) for
    a program that cannot be read, something that is no workflow, or a signal that no task waits for;
    `KeyboardInterrupt` after Ctrl-C, when running calls have ended.

    >>> from solvent import attempt, run, service, workflow
    >>> number, length = service(int), service(len)
    >>> @workflow
    ... def measure(text: str) -> int:
    ...     return attempt(number(text), otherwise=length(text))
    >>> report = run(measure, {"text": "seven"}, jobs=2)
    >>> report.succeeded, report.results
    (True, {'int': 5})
    >>> report.adaptations[0]["cause"]
    "FAILED: ValueError: invalid literal for int() with base 10: 'seven'"
    """
    from solvent.runs.embedded import EmbeddedRun

    definition = _definition_of(workflow)
    if problems := problems_of(definition):
        raise problems[0]
    interrupted = Flag()
    with interruptible(interrupted.set):
        embedded = EmbeddedRun(
            definition,
            inputs,
            jobs=jobs,
            processes=processes,
            executor=executor,
            folder=None if folder is None else Path(folder),
            max_seconds=max_seconds,
            watch=watch,
            should_stop=lambda: interrupted.is_set() or (should_stop is not None and should_stop()),
            signals=signals,
        )
        report = embedded.run()
        embedded.execution.dissolve()
    if interrupted.is_set():
        raise KeyboardInterrupt
    return succeeded(report, embedded.execution.errors) if check else report


def _definition_of(workflow: object) -> Workflow:
    """Give the model of what may be one or may make one."""
    if isinstance(workflow, Workflow):
        return workflow
    define = getattr(workflow, "definition", None)
    found = define() if callable(define) else None
    if not isinstance(found, Workflow):
        message = f"`solvent.run` runs workflows, and this is a {type(workflow).__name__}"
        raise Misuse("H314", message, hint="give it a function under @workflow, or `load_python(FILE)`")
    return found


__all__ = ["run"]
