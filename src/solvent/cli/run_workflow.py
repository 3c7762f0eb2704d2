"""`solvent run` with a workflow: load it, run it with a live view, and report how it ended.

0  done     1  a task failed, the run was cancelled, or a task waits for ever     2  bad input
3  a limit was reached     130  Ctrl-C

What happens is recorded (see `records`), so that `solvent resume` can continue a run that was stopped.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from solvent.cli.breakpoints import breakpoints
from solvent.cli.interrupt import raise_if_interrupted
from solvent.cli.live import view_for
from solvent.cli.progress import Watch, prints_to_standard_error
from solvent.cli.records import add_store_to_hint, begin_record, tell_how_to_resume
from solvent.cli.render import complain, write_reaction
from solvent.cli.report import write_report, write_trace
from solvent.cli.spans import tracing_for
from solvent.cli.workflows import (
    folder_of,
    inputs_of,
    load_sound,
    load_workflow_to_run,
    refuse,
    refuse_for_workflow,
    show_problems,
)
from solvent.errors import INTERRUPTED, LimitReached, Misuse, RecordProblem, SolventError
from solvent.runs.embedded import EmbeddedRun
from solvent.runs.functions import FUNCTIONS
from solvent.runs.report import problem_of, state_of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.engine.reaction import Flight, Reaction
    from solvent.engine.trace import Recorder
    from solvent.lang.solution import Solution
    from solvent.runs.observing.tracing import RunTrace
    from solvent.runs.recorded_run import RecordedRun
    from solvent.runs.report import Report
    from solvent.workflows.model import Workflow
    from solvent.workflows.places import Loaded

_FOR_PROGRAMS = ("seed", "max_reactions", "stats", "save", "functions")
_FOR_RECORDS = ("store", "name", "no_record", "no_sync")


def run_workflow(options: Namespace) -> int:
    """Run the workflow that the options name."""
    refuse_for_workflow(options, _FOR_PROGRAMS)
    said = f"is for concrete workflows, and `{options.file}` has services of its own"
    refuse(options, ("services",), said)
    loaded = load_workflow_to_run(options.file, scale=options.scale)
    with _all_problems_of_services(loaded, folder_of(options.file)):
        inputs = inputs_of(options, loaded.workflow)
        held = begin_record(options, loaded.workflow, inputs)
        try:
            return execute(loaded.workflow, folder_of(options.file), options, inputs=inputs, held=held)
        finally:
            if held is not None:
                held.store.close()


def run_concrete(options: Namespace) -> int:
    """Run a concrete workflow, a program that calls the services of another file."""
    from solvent.hocl.program import load

    refuse(options, _FOR_PROGRAMS, "cannot be used with --services")
    refuse(options, _FOR_RECORDS, "has no effect here: a run of a concrete workflow is not recorded")
    refuse(options, ("input",), "has no effect here: a concrete workflow has its inputs already")
    if options.file == "-":
        raise Misuse(
            "H304",
            "a concrete workflow cannot be read from standard input",
            hint="name its file: `solvent run FILE --services WORKFLOW`",
        )
    solution = load(options.file, functions=FUNCTIONS).solution()
    loaded = load_sound(options.services, scale=options.scale)
    with _all_problems_of_services(loaded, folder_of(options.services)):
        return execute(loaded.workflow, folder_of(options.services), options, solution=solution)


@contextmanager
def _all_problems_of_services(loaded: Loaded, folder: Path) -> Iterator[None]:
    """Show all services that cannot be called, with their places in the file."""
    try:
        yield
    except SolventError as error:
        from solvent.runs.inspection import service_problems

        # A run ends at the first one; the others are looked for only now, so that a sound workflow does not pay.
        found = service_problems(loaded, folder)
        if not any(one.code == error.code for one in found):
            raise
        show_problems(found)
        raise SystemExit(2) from error


def execute(
    workflow: Workflow,
    folder: Path,
    options: Namespace,
    *,
    inputs: dict[str, Any] | None = None,
    solution: Solution | None = None,
    held: RecordedRun | None = None,
) -> int:
    """Run a workflow with a live view, recorded if it is `held`, and report how it ended."""
    try:
        tracing = tracing_for(options, tell=lambda said: complain(f"warning: spans: {said}"))
    except SolventError as error:
        _let_go(held, error, options)
        raise
    trace = None
    if tracing is not None:
        known = None if held is None else (held.record.run, workflow.name, held.record.created)
        trace = tracing.run_alone(workflow.name) if known is None else tracing.run(*known)
    try:
        return _execute(workflow, folder, options, trace, inputs=inputs, solution=solution, held=held)
    finally:
        # At the end, because this waits for the receiver of the spans, which may be missing.
        if tracing is not None:
            tracing.close()


def _execute(
    workflow: Workflow,
    folder: Path,
    options: Namespace,
    trace: RunTrace | None,
    *,
    inputs: dict[str, Any] | None,
    solution: Solution | None,
    held: RecordedRun | None,
) -> int:
    from datetime import UTC, datetime

    view = view_for(workflow, options, run="" if held is None else held.record.run)
    view.explains = getattr(options, "explain", False)
    tracer = Tracer() if options.trace else None
    began = datetime.now(UTC)
    try:
        raise_if_interrupted()
        with Watch() as watch:
            embed = EmbeddedRun if held is None else held.embed
            run = embed(
                workflow,
                inputs,
                jobs=options.jobs,
                processes=options.processes,
                folder=folder,
                solution=solution,
                max_seconds=options.max_seconds,
                deadline=options.deadline,
                watch=view.take,
                observe=tracer,
                observer=trace,
                should_stop=watch.should_stop,
                signals=options.signal,
            )
            if tracer is not None:
                tracer.begin(run.solution)
            if held is not None:
                held.tell = view.go_on
            with prints_to_standard_error(), view, breakpoints(view):
                report = run.run() if held is None else held.execute(run)
            workflow = run.execution.workflow
            view.end(report)
            if trace is not None:
                trace.end(state_of(report), problem_of(report))
    except KeyboardInterrupt as error:
        complain("interrupted")
        _let_go(held, error, options)
        return INTERRUPTED
    except BaseException as error:
        _let_go(held, error, options)
        raise
    # Written first: printing may fail where the reader has gone away.
    try:
        if options.wfformat is not None:
            write_trace(workflow, report, began, options.wfformat)
    finally:
        _tell(workflow, report, options, held)
        if held is not None and options.log_format != "json" and not held.record.has_ended:
            tell_how_to_resume(held, options)
    return exit_code(report)


def _let_go(held: RecordedRun | None, error: BaseException, options: Namespace) -> None:
    """Release a run that an error has ended; delete one that could not begin."""
    if held is None:
        return
    if isinstance(error, RecordProblem):
        add_store_to_hint(error, options)
    if held.give_up(error):
        tell_how_to_resume(held, options)


def _tell(workflow: Workflow, report: Report, options: Namespace, held: RecordedRun | None) -> None:
    if held is not None and held.journal.begun:
        from solvent.runs.projection import view_of

        report.called_again = view_of(held.store, held.record).called_again
    write_report(workflow, report, options, run="" if held is None else held.record.run)


def exit_code(report: Report) -> int:
    """Return the exit code of a run."""
    if isinstance(report.error, LimitReached):
        return report.error.exit_code
    return 0 if report.succeeded else 1


class Tracer:
    """Writes every reaction to standard error."""

    at = 0.0

    def __init__(self) -> None:
        self.recorder: Recorder | None = None

    def begin(self, solution: Solution, _names: Any = None) -> None:
        """Look at the solution before anything has reacted."""
        from solvent.engine.trace import Recorder

        self.recorder = Recorder(solution)

    def __call__(self, reaction: Reaction) -> None:
        """Write a reaction."""
        assert self.recorder is not None
        self.recorder(reaction)
        write_reaction(self.recorder.records[-1], to=sys.stderr)

    def opened(self, *_: Any) -> bool:
        """Write nothing of sub-workflows."""
        return False

    def outside(self, _: Solution) -> None:
        """Write nothing of what comes from outside."""

    def called(self, _: Flight) -> None:
        """Write nothing of calls."""
