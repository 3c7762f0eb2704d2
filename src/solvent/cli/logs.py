"""`solvent logs`: what happened in a run of a workflow, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.cli.arguments import add_format, add_store, parser_for
from solvent.cli.records import add_run, local_time, named_or_latest, open_records
from solvent.cli.render import shortened, write, write_json
from solvent.errors import Misuse, nearest
from solvent.runs.projection import Adaptation, CallChanged, Continued, Follower, Over, Signal, Taken, Waits
from solvent.runs.registry import task_names
from solvent.runs.report import said_counts

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from solvent.runs.projection import Change
    from solvent.runs.registry import RunRecord
    from solvent.store import Store

_STYLES = {
    "done": "green", "failed": "bold red", "cancelled": "yellow", "called": "cyan", "adapted": "yellow",
    "healed": "yellow", "ended": "bold",
}  # fmt: skip
_SHOWN = frozenset({"called", "retried", "attempted", "done", "failed", "healed", "cancelled"})


class Line(NamedTuple):
    """One thing that happened."""

    seconds: float
    kind: str
    #: The call, the signal, the alternative, or who takes the run.
    what: str
    task: str = ""
    text: str = ""
    attempts: int = 0
    #: Of a call: whether it had been made before; of who takes a shard: whether another had it before.
    is_again: bool = False
    shard: int | None = None
    #: Who makes a call, if agents do.
    agent: str = ""
    #: What the service has printed, or where it failed.
    output: str = ""


def main(arguments: list[str]) -> int:
    """Show what happened."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        record = named_or_latest(store, options.run)
        lines = _lines(store, record)
        if options.task is not None:
            tasks = list(dict.fromkeys([*task_names(store, record), *(one.task for one in lines)]))
            if options.task not in tasks:
                hint = nearest(options.task, tasks) or f"`solvent status {record.run}` lists its tasks"
                raise Misuse("H318", f"the run `{record.run}` has no task `{options.task}`", hint=hint)
            inside = f"{options.task}/"
            lines = [one for one in lines if one.task == options.task or one.task.startswith(inside)]
        if options.format == "json":
            write_json({"run": record.run, "events": [_as_json(one, record.created) for one in lines]})
        else:
            for one in lines:
                _write(one, record.created)
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Show what happened in a run of a workflow: calls and answers, with times, attempts and errors."
    parser = parser_for("logs", says, example="solvent logs\n  solvent logs pipeline-7k3q --task clean")
    add_run(parser, default="the latest")
    parser.add_argument("--task", metavar="T", help="only what happened to this task")
    add_store(parser)
    add_format(parser)
    return parser


def _lines(store: Store, record: RunRecord) -> list[Line]:
    """Return what happened, in the order of the clocks of those who wrote it down."""
    follower = Follower(store, record)
    by_agents = record.by_agents
    found = [line for change in follower.news() for line in _line(change, by_agents=by_agents)]
    if record.has_ended:
        found += [line for change in follower.view.end(record) for line in _line(change, by_agents=by_agents)]
    # Stable: what is in one journal stays in order unless a clock went back.
    return sorted(found, key=lambda one: one.seconds)


def _line(change: Change, *, by_agents: bool) -> Iterator[Line]:
    match change:
        case CallChanged(call, what, at, text) if what in _SHOWN:
            agent = call.agent if what == "called" and by_agents else ""
            attempts = call.attempts if what in {"done", "failed", "healed", "cancelled"} else 0
            output = call.output if what in {"attempted", "failed", "healed", "done"} else ""
            is_again = what == "called" and call.is_repeated
            yield Line(at, what, call.call, call.task, text, attempts, is_again=is_again, output=output, agent=agent)
        case Continued():
            at, version, *counts = change
            yield Line(at, "version", str(version), text=said_counts(*counts))
        case Taken(at, who, shard, is_again):
            yield Line(at, "taken", who, is_again=is_again, shard=shard)
        case Signal(at, name):
            yield Line(at, "signal", name)
        case Waits(at, task, signal):
            yield Line(at, "waits", signal, task)
        case Adaptation(at, alternative, because, cause, replaced, by):
            said = f"{', '.join(by)} instead of {', '.join(replaced)}: {cause}"
            yield Line(at, "adapted", alternative, because, said)
        case Over(at, state, why):
            yield Line(at, "ended", state, text=why)
        case _:
            return


def _write(one: Line, created: float) -> None:
    where = "" if one.shard is None else f" shard {one.shard}"
    words = {
        "taken": f"{one.what} continues{where}" if one.is_again else f"{one.what} begins{where}",
        "called": f"{one.what} called" + (" again" if one.is_again else "") + (f" at {one.agent}" if one.agent else ""),
        "attempted": f"{one.what} failed, to be retried",
        "healed": f"{one.what} failed",
        "signal": f"signal {one.what}",
        "waits": f"{one.task} waits for the signal {one.what}",
        "version": f"version {one.what}",
        "adapted": f"{one.what} takes over",
        "ended": f"the run is {one.what}",
    }.get(one.kind, f"{one.what} {one.kind}")
    tried = f" at attempt {one.attempts}" if one.attempts > 1 else ""
    text = f": {shortened(one.text)}" if one.text else ""
    when = f"{local_time(created + one.seconds)} {one.seconds:9.2f} s  "
    write((when, "dim"), (words, _STYLES.get(one.kind, "")), f"{tried}{text}")
    for line in one.output.splitlines():
        write((f"{'':{len(when)}}│ ", "dim"), shortened(line))


def _as_json(one: Line, created: float) -> dict[str, Any]:
    found: dict[str, Any] = {"at": created + one.seconds, "event": one.kind}
    if one.task:
        found |= {"task": one.task, {"adapted": "alternative", "waits": "signal"}.get(one.kind, "call"): one.what}
    else:
        found["what"] = one.what
    if one.shard is not None:
        found["shard"] = one.shard
    if one.kind == "called":
        found["again"] = one.is_again
        if one.agent:
            found["agent"] = one.agent
    if one.attempts:
        found["attempts"] = one.attempts
    if one.text:
        found["text"] = one.text
    if one.output:
        found["output"] = one.output
    return found
