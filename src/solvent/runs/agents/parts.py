"""How far the tasks of one place are, as data; and the report of a run, put together of all places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.runs.report import Failed, Report, Timing, concluded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.workflows.model import Workflow


@dataclass(slots=True)
class Part:
    """What one place tells."""

    states: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    """Results of tasks that may be the workflow's."""
    calls: dict[str, int] = field(default_factory=dict)
    adaptations: list[dict[str, Any]] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    faults: list[Failed] = field(default_factory=list)
    timings: dict[str, Timing] = field(default_factory=dict)
    reactions: int = 0
    stuck: list[str] = field(default_factory=list)
    ended_by: str = ""
    is_cancelled: bool = False
    is_whole: bool = False
    """Whether it is all there is: a workflow whose tasks join and split by patterns."""


class _Plain(msgspec.Struct):
    """A part as data, with the types that its fields must have."""

    states: dict[str, str]
    values: dict[str, Any]
    calls: dict[str, int]
    adaptations: list[dict[str, Any]]
    replaced: list[str]
    faults: list[tuple[str, str, str, int, str, str]]
    timings: dict[str, tuple[float, float, int]]
    reactions: int
    stuck: list[str]
    ended_by: str
    is_cancelled: bool
    is_whole: bool


def plain_part(part: Part) -> dict[str, Any]:
    """Give a part as data."""
    found = {name: getattr(part, name) for name in Part.__slots__}
    found["faults"] = [[one.task, one.kind, one.cause, one.attempts, one.output, one.molecules] for one in part.faults]
    found["timings"] = {name: [one.started, one.ended, one.attempts] for name, one in part.timings.items()}
    return found


def part_from(data: Any) -> Part:
    """Return the part that was made data; raise `msgspec.ValidationError` for anything else."""
    found = msgspec.convert(data, _Plain)
    part = Part(**{name: getattr(found, name) for name in Part.__slots__ if name not in ("faults", "timings")})
    part.faults = [Failed(*one) for one in found.faults]
    part.timings = {name: Timing(*one) for name, one in found.timings.items()}
    return part


def merged(workflow: Workflow, parts: Iterable[Part]) -> Report:
    """Put the report of a run together."""
    report, found = Report(workflow.name), dict[str, Any]()
    replaced, faults = set[str](), dict[str, Failed]()
    for part in parts:
        report.states |= part.states
        report.calls |= part.calls
        report.timings |= part.timings
        report.adaptations += part.adaptations
        report.reactions += part.reactions
        if part.is_whole:
            report.results, report.failures, report.trace = part.values, part.faults, []
            report.stuck, report.ended_by, report.is_cancelled = part.stuck, part.ended_by, part.is_cancelled
            return report
        found |= part.values
        replaced |= set(part.replaced)
        faults |= {one.task: one for one in part.faults}
    return concluded(report, workflow, found, replaced, faults)


__all__ = ["Part", "merged", "part_from", "plain_part"]
