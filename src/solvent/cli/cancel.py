"""`solvent cancel`: end a run of another process, of agents, or of a program over nodes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.arguments import add_format, add_store, parser_for, seconds
from solvent.cli.records import add_run, open_records, record_as_json, said_store
from solvent.cli.render import write, write_json
from solvent.cli.status import OPEN, list_programs, program_meant, state_of_program
from solvent.errors import Misuse, RecordProblem
from solvent.runs.nodes.shared import HALTED
from solvent.runs.registry import existing, find, list_runs
from solvent.runs.run_handle import MAX_LEAVING_SECONDS, cancel_run

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.runs.nodes.shared import Board
    from solvent.store import Store


def main(arguments: list[str]) -> int:
    """Cancel a run, and wait until it has ended."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        if not options.run:
            options.run = _latest_open(store)
            if not options.yes and not _is_meant(options):
                write("no run was cancelled")
                return 1
        program = program_meant(store, options.run)
        if program is not None:
            return _halt(program, options)
        record = find(store, options.run)
        had_ended = record.has_ended
        holder = cancel_run(store, record, options.wait, why="by `solvent cancel`")
        record = existing(store, record.run)
        found = record_as_json(store, record)
    if options.format == "json":
        write_json(found)
    elif had_ended:
        write(f"{record.run} had ended before: {record.state}")
    elif holder is None:
        write(f"{record.run}: {record.state}")
    else:
        write(f"{record.run}: {record.state}; {holder} has not left it yet")
    return 0 if holder is None else 3


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "End a run for good: its calls are cancelled, and it cannot be resumed. The nodes of a program are halted."
    parser = parser_for("cancel", says, example="solvent cancel\n  solvent cancel pipeline-7k3q")
    add_run(parser, default="the latest that has not ended; asks first")
    says = "do not ask before the latest run is cancelled; required without a terminal"
    parser.add_argument("-y", "--yes", action="store_true", help=says)
    says = "how long to wait until its process has left the run, in seconds (default: %(default)s)"
    parser.add_argument("--wait", type=seconds, default=MAX_LEAVING_SECONDS, metavar="S", help=says)
    add_store(parser)
    add_format(parser)
    return parser


def _latest_open(store: Store) -> str:
    """Return the name of the run that began last and has not ended: by one process, by agents, or over nodes."""
    began = [(record.created, record.run) for record in list_runs(store) if not record.has_ended]
    began += [(one["created"], one["run"]) for one in list_programs(store, {}) if one["state"] == OPEN]
    if not began:
        raise RecordProblem("R401", f"no run in {store.url} is left to cancel", hint="`solvent status` lists all runs")
    return max(began)[1]


def _is_meant(options: Namespace) -> bool:
    """Ask whether the run is to be cancelled."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        how = f"`solvent cancel {options.run}{said_store(options)}`"
        said = f"the latest run is {options.run}, and no terminal can confirm that it is to be cancelled"
        raise Misuse("H324", said, hint=f"name it, {how}, or add --yes")
    print(f"Cancel the run {options.run}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _halt(board: Board, options: Namespace) -> int:
    """Halt a program."""
    is_new = board.end(HALTED)
    state = state_of_program(board.look())
    if options.format == "json":
        write_json({"run": board.run, "state": state})
    else:
        write(f"{board.run}: {state}" if is_new else f"{board.run} had ended before: {state}")
    return 0
