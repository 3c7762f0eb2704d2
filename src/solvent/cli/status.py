"""`solvent status`: the recorded runs, or one of them with its tasks, shards or nodes."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from solvent.cli.agent_runs import agent_as_json, write_agents
from solvent.cli.arguments import add_format, add_store, at_least, duration, parser_for
from solvent.cli.records import add_run, local_time, open_records, record_as_json, said_store
from solvent.cli.render import counted, shortened, write, write_json
from solvent.cli.secrecy import shown
from solvent.cli.task_states import MARKS, STYLES
from solvent.errors import Misuse, StoreError
from solvent.runs.holders import holder_of, status_of
from solvent.runs.nodes.shared import HALTED, Board, runs_in
from solvent.runs.projection import state_of, waits_of
from solvent.runs.registry import find, is_name, list_runs, record_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.cli.render import Piece
    from solvent.runs.agents.status import RunSeen
    from solvent.runs.cache import Result
    from solvent.runs.nodes.shared import Seen
    from solvent.runs.projection import Waits
    from solvent.runs.registry import RunRecord
    from solvent.store import Store

_MAX_TASKS = 200
_MAX_RUNS = 50
_STYLES = {**STYLES, "stopped": "bold yellow"}
_HINTS = {"stopped", "interrupted"}
OPEN = "not over"
"""The state of a program that has not ended."""
_STATES = (
    "running", "stopped", "interrupted", "done", "failed", "cancelled", OPEN, "inert", "halted",
)  # fmt: skip
_DAMAGED = frozenset({"E406", "E407"})
"""Codes of unreadable records, and of records of another version."""


def main(arguments: list[str]) -> int:
    """List runs, or show one."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        is_json = options.format == "json"
        _refuse_odd(options)
        if options.cache:
            _show_cache(store, options)
            return 0
        if options.waiting:
            _show_waiting(store, options)
            return 0
        if not options.run:
            damaged: dict[str, str] = {}
            records, programs = _wanted(store, options, damaged)
            if is_json:
                broken = [{"run": run, "state": "damaged", "text": why} for run, why in damaged.items()]
                write_json({"runs": [*(record_as_json(store, one) for one in records), *programs, *broken]})
            else:
                _list(store, records, programs, damaged)
            return 0
        program = program_meant(store, options.run)
        if program is not None:
            _show_program(program, options)
            return 0
        if options.molecules:
            _show_molecules(store, find(store, options.run), options)
        else:
            _show(store, find(store, options.run), options)
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = (
        "List the recorded runs, the latest last: of workflows, by one process or by agents, and of programs over "
        "nodes that are kept in a store. Or show one run, with its tasks, or its parts and who runs them."
    )
    example = "solvent status\n  solvent status --state failed --since 7d\n  solvent status pipeline-7k3q --molecules"
    parser = parser_for("status", says, example=example)
    add_run(parser, default="list all")
    says = "list the tasks that wait for people, of all runs or of RUN, and how to send their signals"
    parser.add_argument("--waiting", action="store_true", help=says)
    says = f"list only runs in this state; may be given several times: {', '.join(_STATES)}"
    parser.add_argument("--state", action="append", choices=_STATES, metavar="STATE", help=says)
    parser.add_argument("--workflow", metavar="NAME", help="list only runs of this workflow or program")
    says = "list only runs that began in this time: 90m, 12h, 30d, 2w"
    parser.add_argument("--since", type=duration, metavar="AGE", help=says)
    parser.add_argument("--last", type=at_least(1), metavar="N", help="list only the N runs that began last")
    says = "list the results that calls share (`cache`), by service"
    parser.add_argument("--cache", action="store_true", help=says)
    says = "show the molecules of the run as they stand, from its journals, without touching it"
    parser.add_argument("--molecules", action="store_true", help=says)
    says = "with --molecules: the file of the workflow, if its conditions are functions"
    parser.add_argument("--file", metavar="WORKFLOW", help=says)
    add_store(parser)
    add_format(parser)
    return parser


