"""`solvent timeline`: when calls of a workflow ran, with attempts, failures and alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.cli.agent_runs import happened, latest_run, report_of_run
from solvent.cli.arguments import add_store, parser_for
from solvent.cli.picture import add_picture, columns, format_of, write_picture
from solvent.cli.records import add_run, open_records, state_of
from solvent.cli.render import write
from solvent.pictures.timeline import lines, timeline_drawn, written_time
from solvent.runs.records.timing import timeline_of, times_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.cli.agent_runs import Told
    from solvent.pictures.timeline import Timeline
    from solvent.runs.records.timing import Times
    from solvent.store import Store

_FORMATS = ("text", "svg", "png", "json")
_STYLES = {
    "title": "bold", "note": "dim", "moment": "yellow", "done": "green", "failed": "bold red", "cancelled": "yellow",
    "running": "cyan", "interrupted": "bold yellow", "withdrawn": "dim",
}  # fmt: skip


class _Seen(NamedTuple):
    """What is known of a run."""

    told: Told
    state: str
    states: dict[str, str]
    adaptations: list[dict[str, Any]]


def main(arguments: list[str]) -> int:
    """Draw the times of a run."""
    options = parser().parse_args(arguments)
    form = format_of(options)
    with open_records(options) as store:
        options.run = options.run or latest_run(store)
        seen = _of_agents(store, options) or _of_one_process(store, options)
        run, created, tasks, events = seen.told
        times = times_of(events, created)
    title = f"{run}: {seen.state}, {written_time(round(times.seconds, 3)) if times.seconds else '0 s'}"
    drawn = timeline_of(title, times, tasks, seen.states, seen.adaptations)
    if form == "text" and options.output is None:
        for line in lines(drawn, width=columns()):
            write(*((text, _STYLES.get(kind, "")) for text, kind in line))
        return 0
    write_picture(
        options.output,
        form,
        lambda: _as_text(drawn) if form == "text" else _as_json(seen, times),
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


def _of_agents(store: Store, options: Namespace) -> _Seen | None:
    """Return what is known of a run of agents; None if there is none."""
    from solvent.runs.agents.looking import existing
    from solvent.runs.agents.plans import ending_of, workflow_of

    told = happened(store, options)
    if told is None:
        return None
    plan, ending = existing(store, told[0]), ending_of(store, told[0])
    if ending is None:
        return _Seen(told, "running", {}, [])
    report = report_of_run(store, told[0], plan, ending, workflow_of(store, plan))
    return _Seen(told, ending.state, report.states, report.adaptations)


def _of_one_process(store: Store, options: Namespace) -> _Seen:
    """Return what is known of a run of one process."""
    from solvent.runs.records.cards import report_of, summary_of
    from solvent.runs.records.history import history, states_of
    from solvent.runs.records.runs import find

    card = find(store, options.run)
    state, summary = state_of(card), summary_of(store, card)
    told = card.run, card.created, card.tasks, history(store, card)
    if summary is None:
        return _Seen(told, state, states_of(store, card, is_alive=state == "running"), [])
    return _Seen(told, state, summary.states, report_of(card, summary).adaptations)


def _as_text(drawn: Timeline) -> str:
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines(drawn))


def _as_json(seen: _Seen, times: Times) -> str:
    import json

    import msgspec

    run, created, *_ = seen.told
    found = {
        "run": run,
        "state": seen.state,
        "created": created,
        "seconds": times.seconds,
        "states": seen.states,
        "calls": msgspec.to_builtins(times.spans),
        "adaptations": seen.adaptations,
        "signals": [{"at": at, "name": name} for at, name in times.signals],
    }
    return json.dumps(found, ensure_ascii=False, default=str) + "\n"
