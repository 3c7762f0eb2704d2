"""`solvent status`: the recorded runs, or one of them with its tasks, places or nodes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from solvent.cli.agent_runs import agent_as_json, find_run_of_agents, list_runs, write_agents
from solvent.cli.arguments import add_format, add_store, parser_for
from solvent.cli.records import add_run, card_as_json, local_time, open_records, said_store, state_of
from solvent.cli.render import counted, shortened, write, write_json
from solvent.cli.secrecy import shown
from solvent.cli.task_states import MARKS, STYLES
from solvent.errors import StoreError
from solvent.runs.nodes.shared import HALTED, Board, runs_in
from solvent.runs.records.cards import report_of, summary_of
from solvent.runs.records.history import states_of
from solvent.runs.records.runs import all_runs, find

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.cli.render import Piece
    from solvent.runs.nodes.shared import Seen
    from solvent.runs.records.cards import RunCard
    from solvent.store import Store

_MAX_TASKS = 200
_MAX_RUNS = 50
_STYLES = {**STYLES, "interrupted": "bold yellow", "stopped": "bold yellow"}
_MARKS = {**MARKS, "interrupted": "!"}
_HINTS = {"stopped", "interrupted"}
_GOES_ON = "not over"
_DAMAGED = frozenset({"E406", "E407"})
"""Codes of unreadable records, and of records of another version."""


def main(arguments: list[str]) -> int:
    """List runs, or show one."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        is_json = options.format == "json"
        if not options.run:
            damaged: dict[str, str] = {}
            cards, others = all_runs(store, damaged), list_runs(store, damaged)
            _list(cards, others, list_programs(store, damaged), damaged, is_json=is_json)
        elif not _show_agents(store, options) and not _show_program(store, options):
            _show(store, find(store, options.run), options)
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = (
        "List the recorded runs, the latest last: of workflows, by one process or by agents, and of programs over "
        "nodes that are kept in a store. Or show one run, with its tasks, or its parts and who runs them."
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
    latest = cards[-_MAX_RUNS:]
    width = max((len(card.run) for card in latest), default=0)
    for card in latest:
        state = state_of(card)
        write(
            (f"{card.run:<{width}}", "bold"),
            "  ",
            (f"{state:<11}", _STYLES.get(state, "")),
            f"  {local_time(card.created)}  {counted(len(card.tasks), 'task')}  {card.file}",
        )
    _write_rows([(one, one["workflow"]) for one in others[-_MAX_RUNS:]])
    nodes = [(one, f"{one['program']}, {counted(one['nodes'], 'node')}") for one in programs[-_MAX_RUNS:]]
    _write_rows(nodes)
    for run, why in damaged.items():
        write((run, "bold"), "  ", ("damaged", "bold red"), f"  {shown(why)}")
    if not cards and not others and not programs and not damaged:
        write("there are no runs")


def _write_rows(found: list[tuple[dict[str, Any], str]]) -> None:
    """Write a line for each run, with what it runs."""
    width = max((len(one["run"]) for one, _ in found), default=0)
    for one, what in found:
        when = local_time(one["created"])
        write((f"{one['run']:<{width}}", "bold"), f"  {one['state']:<15}  {when}  {shown(what)}")


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
        write(f"{card.holder} runs it")
    _write_tasks(states)
    for name, kind, cause, *_ in [] if summary is None else summary.failures:
        write((f"task `{name}` failed: ", "bold red"), f"{kind}: {shortened(cause)}")
    if state in _HINTS:
        how = f"to continue: solvent resume {card.run}{said_store(options)}"
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


def list_programs(store: Store, damaged: dict[str, str]) -> list[dict[str, Any]]:
    """Return all runs of programs, for a list; add unreadable ones to `damaged`, with the reason."""
    found = []
    for run in runs_in(store):
        board = Board(store, run)
        try:
            record, seen = board.record(), board.look()
        except StoreError as error:
            if error.code not in _DAMAGED:
                raise
            damaged[run] = error.message
            continue
        found.append({"run": run, "program": record.name, "state": state_of_program(seen), "created": record.started_at,
                      "nodes": record.nodes})  # fmt: skip
    return found


def _show_program(store: Store, options: Namespace) -> bool:
    """Show a run of a program: its nodes, their processes, and their last reports; return whether there is one."""
    board = find_program(store, options.run)
    if board is None:
        return False
    record, seen, statuses = board.record(), board.look(), board.statuses()
    nodes: list[dict[str, Any]] = []
    for number in range(record.nodes):
        holder, status = seen.holders.get(number), statuses.get(number)
        nodes.append(
            {
                "node": number,
                "process": "" if holder is None else holder.agent,
                "phase": "" if status is None else status.phase,
                "molecules": 0 if status is None else status.molecules,
                "reactions": 0 if status is None else status.reactions,
            }
        )
    state = state_of_program(seen)
    if options.format == "json":
        write_json({"run": board.run, "program": record.name, "state": state, "created": record.started_at,
                    "nodes": nodes})  # fmt: skip
        return True
    write((board.run, "bold"), f": {state}, {shown(record.name)}, {counted(record.nodes, 'node')}")
    write(f"began {local_time(record.started_at)}")
    for one in nodes:
        said = f"{one['phase'] or 'no report yet'}, {counted(one['reactions'], 'reaction')}"
        write(f"  node {one['node']:>3}  {shown(one['process']) or 'nobody'}  {said}")
    if seen.ending is None or seen.ending.how == HALTED:
        write(f"to wait for it, or to continue it: solvent run --attach {board.run}{said_store(options)} --spares N")
    return True


def find_program(store: Store, text: str) -> Board | None:
    """Return the run of a program, by its name or a unique beginning of it."""
    runs = runs_in(store)
    matches = [text] if text in runs else [run for run in runs if text and run.startswith(text)]
    return Board(store, matches[0]) if len(matches) == 1 else None


def state_of_program(seen: Seen) -> str:
    """Return the state of a run of a program, in a word."""
    return _GOES_ON if seen.ending is None else seen.ending.how


def _show_agents(store: Store, options: Namespace) -> bool:
    """Show a run of agents; return whether there is one."""
    run = find_run_of_agents(store, options.run)
    if run is None:
        return False
    from solvent.runs.agents.looking import see_run

    seen = see_run(store, run)
    if options.format == "json":
        write_json(_run_as_json(seen))
    else:
        _write_run(seen)
    return True


def _run_as_json(seen: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "run": seen.run,
        "workflow": seen.workflow,
        "state": seen.state,
        "created": seen.created,
        "calls": seen.calls,
        "called_again": seen.again,
        "places": [
            {"place": one.number, "agent": one.agent, "epoch": one.epoch, "tasks": one.tasks, "done": one.done,
             "failed": one.failed, "out": one.out, "waiting": one.waiting}
            for one in seen.places
        ],
        "agents": [agent_as_json(one) for one in seen.agents],
        "missing_services": list(seen.lacking.missing),
        "services_apart": [list(one) for one in seen.lacking.apart],
        "refusals": [{"agent": one.agent, "place": one.place, "why": one.why} for one in seen.refusals],
        "damaged": [{"key": one.key, "why": one.why, "hint": one.hint} for one in seen.damaged],
        "trouble": seen.trouble,
    }  # fmt: skip
    if seen.ending is not None:
        found |= {"ended": seen.ending.at, "text": seen.ending.text, "successor": seen.successor}
    return found


def _write_run(seen: Any) -> None:
    """Write the state of a run, its places with their agents, and all agents of its store."""
    places = seen.places
    state = f"{seen.state}" + (f": {shown(seen.ending.text)}" if seen.ending is not None and seen.ending.text else "")
    write((seen.run, "bold"), f": {state}, {shown(seen.workflow)}, {counted(len(places), 'place')} of agents")
    ended = f", ended {local_time(seen.ending.at)}" if seen.ending is not None else ""
    write(f"submitted {local_time(seen.created)}{ended}")
    total = {name: sum(getattr(one, name) for one in places) for name in ("tasks", "done", "out", "waiting", "failed")}
    failed = f", {total['failed']:,} failed" if total["failed"] else ""
    write(
        f"{counted(total['tasks'], 'task')}: {total['done']:,} done, {total['out']:,} out, "
        f"{total['waiting']:,} waiting{failed}; {counted(seen.calls, 'call')}, {seen.again:,} of them made again"
    )
    if seen.successor:
        write("it continues as ", (seen.successor, "bold"))
    if seen.ending is None:
        _write_places(seen)
        write_agents(seen.agents)
        for line in seen.lacking.lines():
            write((shown(line), "bold yellow"))
        for one in seen.refusals:
            what = "it" if one.place is None else f"place {one.place}"
            write((f"{shown(one.agent)} cannot run {what}: {shown(one.why)}", "bold yellow"))
        for one in seen.damaged:
            write((shown(f"{one.why}; {one.hint}"), "bold yellow"))
        if seen.trouble:
            write((f"{shown(seen.trouble)}; agents continue when there is room", "bold yellow"))


def _write_places(seen: Any) -> None:
    alive = {one.name for one in seen.agents if one.is_alive}
    width = max((len(one.agent) for one in seen.places), default=0)
    for one in seen.places:
        who = shown(one.agent) or "nobody"
        note = "" if not one.agent or one.agent in alive else " (silent)"
        many = f"{one.done:,} done, {one.out:,} out, {one.waiting:,} waiting" + (
            f", {one.failed:,} failed" if one.failed else ""
        )
        write(f"  place {one.number:>3}  {who:<{max(width, 6)}}  {many}{note}")