def _show_cache(store: Store, options: Namespace) -> None:
    """List the results that calls share."""
    from solvent.runs.cache import results_in

    by_service: dict[str, list[Result]] = {}
    for _, one in results_in(store):
        by_service.setdefault(one.service, []).append(one)
    if options.format == "json":
        write_json(
            {
                name: {
                    "results": len(some),
                    "bytes": sum(one.size for one in some),
                    "last": max(one.at for one in some),
                }
                for name, some in sorted(by_service.items())
            }
        )
        return
    if not by_service:
        write("the cache is empty")
    width = max(map(len, by_service), default=0)
    for name, some in sorted(by_service.items()):
        size, last = sum(one.size for one in some), max(some, key=lambda one: one.at)
        said = f"{counted(len(some), 'result')}, {size:,} bytes; the last {local_time(last.at)}, by {last.run}"
        write((f"{name:<{width}}", "bold"), f"  {said}")


def _refuse_odd(options: Namespace) -> None:
    """Refuse options that mean nothing beside each other."""
    given = [name for name in ("state", "workflow", "since", "last") if getattr(options, name) is not None]
    if options.run and given:
        hint = f"solvent status --{given[0]} ... lists runs; solvent status {options.run} shows one"
        raise Misuse("H313", f"`--{given[0]}` cannot be used with the name of a run", hint=hint)
    if options.molecules and not options.run:
        raise Misuse("H313", "`--molecules` needs the name of a run", hint="solvent status RUN --molecules")


def _wanted(store: Store, options: Namespace, damaged: dict[str, str]) -> tuple[list[RunRecord], list[dict[str, Any]]]:
    """Return the runs of workflows and of programs that are to be listed."""
    records, programs = list_runs(store, damaged), list_programs(store, damaged)
    after = 0.0 if options.since is None else time.time() - options.since
    records = [one for one in records if options.workflow in {None, one.workflow} and one.created >= after]
    programs = [one for one in programs if options.workflow in {None, one["program"]} and one["created"] >= after]
    if options.state:
        records = [one for one in records if status_of(store, one) in options.state]
        programs = [one for one in programs if one["state"] in options.state]
    if options.last is not None:
        began = sorted([one.created for one in records] + [one["created"] for one in programs])[-options.last :]
        records = [one for one in records if one.created >= began[0]]
        programs = [one for one in programs if one["created"] >= began[0]]
    return records, programs


def _show_molecules(store: Store, record: RunRecord, options: Namespace) -> None:
    """Show the solution of a run: the multiset that its shards share."""
    from solvent.cli.replay import workflow_to_replay
    from solvent.lang.printer import print_molecule
    from solvent.runs.replay import Replay

    workflow, folder = workflow_to_replay(store, record, options.file)
    found = Replay(store, record, workflow, folder=folder).standing()
    texts = [sorted(map(print_molecule, shard)) for shard in found.shards]
    if options.format == "json":
        write_json({"run": record.run, "state": status_of(store, record), "under_way": found.under_way,
                    "shards": [{"shard": number, "molecules": some} for number, some in enumerate(texts)]})  # fmt: skip
        return
    for number, some in enumerate(texts):
        if len(texts) > 1:
            write((f"shard {number}", "bold"))
        for text in some:
            write("  " * (len(texts) > 1) + shortened(text))
    if found.under_way:
        write(f"{counted(found.under_way, 'molecule')} under way between shards")


def _list(store: Store, records: list[RunRecord], programs: list[dict[str, Any]], damaged: dict[str, str]) -> None:
    if len(records) > _MAX_RUNS:
        write((f"… and {counted(len(records) - _MAX_RUNS, 'earlier run')}; --format json lists all", "dim"))
    latest = records[-_MAX_RUNS:]
    width = max((len(record.run) for record in latest), default=0)
    for record in latest:
        state = state_of(store, record)
        what = f"{shown(record.workflow)}, by agents" if record.by_agents else record.file
        write(
            (f"{record.run:<{width}}", "bold"),
            "  ",
            (f"{state:<11}", _STYLES.get(state, "")),
            f"  {local_time(record.created)}  {counted(record.tasks, 'task')}  {what}",
        )
    _write_rows([(one, f"{one['program']}, {counted(one['nodes'], 'node')}") for one in programs[-_MAX_RUNS:]])
    for run, why in damaged.items():
        write((run, "bold"), "  ", ("damaged", "bold red"), f"  {shown(why)}")
    if not records and not programs and not damaged:
        write("there are no runs")


