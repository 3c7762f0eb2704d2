"""When the calls of a run began and ended, from what happened in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from solvent.pictures.timeline import Bar, Moment, Timeline, rows_of, written_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from solvent.runs.records.history import Happening

_ENDS = frozenset({"done", "failed", "cancelled"})


class Span(msgspec.Struct):
    """A call, with times in seconds from the beginning of its run."""

    task: str
    call: str
    began: float
    ended: float | None = None
    state: str = "running"
    retried: list[float] = []
    attempts: int = 1
    text: str = ""


class Times(msgspec.Struct):
    """All that is known of the times of a run."""

    spans: list[Span]
    signals: list[tuple[float, str]]
    #: When the last thing happened, or when the run ended.
    seconds: float


def times_of(told: Iterable[Happening], began: float) -> Times:
    """Put what happened in a run together, call by call."""
    spans: list[Span] = []
    out: dict[str, Span] = {}
    found = Times(spans, [], 0.0)
    for one in told:
        at = round(max(0.0, one.at - began), 6)
        found.seconds = max(found.seconds, at)
        span = out.get(one.what) if one.task else None
        match one.kind:
            case "called":
                if span is not None:
                    # Whoever had made it is gone, and it is made once more.
                    span.ended, span.state = at, "interrupted"
                out[one.what] = Span(one.task, one.what, at)
                spans.append(out[one.what])
            case "retried" if span is not None:
                span.retried.append(at)
                span.attempts = len(span.retried) + 1
            case "signal":
                found.signals.append((at, one.what))
            case "ended" if one.what == "cancelled":
                for left in out.values():
                    left.ended, left.state = at, "cancelled"
            case kind if kind in _ENDS:
                if span is None:
                    span = Span(one.task, one.what, at)
                    spans.append(span)
                span.ended, span.state, span.text = at, kind, one.text
                span.attempts = max(span.attempts, one.attempts)
                out.pop(one.what, None)
    return found


def timeline_of(
    title: str, times: Times, tasks: Sequence[str], states: Mapping[str, str], adaptations: Sequence[Mapping[str, Any]]
) -> Timeline:
    """Make the picture of it: tasks in the order in which they began; those that were never called are left out."""
    by_task: dict[str, list[Bar]] = {}
    for span in times.spans:
        by_task.setdefault(span.task, []).append(_bar(span, times.seconds))
    rows = [
        row
        for task in sorted(by_task, key=lambda one: min(bar.began for bar in by_task[one]))
        for row in rows_of(task, by_task[task], _note(task, times.spans, states.get(task, "")))
    ]
    moments = [Moment(at, f"signal {name}", "⚑") for at, name in times.signals]
    moments += [Moment(_adapted_at(one, times.spans), _adapted(one)) for one in adaptations]
    idle = len(tasks) - sum(task in by_task for task in tasks)
    more = f"; {idle:,} of {len(tasks):,} tasks were not called" if idle else ""
    return Timeline(f"{title}{more}", tuple(rows), times.seconds, tuple(sorted(moments, key=lambda one: one.at)))


def _bar(span: Span, until: float) -> Bar:
    ended = max(until if span.ended is None else span.ended, span.began)
    tried = f"{span.attempts} attempts" if span.attempts > 1 else ""
    note = " · ".join(one for one in (tried, span.text) if one)
    return Bar(span.began, ended, span.state, span.call, tuple(span.retried), note)


def _note(task: str, spans: Iterable[Span], state: str) -> str:
    """Say of a task how long it took, in how many calls and attempts, and why it failed."""
    own = [span for span in spans if span.task == task]
    lasted = sum((span.ended or span.began) - span.began for span in own)
    words = [state] if state not in ("", "done") else []
    words.append(written_time(round(lasted, 4)) if lasted else "0 s")
    words += [f"{len(own)} calls"] if len(own) > 1 else []
    attempts = sum(span.attempts for span in own)
    words += [f"{attempts} attempts"] if attempts > len(own) else []
    failed = next((span.text for span in reversed(own) if span.state == "failed"), "")
    return ", ".join(words) + (f": {failed.splitlines()[0]}" if failed else "")


def _adapted_at(one: Mapping[str, Any], spans: Iterable[Span]) -> float:
    """Say when an alternative applied: when what it watches had failed, by the clock that all bars are drawn by."""
    ended = [span.ended for span in spans if span.task == one["because"] and span.ended is not None]
    return max(ended, default=float(one.get("seconds", 0.0)))


def _adapted(one: Mapping[str, Any]) -> str:
    # Records of earlier versions do not say what took over.
    by = f"{', '.join(one['by'])} " if one.get("by") else ""
    return f"{one['alternative']}: {by}instead of {', '.join(one['replaced'])}, because of {one['because']}"


__all__ = ["Span", "Times", "timeline_of", "times_of"]
