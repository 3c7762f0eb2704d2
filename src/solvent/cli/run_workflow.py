"""`solvent run` with a workflow: load it, run it while it can be seen, and say how it ended.

0  done     1  a task failed, the case was cancelled, or something waits for ever     2  bad input
3  a limit was reached     130  Ctrl-C
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from solvent.cli.live import view_of
from solvent.cli.render import complain, write_reaction
from solvent.cli.summary import write_report_as_json, write_results, write_summary
from solvent.cli.watching import Watch, prints_to_standard_error
from solvent.cli.workflows import folder_of, inputs_of, load_sound, refuse, show_problems
from solvent.errors import LimitReached, Misuse, SolventError
from solvent.running.api import signal_options
from solvent.running.making import run_of
from solvent.running.workflow import FUNCTIONS

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from solvent.chemistry.solution import Solution
    from solvent.engine.reaction import Reaction
    from solvent.engine.trace import Recorder
    from solvent.running.report import Report
    from solvent.workflow.model import Workflow
    from solvent.workflow.places import Loaded

INTERRUPTED = 130
_FOR_PROGRAMS = ("seed", "reactions_max", "stats", "save", "functions")
_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


def run_workflow(options: Namespace) -> int:
    """Run the workflow that the options name."""
    refuse(options, (*_FOR_PROGRAMS, "services"), "is for programs, not for workflows")
    loaded = load_sound(options.file, scale=options.scale)
    with _all_problems_of_services(loaded, folder_of(options.file)):
        return _run(loaded.workflow, folder_of(options.file), options, inputs=inputs_of(options))


def run_concrete(options: Namespace) -> int:
    """Run a concrete workflow, a program that calls the services of another file."""
    from solvent.running.program import load

    refuse(options, _FOR_PROGRAMS, "does not go with --services")
    refuse(options, ("input",), "has no effect here: a concrete workflow has its inputs already")
    if options.file == "-":
        raise Misuse("H304", "a concrete workflow is read from a file, not from standard input")
    solution = load(options.file, functions=FUNCTIONS).solution()
    loaded = load_sound(options.services, scale=options.scale)
    with _all_problems_of_services(loaded, folder_of(options.services)):
        return _run(loaded.workflow, folder_of(options.services), options, solution=solution)


@contextmanager
def _all_problems_of_services(loaded: Loaded, folder: Path) -> Iterator[None]:
    """Let a service that cannot be called be shown with its place, and all others with it."""
    try:
        yield
    except SolventError as error:
        from solvent.cli.services import service_problems

        # A run ends at the first one; the others are looked for only now, so that a sound workflow does not pay.
        found = service_problems(loaded, folder)
        if not any(one.code == error.code for one in found):
            raise
        show_problems(found)
        raise SystemExit(2) from error


def _run(
    workflow: Workflow,
    folder: Path,
    options: Namespace,
    *,
    inputs: dict[str, Any] | None = None,
    solution: Solution | None = None,
) -> int:
    from datetime import UTC, datetime

    is_json = options.format == "json"
    view = view_of(workflow, is_quiet=options.trace or (is_json and not sys.stderr.isatty()))
    tracer = _Tracer() if options.trace else None
    began = datetime.now(UTC)
    try:
        with Watch() as watch:
            run = run_of(
                workflow,
                inputs,
                jobs=options.jobs,
                processes=options.processes,
                folder=folder,
                solution=solution,
                seconds_max=options.seconds_max,
                watch=view.take,
                observe=tracer,
                should_stop=watch.should_stop,
                **signal_options(workflow, options.signal),
            )
            if tracer is not None:
                tracer.begin(run.solution)
            with prints_to_standard_error(), view:
                report = run.run()
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    # Written first: printing may fail where the reader has gone away.
    try:
        if options.wfformat is not None:
            _export(workflow, report, began, options.wfformat)
    finally:
        _tell(workflow, report, is_json=is_json)
    return _exit_code(report)


def _tell(workflow: Workflow, report: Report, *, is_json: bool) -> None:
    if is_json:
        write_report_as_json(workflow, report)
    else:
        write_results(report)
        write_summary(workflow, report)
    sys.stdout.flush()


def _exit_code(report: Report) -> int:
    if isinstance(report.error, LimitReached):
        return INTERRUPTED if report.error.code == "H504" else report.error.exit_code
    return 0 if report.succeeded else 1


class _Tracer:
    """Writes every reaction to standard error."""

    def __init__(self) -> None:
        self.recorder: Recorder | None = None

    def begin(self, solution: Solution) -> None:
        """Look at the solution before anything has reacted."""
        from solvent.engine.trace import Recorder

        self.recorder = Recorder(solution)

    def __call__(self, reaction: Reaction) -> None:
        """Write a reaction."""
        assert self.recorder is not None
        self.recorder(reaction)
        write_reaction(self.recorder.records[-1], to=sys.stderr)


def _export(workflow: Workflow, report: Report, began: datetime, path: str) -> None:
    """Write the run as a trace in WfFormat."""
    import json
    import platform

    from solvent import __version__
    from solvent.running.saving import write_whole
    from solvent.workflow.wfformat import RunRecord, TaskRecord, export_run

    tasks = tuple(
        TaskRecord(name, one.started, one.ended, one.attempts, report.states.get(name, "waiting"))
        for name, one in report.timings.items()
    )
    system: Any = _SYSTEMS.get(sys.platform)
    record = RunRecord(
        tasks,
        makespan=report.seconds,
        executed_at=began.isoformat(timespec="seconds"),
        machine=platform.node() or "localhost",
        system=system,
        adaptations=tuple(one["alternative"] for one in report.adaptations),
        version=__version__,
    )
    write_whole(path, json.dumps(export_run(workflow, record), indent=1, ensure_ascii=False) + "\n")


__all__ = ["INTERRUPTED", "run_concrete", "run_workflow"]
