"""`solvent status`: the runs that are recorded, or one of them with its tasks, places or nodes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from solvent.cli.agent_records import list_runs, show_status, write_runs
from solvent.cli.arguments import add_format, parser_for
from solvent.cli.program_records import list_programs, show_program, write_programs
from solvent.cli.records import add_run, add_store, card_as_json, local_time, open_records, said_store, state_of
from solvent.cli.render import counted, shortened, write, write_json
from solvent.cli.secrecy import shown as safe
from solvent.cli.task_states import MARKS, STYLES
from solvent.runs.records.cards import report_of, summary_of
from solvent.runs.records.history import states_of
from solvent.runs.records.runs import all_runs, find

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.cli.render import Piece
    from solvent.runs.records.cards import RunCard
    from solvent.store import Store

_MAX_TASKS = 200
_MAX_RUNS = 50
_STYLES = {**STYLES, "interrupted": "bold yellow", "stopped": "bold yellow"}
_MARKS = {**MARKS, "interrupted": "!"}
_HINTS = {"stopped", "interrupted"}


def main(arguments: list[str]) -> int:
    """List runs, or show one."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        is_json = options.format == "json"
        if not options.run:
            damaged: dict[str, str] = {}
            cards, others = all_runs(store, damaged), list_runs(store, damaged)
            _list(cards, others, list_programs(store, damaged), damaged, is_json=is_json)
        elif not show_status(store, options) and not show_program(store, options):
            _show(store, find(store, options.run), options)
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = (
        "List the runs that are recorded, the latest last: of workflows, by one process or by agents, and of programs "
        "whose nodes are kept in a store; or show one, with its tasks, or with who has which part of it."
    )
    parser = parser_for("status", says, example="solvent status\n  solvent status pipeline-7k3q")
    add_run(parser, default="list all")
    add_store(parser)
    add_format(parser)
    return parser


def _list(
    cards: list[RunCard],
    others: list[dict[str, Any]],
    programs: list[dict[str, Any]],
    damaged: dict[str, str],
    *,
    is_json: bool,
) -> None:
    if is_json:
        broken = [{"run": run, "state": "damaged", "text": why} for run, why in damaged.items()]
        write_json({"runs": [*(card_as_json(card) for card in cards), *others, *programs, *broken]})
        return
    if len(cards) > _MAX_RUNS:
        write((f"… and {counted(len(cards) - _MAX_RUNS, 'earlier run')}; --format json lists all", "dim"))
    shown = cards[-_MAX_RUNS:]
    width = max((len(card.run) for card in shown), default=0)
    for card in shown:
        state = state_of(card)
        write(
            (f"{card.run:<{width}}", "bold"),
            "  ",
            (f"{state:<11}", _STYLES.get(state, "")),
            f"  {local_time(card.created)}  {counted(len(card.tasks), 'task')}  {card.file}",
        )
    write_runs(others[-_MAX_RUNS:])
    write_programs(programs[-_MAX_RUNS:])
    for run, why in damaged.items():
        write((run, "bold"), "  ", ("damaged", "bold red"), f"  {safe(why)}")
    if not cards and not others and not programs and not damaged:
        write("there are no runs")


def _show(store: Store, card: RunCard, options: Namespace) -> None:
    state = state_of(card)
    summary = summary_of(store, card)
    states = states_of(store, card, is_alive=state == "running") if summary is None else summary.states
    states = {name: states[name] for name in card.tasks if name in states}
    if options.format == "json":
        found = card_as_json(card) | {"states": states}
        if summary is not None:
            report = report_of(card, summary)
            found |= {"calls": report.calls, "seconds": round(report.seconds, 6), "stuck": report.stuck}
            found["failures"] = [{"task": one.task, "kind": one.kind, "cause": one.cause} for one in report.failures]
        write_json(found)
        return
    style = _STYLES.get(state, "")
    write((card.run, "bold"), ": ", (state, style), f", {card.workflow} ({card.file})")
    write(f"began {local_time(card.created)}" + (f", ended {local_time(card.ended)}" if card.ended else ""))
    if card.holder is not None and state == "running":
        write(f"{card.holder} has it")
    _write_tasks(states)
    for name, kind, cause, *_ in [] if summary is None else summary.failures:
        write((f"task `{name}` failed: ", "bold red"), f"{kind}: {shortened(cause)}")
    if state in _HINTS:
        how = f"to go on: solvent resume {card.run}{said_store(options)}"
        write(f"it cannot be resumed: {card.hindrance}" if card.hindrance else how)


def _write_tasks(states: dict[str, str]) -> None:
    if len(states) > _MAX_TASKS:
        counts = Counter(states.values())
        write("  " + ", ".join(f"{count:,} {state}" for state, count in counts.items()))
        return
    width = max(map(len, states), default=0)
    for name, state in states.items():
        style = _STYLES.get(state, "")
        mark: Piece = (_MARKS.get(state, " "), style)
        write("  ", mark, f" {name:<{width}}  ", (state, style))
