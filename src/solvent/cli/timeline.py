"""`solvent timeline`: when calls of a workflow ran, with attempts, failures and alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import add_store, parser_for
from solvent.cli.picture import add_picture, columns, format_of, write_picture
from solvent.cli.records import add_run, named_or_latest, open_records
from solvent.cli.render import write
from solvent.pictures.timeline import Bar, Moment, Timeline, lines, rows_of, timeline_drawn, written_time
from solvent.runs.holders import status_of
from solvent.runs.projection import view_of

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable

    from solvent.runs.projection import Adaptation, CallView, RunView
    from solvent.runs.registry import RunRecord

_FORMATS = ("text", "svg", "png", "json")
_STYLES = {
    "title": "bold", "note": "dim", "moment": "yellow", "done": "green", "failed": "bold red", "cancelled": "yellow",
    "running": "cyan", "healed": "yellow", "interrupted": "bold yellow", "withdrawn": "dim",
}  # fmt: skip
_SHOWN_STATES = {"asleep": "waiting", "unused": "waiting"}
"""Whether a task waits for others or stands by makes no difference here, as in a report."""


def main(arguments: list[str]) -> int:
    """Draw the times of a run."""
    options = parser().parse_args(arguments)
    form = format_of(options)
    with open_records(options) as store:
        record = named_or_latest(store, options.run)
        view, state = view_of(store, record), status_of(store, record)
    title = f"{record.run}: {state}, {written_time(round(view.seconds, 3)) if view.seconds else '0 s'}"
    drawn = timeline_of(title, view)
    if form == "text" and options.output is None:
        for line in lines(drawn, width=columns()):
            write(*((text, _STYLES.get(kind, "")) for text, kind in line))
        return 0
    write_picture(
        options.output,
        form,
        lambda: _as_text(drawn) if form == "text" else _as_json(record, state, view),
        lambda: timeline_drawn(drawn),
    )
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Show what happened when in a run of a workflow: a bar for each call, with attempts and failures."
    parser = parser_for("timeline", says, example="solvent timeline\n  solvent timeline pipeline-7k3q -o run.svg")
    add_run(parser, default="the latest")
    add_store(parser)
    add_picture(parser, _FORMATS)
    return parser


def timeline_of(title: str, view: RunView) -> Timeline:
    """Make the picture of a run: tasks in the order in which they began; those that were never called are left out."""
    by_task: dict[str, list[CallView]] = {}
    for call in view.calls:
        by_task.setdefault(call.task, []).append(call)
    rows = [
        row
        for task in sorted(by_task, key=lambda one: min(call.began for call in by_task[one]))
        for row in rows_of(
            task, [_bar(call, view.seconds) for call in by_task[task]], _note(by_task[task], view.states[task])
        )
    ]
    moments = [Moment(at, f"signal {name}", "⚑") for at, name in view.signals]
    moments += [Moment(one.at, _adapted(one)) for one in view.adaptations]
    idle = sum(task not in by_task for task in view.tasks)
    more = f"; {idle:,} of {len(view.tasks):,} tasks were not called" if idle else ""
    return Timeline(f"{title}{more}", tuple(rows), view.seconds, tuple(sorted(moments, key=lambda one: one.at)))


def _bar(call: CallView, until: float) -> Bar:
    ended = max(until if call.ended is None else call.ended, call.began)
    tried = f"{call.attempts} attempts" if call.attempts > 1 else ""
    where = f"at {call.agent}" if call.is_elsewhere else ""
    note = " · ".join(one for one in (where, tried, call.text) if one)
    return Bar(call.began, ended, call.state, call.call, tuple(call.retried), note)


def _note(calls: Iterable[CallView], state: str) -> str:
    """Return how long a task took, in how many calls and attempts, and why it failed."""
    own = [*calls]
    lasted = sum((call.ended or call.began) - call.began for call in own)
    words = [state] if state not in ("", "done") else []
    words.append(written_time(round(lasted, 4)) if lasted else "0 s")
    words += [f"{len(own)} calls"] if len(own) > 1 else []
    attempts = sum(call.attempts for call in own)
    words += [f"{attempts} attempts"] if attempts > len(own) else []
    failed = next((call.text for call in reversed(own) if call.state == "failed"), "")
    return ", ".join(words) + (f": {failed.splitlines()[0]}" if failed else "")


def _adapted(one: Adaptation) -> str:
    by, replaced = ", ".join(one.by), ", ".join(one.replaced)
    return f"{one.alternative}: {by} instead of {replaced}, because of {one.because}"


def _as_text(drawn: Timeline) -> str:
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines(drawn))


def _as_json(record: RunRecord, state: str, view: RunView) -> str:
    import json

    import msgspec

    found: dict[str, Any] = {
        "run": record.run,
        "state": state,
        "created": record.created,
        "seconds": view.seconds,
        "states": {name: _SHOWN_STATES.get(state, state) for name, state in view.states.items()},
        "calls": msgspec.to_builtins(view.calls),
        "adaptations": [
            {"alternative": one.alternative, "because": one.because, "cause": one.cause, "replaced": one.replaced,
             "by": one.by, "seconds": one.at} | ({"within": one.within} if one.within else {})
            for one in view.adaptations
        ],
        "signals": [one._asdict() for one in view.signals],
    }  # fmt: skip
    return json.dumps(found, ensure_ascii=False, default=str) + "\n"
