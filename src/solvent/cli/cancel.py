"""`solvent cancel`: end a run of another process, of agents, or of a program over nodes."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from solvent.cli.agent_runs import find_run_of_agents, list_runs
from solvent.cli.arguments import add_format, add_store, parser_for, seconds
from solvent.cli.records import add_run, card_as_json, open_records, said_store
from solvent.cli.render import write, write_json
from solvent.cli.status import find_program, list_programs, state_of_program
from solvent.errors import Misuse, RecordProblem
from solvent.runs.nodes.shared import HALTED
from solvent.runs.records.runs import all_runs, cancel, find

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.store import Store

LOOK_SECONDS = 0.05
WAIT_SECONDS = 10.0
_OPEN = frozenset({"submitted", "not over"})
"""The states of open runs in lists: of agents, and of programs."""


def main(arguments: list[str]) -> int:
    """Cancel a run, and wait until it has ended."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        if not options.run:
            options.run = _latest_open(store)
            if not options.yes and not _is_meant(options):
                write("no run was cancelled")
                return 1
        code = _cancel_agents(store, options)
        if code is None:
            code = _cancel_program(store, options)
        if code is not None:
            return code
        card = find(store, options.run)
        had_ended = card.has_ended
        is_done = had_ended or cancel(store, card)
        until = time.monotonic() + options.wait
        while not is_done and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            is_done = find(store, card.run).has_ended
        card = find(store, card.run)
    if options.format == "json":
        write_json(card_as_json(card))
    elif had_ended:
        write(f"{card.run} had ended before: {card.state}")
    elif is_done:
        write(f"{card.run}: {card.state}")
    else:
        write(f"{card.run} was asked to end, and has not ended yet: {card.holder} runs it")
    return 0 if is_done else 3


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "End a run for good: its calls are cancelled, and it cannot be resumed. The nodes of a program are halted."
    parser = parser_for("cancel", says, example="solvent cancel\n  solvent cancel pipeline-7k3q")
    add_run(parser, default="the latest that has not ended; asks first")
    says = "do not ask before the latest run is cancelled; required without a terminal"
    parser.add_argument("-y", "--yes", action="store_true", help=says)
    says = "how long to wait until the run has ended, in seconds (default: %(default)s)"
    parser.add_argument("--wait", type=seconds, default=WAIT_SECONDS, metavar="S", help=says)
    add_store(parser)
    add_format(parser)
    return parser


def _latest_open(store: Store) -> str:
    """Return the name of the run that began last and has not ended: by one process, by agents, or over nodes."""
    began = [(card.created, card.run) for card in all_runs(store) if not card.has_ended]
    listed = [*list_runs(store, {}), *list_programs(store, {})]
    began += [(one["created"], one["run"]) for one in listed if one["state"] in _OPEN]
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


def _cancel_agents(store: Store, options: Namespace) -> int | None:
    """Cancel a run of agents; return None if there is none."""
    from solvent.runs.agents.plans import end, ending_of

    run = find_run_of_agents(store, options.run)
    if run is None:
        return None
    had = ending_of(store, run)
    if had is None:
        end(store, run, "cancelled", "by `solvent cancel`")
    now = ending_of(store, run)
    assert now is not None
    if options.format == "json":
        write_json({"run": run, "state": now.state, "ended": now.at})
    else:
        write(f"{run} had ended before: {had.state}" if had is not None else f"{run}: {now.state}")
    return 0


def _cancel_program(store: Store, options: Namespace) -> int | None:
    """Halt a program; return None if there is none."""
    board = find_program(store, options.run)
    if board is None:
        return None
    is_new = board.end(HALTED)
    state = state_of_program(board.look())
    if options.format == "json":
        write_json({"run": board.run, "state": state})
    else:
        write(f"{board.run}: {state}" if is_new else f"{board.run} had ended before: {state}")
    return 0
