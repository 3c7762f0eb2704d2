"""The report of a workflow's run as a notebook shows it: how it ended, and its tasks."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from solvent.pictures.tables import table
from solvent.values.text import form_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.report import Report

MAX_TASKS = 100
_FIRST = {"failed": 0, "running": 1, "replaced": 2, "cancelled": 3}
"""Of many tasks, those that people look for are shown first."""


def report_html(report: Report) -> str:
    """Give a report as a table of its tasks."""
    names = list(report.states)
    if len(names) > MAX_TASKS:
        names.sort(key=lambda name: _FIRST.get(report.states[name], len(_FIRST)))
    rows = [_row(report, name) for name in islice(names, MAX_TASKS)]
    more = f"and {len(names) - MAX_TASKS:,} more tasks" if len(names) > MAX_TASKS else ""
    says = f"{report.workflow} {'succeeded' if report.succeeded else 'did not succeed'} after {report.seconds:.2f} s"
    below = " · ".join(filter(None, [more, *_notes(report)]))
    return table(("task", "state", "seconds", "attempts", "result"), rows, says=says, below=below)


def _row(report: Report, name: str) -> tuple[object, ...]:
    timing = report.timings.get(name)
    took, attempts = (f"{timing.ended - timing.started:.3f}", timing.attempts) if timing else ("", "")
    cause = next((one.cause for one in report.failures if one.task == name), "")
    return name, report.states[name], took, attempts, form_of(report.results[name]) if name in report.results else cause


def _notes(report: Report) -> Iterator[str]:
    for one in report.adaptations[:10]:
        yield f"adapted: {one.get('alternative', '')}"
    for one in report.routes[:10]:
        yield f"{one['task']}[{one['item']}] {one['argument']}: {one['route']}"
    yield from report.stuck[:10]
    if report.error is not None:
        yield f"[{report.error.code}] {report.error.message}"


__all__ = ["report_html"]
