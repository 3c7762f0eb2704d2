"""`solvent timeline`: what happened when in a run of a workflow, with attempts, failures and alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.cli.agent_records import happened
from solvent.cli.agent_runs import report_of_run
from solvent.cli.loading import parser_for
from solvent.cli.picturing import add_picture, columns, format_of, write_picture
from solvent.cli.recording import add_run, add_space, open_records, state_of
from solvent.cli.render import write
from solvent.pictures.timeline import lines, timeline_drawn, written_time
from solvent.running.records.timing import timeline_of, times_of

if TYPE_CHECKING:
    from argparse import Namespace

    from solvent.cli.agent_records import Told
    from solvent.live.space import Space
    from solvent.pictures.timeline import Timeline
    from solvent.running.records.timing import Times

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
    options = _options(arguments)
    form = format_of(options)
    with open_records(options) as space:
        seen = _of_agents(space, options) or _of_one_process(space, options)
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


def _options(arguments: list[str]) -> Namespace:
    says = "Show what happened when in a run of a workflow: a bar for each call, with attempts and failures."
    parser = parser_for("timeline", says, example="solvent timeline pipeline-7k3q -o run.svg")
    add_run(parser)
    add_space(parser)
    add_picture(parser, _FORMATS)
    return parser.parse_args(arguments)


def _of_agents(space: Space, options: Namespace) -> _Seen | None:
    """Look at a run of agents."""
    from solvent.running.agents.looking import existing
    from solvent.running.agents.plans import ending_of, workflow_of

    told = happened(space, options)
    if told is None:
        return None
    plan, ending = existing(space, told[0]), ending_of(space, told[0])
    if ending is None:
        return _Seen(told, "running", {}, [])
    report = report_of_run(space, told[0], plan, ending, workflow_of(space, plan))
    return _Seen(told, ending.state, report.states, report.adaptations)


def _of_one_process(space: Space, options: Namespace) -> _Seen:
    """Look at a run of one process."""
    from solvent.running.records.cards import report_of, summary_of
    from solvent.running.records.history import history, states_of
    from solvent.running.records.runs import find

    card = find(space, options.run)
    state, summary = state_of(card), summary_of(space, card)
    told = card.run, card.created, card.tasks, history(space, card)
    if summary is None:
        return _Seen(told, state, states_of(space, card, is_alive=state == "running"), [])
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
