"""`solvent logs`: what happened in a run of a workflow, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.cli.agent_runs import happened, latest_run
from solvent.cli.arguments import add_format, add_store, parser_for
from solvent.cli.records import add_run, local_time, open_records
from solvent.cli.render import shortened, write, write_json
from solvent.errors import Misuse, nearest
from solvent.runs.records.history import history
from solvent.runs.records.runs import find

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.cli.agent_runs import Told
    from solvent.runs.records.history import Happening
    from solvent.store import Store

_STYLES = {"done": "green", "failed": "bold red", "cancelled": "yellow", "called": "cyan", "ended": "bold"}


def main(arguments: list[str]) -> int:
    """Show what happened."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        options.run = options.run or latest_run(store)
        run, created, tasks, told = happened(store, options) or _of_one_process(store, options)
        if options.task is not None and options.task not in tasks:
            hint = nearest(options.task, tasks) or f"`solvent status {run}` lists its tasks"
            raise Misuse("H318", f"the run `{run}` has no task `{options.task}`", hint=hint)
        found = (one for one in told if options.task is None or one.task == options.task)
        if options.format == "json":
            write_json({"run": run, "events": [_as_json(one) for one in found]})
        else:
            for one in found:
                _write(one, created)
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


def _of_one_process(store: Store, options: Namespace) -> Told:
    card = find(store, options.run)
    return card.run, card.created, card.tasks, history(store, card)


def _write(one: Happening, created: float) -> None:
    after = max(0.0, one.at - created)
    words = {
        "opened": f"{one.what} continues" if one.is_again else f"{one.what} begins",
        "called": f"{one.what} called" + (" again" if one.is_again else ""),
        "signal": f"signal {one.what}",
        "ended": f"the run is {one.what}",
    }.get(one.kind, f"{one.what} {one.kind}")
    tried = f" at attempt {one.attempts}" if one.attempts > 1 else ""
    text = f": {shortened(one.text)}" if one.text else ""
    write((f"{local_time(one.at)} {after:9.2f} s  ", "dim"), (words, _STYLES.get(one.kind, "")), f"{tried}{text}")


def _as_json(one: Happening) -> dict[str, Any]:
    found: dict[str, Any] = {"at": one.at, "event": one.kind}
    if one.task:
        found |= {"task": one.task, "call": one.what}
    else:
        found["what"] = one.what
    if one.kind == "called":
        found["again"] = one.is_again
    if one.attempts:
        found["attempts"] = one.attempts
    if one.text:
        found["text"] = one.text
    return found