def _show_waiting(store: Store, options: Namespace) -> None:
    """List the tasks that wait for people."""
    records = [find(store, options.run)] if options.run else list_runs(store)
    found = [(record, one) for record in records for one in waits_of(store, record)]
    if options.format == "json":
        rows = [
            {"run": record.run, "workflow": record.workflow, "state": state_of(store, record), "task": one.task,
             "signal": one.signal, "since": record.created + one.at}
            for record, one in found
        ]  # fmt: skip
        write_json({"waiting": rows})
        return
    for record, one in found:
        how = f"solvent signal {record.run} {one.signal}{said_store(options)}"
        write((record.run, "bold"), f"  {local_time(record.created + one.at)}  {_said_wait(one)}  ", (how, "bold"))
    if not found:
        write("nothing waits for people")


def _said_wait(one: Waits) -> str:
    return f"`{shown(one.task)}` waits for the signal `{shown(one.signal)}`"


def _write_rows(found: list[tuple[dict[str, Any], str]]) -> None:
    """Write a line for each run, with what it runs."""
    width = max((len(one["run"]) for one, _ in found), default=0)
    for one, what in found:
        when = local_time(one["created"])
        write((f"{one['run']:<{width}}", "bold"), f"  {one['state']:<15}  {when}  {shown(what)}")


def _show(store: Store, record: RunRecord, options: Namespace) -> None:
    """Show a run: its tasks, its shards, and who runs them."""
    from solvent.runs.agents.status import see_run

    seen = see_run(store, record.run)
    if options.format == "json":
        write_json(record_as_json(store, record) | _run_as_json(seen))
        return
    what = f"{counted(record.shards, 'shard')} of agents" if record.by_agents else ""
    how = f"{shown(record.workflow)}, {what}" if what else f"{record.workflow} ({record.file})"
    why = f": {shown(record.why)}" if record.why else ""
    write((record.run, "bold"), ": ", (seen.state, _STYLES.get(seen.state, "")), f"{why}, {how}")
    late = f", must end by {local_time(record.deadline)}" if record.deadline else ""
    write(f"began {local_time(record.created)}" + (f", ended {local_time(record.ended)}" if record.ended else late))
    if seen.state == "running" and not record.by_agents:
        write(f"{holder_of(store, record)} runs it")
    _write_counts(seen)
    _write_tasks(seen.states)
    for wait in seen.view.waits:
        how = f"solvent signal {record.run} {wait.signal}{said_store(options)}"
        write((_said_wait(wait), "bold yellow"), ": ", (how, "bold"))
    for one in seen.failures:
        write((f"task `{one.task}` failed: ", "bold red"), f"{one.kind}: {shortened(one.cause)}")
    if record.by_agents and not record.has_ended:
        _write_shards(seen)
        write_agents(seen.agents)
    _write_troubles(seen)
    if seen.state in _HINTS:
        how = f"to continue: solvent resume {record.run}{said_store(options)}"
        write(f"it cannot be resumed: {record.hindrance}" if record.hindrance else how)


def _run_as_json(seen: RunSeen) -> dict[str, Any]:
    view = seen.view
    return {
        "state": seen.state,
        "states": seen.states,
        "calls": dict(Counter(call.task for call in view.calls if not call.is_repeated)),
        "called_again": view.called_again,
        "seconds": round(seen.record.lasted, 6),
        "stuck": view.stuck,
        "waits": [{"task": one.task, "signal": one.signal, "since": view.began + one.at} for one in view.waits],
        "failures": [{"task": one.task, "kind": one.kind, "cause": one.cause} for one in seen.failures],
        "shards": [
            {"shard": one.number, "agent": one.agent, "epoch": one.epoch, "tasks": one.tasks, "done": one.done,
             "failed": one.failed, "out": one.out, "waiting": one.waiting, "out_at": one.elsewhere}
            for one in seen.shards
        ],
        "agents_seen": [agent_as_json(one) for one in seen.agents],
        "missing_services": list(seen.lacking.missing),
        "services_apart": [list(one) for one in seen.lacking.apart],
        "refusals": [{"agent": one.agent, "shard": one.shard, "why": one.why} for one in seen.refusals],
        "damaged": [{"key": one.key, "why": one.why, "hint": one.hint} for one in seen.damaged],
        "trouble": seen.trouble,
    }  # fmt: skip


