"""What `solvent status` and `solvent cancel` do with a program whose nodes are kept in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.cli.records import local_time, said_store
from solvent.cli.render import counted, write, write_json
from solvent.cli.secrecy import shown
from solvent.errors import StoreError
from solvent.runs.nodes.shared import HALTED, Board, runs_in

if TYPE_CHECKING:
    from argparse import Namespace

    from solvent.runs.nodes.shared import Seen
    from solvent.store import Store

_GOES_ON = "not over"
_DAMAGED = frozenset({"E406", "E407"})
"""It does not read, or another version has written it."""


def list_programs(store: Store, damaged: dict[str, str]) -> list[dict[str, Any]]:
    """Give all runs of programs, for a list; `damaged` gets the names of those that do not read, and why."""
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
        found.append({"run": run, "program": record.name, "state": _state(seen), "created": record.started_at,
                      "nodes": record.nodes})  # fmt: skip
    return found


def write_programs(found: list[dict[str, Any]]) -> None:
    """Write a line for each run of a program."""
    width = max((len(one["run"]) for one in found), default=0)
    for one in found:
        what = f"{shown(one['program'])}, {counted(one['nodes'], 'node')}"
        write((f"{one['run']:<{width}}", "bold"), f"  {one['state']:<15}  {local_time(one['created'])}  {what}")


def show_program(store: Store, options: Namespace) -> bool:
    """Show how a program stands: its nodes, who has them, and how they were when they said so last."""
    board = _board(store, options.run)
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
    state = _state(seen)
    if options.format == "json":
        write_json({"run": board.run, "program": record.name, "state": state, "created": record.started_at,
                    "nodes": nodes})  # fmt: skip
        return True
    write((board.run, "bold"), f": {state}, {shown(record.name)}, {counted(record.nodes, 'node')}")
    write(f"began {local_time(record.started_at)}")
    for one in nodes:
        said = f"{one['phase'] or 'nothing said yet'}, {counted(one['reactions'], 'reaction')}"
        write(f"  node {one['node']:>3}  {shown(one['process']) or 'nobody'}  {said}")
    if seen.ending is None or seen.ending.how == HALTED:
        write(f"to wait for it, or to go on: solvent run --attach {board.run}{said_store(options)} --spares N")
    return True


def cancel_program(store: Store, options: Namespace) -> int | None:
    """Halt a program; nothing if there is none of this name."""
    board = _board(store, options.run)
    if board is None:
        return None
    is_new = board.end(HALTED)
    state = _state(board.look())
    if options.format == "json":
        write_json({"run": board.run, "state": state})
    else:
        write(f"{board.run}: {state}" if is_new else f"{board.run} had ended before: {state}")
    return 0


def _board(store: Store, text: str) -> Board | None:
    runs = runs_in(store)
    matches = [text] if text in runs else [run for run in runs if text and run.startswith(text)]
    return Board(store, matches[0]) if len(matches) == 1 else None


def _state(seen: Seen) -> str:
    return _GOES_ON if seen.ending is None else seen.ending.how


__all__ = ["cancel_program", "list_programs", "show_program", "write_programs"]