def _write_counts(seen: RunSeen) -> None:
    names = ("tasks", "done", "out", "waiting", "failed")
    total = {name: sum(getattr(one, name) for one in seen.shards) for name in names}
    failed = f", {total['failed']:,} failed" if total["failed"] else ""
    again = sum(seen.view.called_again.values())
    write(
        f"{counted(total['tasks'], 'task')}: {total['done']:,} done, {total['out']:,} out, "
        f"{total['waiting']:,} waiting{failed}; {counted(len(seen.view.calls), 'call')}, {again:,} of them repeated"
    )


def _write_troubles(seen: RunSeen) -> None:
    """Write what hinders a run."""
    for line in seen.lacking.lines():
        write((shown(line), "bold yellow"))
    for one in seen.refusals:
        what = "it" if one.shard is None else f"shard {one.shard}"
        write((f"{shown(one.agent)} cannot run {what}: {shown(one.why)}", "bold yellow"))
    for found in seen.damaged:
        write((shown(f"{found.why}; {found.hint}"), "bold yellow"))
    if seen.trouble:
        write((f"{shown(seen.trouble)}; agents continue when there is room", "bold yellow"))


def _write_tasks(states: dict[str, str]) -> None:
    if len(states) > _MAX_TASKS:
        counts = Counter(states.values())
        write("  " + ", ".join(f"{count:,} {state}" for state, count in counts.items()))
        return
    width = max(map(len, states), default=0)
    for name, state in states.items():
        style = _STYLES.get(state, "")
        mark: Piece = (MARKS.get(state, " "), style)
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


def _show_program(board: Board, options: Namespace) -> None:
    """Show a run of a program: its nodes, their processes, and their last reports."""
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
        return
    write((board.run, "bold"), f": {state}, {shown(record.name)}, {counted(record.nodes, 'node')}")
    write(f"began {local_time(record.started_at)}")
    for one in nodes:
        said = f"{one['phase'] or 'no report yet'}, {counted(one['reactions'], 'reaction')}"
        write(f"  node {one['node']:>3}  {shown(one['process']) or 'nobody'}  {said}")
    if seen.ending is None or seen.ending.how == HALTED:
        write(f"to wait for it, or to continue it: solvent run --attach {board.run}{said_store(options)} --spares N")


def program_meant(store: Store, text: str) -> Board | None:
    """Return the run of a program, by its name or a unique beginning of it, unless that is the name of another run."""
    if is_name(text) and record_of(store, text) is not None:
        return None
    runs = runs_in(store)
    matches = [text] if text in runs else [run for run in runs if text and run.startswith(text)]
    return Board(store, matches[0]) if len(matches) == 1 else None


def state_of_program(seen: Seen) -> str:
    """Return the state of a run of a program, in a word."""
    return OPEN if seen.ending is None else seen.ending.how


def _write_shards(seen: RunSeen) -> None:
    alive = {one.name for one in seen.agents if one.is_alive}
    width = max((len(one.agent) for one in seen.shards), default=0)
    for one in seen.shards:
        who = shown(one.agent) or "nobody"
        note = "" if not one.agent or one.agent in alive else " (silent)"
        asked = ", ".join(f"{count:,} at {shown(name)}" for name, count in one.elsewhere.items())
        many = f"{one.done:,} done, {one.out:,} out{f' ({asked})' if asked else ''}, {one.waiting:,} waiting" + (
            f", {one.failed:,} failed" if one.failed else ""
        )
        write(f"  shard {one.number:>3}  {who:<{max(width, 6)}}  {many}{note}")
