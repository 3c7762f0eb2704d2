"""`solvent prune`: remove runs that have ended from the store, and what nothing uses any more."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import add_format, add_store, at_least, duration, parser_for
from solvent.cli.records import local_time, open_records, said_store
from solvent.cli.render import counted, write, write_json
from solvent.cli.secrecy import shown
from solvent.errors import Misuse, RecordProblem
from solvent.runs.prune import choose, ended_runs, prune
from solvent.runs.registry import names_in

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.runs.prune import EndedRun, Pruned
    from solvent.store import Store

_MAX_RUNS = 50
_MIN_SAID = 100_000
"""From how many bytes on it is said that the store's file is smaller."""
STATES = ("done", "failed", "cancelled", "inert", "halted")
"""The states of runs that have ended; the last two are those of programs."""


def main(arguments: list[str]) -> int:
    """Remove runs, after asking, or list those that would be removed."""
    options = parser().parse_args(arguments)
    if options.cache:
        return _clear_cache(options)
    with open_records(options) as store:
        chosen = _chosen(store, options)
        if options.dry_run:
            found = prune(store, chosen, is_tried=True)
            if options.format != "json":
                _list(chosen)
        else:
            if chosen and not options.yes and not _is_meant(chosen, options):
                write("nothing was removed")
                return 1
            found = prune(store, chosen)
    if options.format == "json":
        write_json(_as_json(found, is_tried=options.dry_run))
    else:
        would = "would be removed" if options.dry_run else "removed"
        size = f" ({found.bytes:,} bytes)" if found.blobs else ""
        agents = f", {counted(len(found.agents), 'heartbeat')} of dead processes" if found.agents else ""
        freed = f"; the store's file is {found.freed:,} bytes smaller" if found.freed >= _MIN_SAID else ""
        write(f"{counted(len(found.runs), 'run')}, {counted(found.blobs, 'blob')}{size}{agents} {would}{freed}")
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = (
        "Remove runs that have ended, with their journals and messages, and whatever nothing uses any more: blobs, "
        "announcements, and what dead agents have left. A run that has not ended is never removed. What other "
        "processes store meanwhile stays; results that nothing names stay for an hour."
    )
    example = "solvent prune --older-than 30d --dry-run\n  solvent prune --keep 20 --yes\n  solvent prune pipeline-7k3q"
    parser = parser_for("prune", says, example=example)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="the names of runs (default: all that the options mean)")
    says = "runs that ended so long ago: 90m, 12h, 30d, 2w"
    parser.add_argument("--older-than", type=duration, metavar="AGE", help=says)
    says = f"runs in this state; may be given several times: {', '.join(STATES)}"
    parser.add_argument("--state", action="append", choices=STATES, metavar="STATE", help=says)
    parser.add_argument("--workflow", metavar="NAME", help="runs of this workflow or program")
    says = "all of these but the N that began last (0: all of them)"
    parser.add_argument("--keep", type=at_least(0), metavar="N", help=says)
    says = "remove what `status --cache` lists instead, or, with --older-than, what is older; no runs"
    parser.add_argument("--cache", action="store_true", help=says)
    parser.add_argument("--dry-run", action="store_true", help="show what would be removed, and remove nothing")
    says = "do not ask before runs are removed; required without a terminal"
    parser.add_argument("-y", "--yes", action="store_true", help=says)
    add_store(parser)
    add_format(parser)
    return parser


def _clear_cache(options: Namespace) -> int:
    """Remove results that calls share; the space that they take goes with the next prune of runs."""
    from solvent.runs.cache import clear, results_in

    others = [name for name in ("runs", "state", "workflow", "keep") if getattr(options, name)]
    if others:
        raise Misuse("H313", "`--cache` removes no runs", hint="solvent prune --cache, or with --older-than AGE")
    with open_records(options) as store:
        until = time.time() - (options.older_than or 0.0)
        if options.dry_run:
            many = sum(one.at <= until for _, one in results_in(store))
        else:
            many = clear(store, older_than=options.older_than or 0.0)
    if options.format == "json":
        write_json({"results": many, "dry_run": options.dry_run})
    else:
        write(f"{counted(many, 'result')} {'would be removed' if options.dry_run else 'removed'}")
    return 0


def _chosen(store: Store, options: Namespace) -> list[EndedRun]:
    """Return the runs that the options mean."""
    has_options = any(getattr(options, name) is not None for name in ("older_than", "state", "workflow", "keep"))
    if bool(options.runs) == has_options:
        said = "runs are named, or meant by --older-than, --state, --workflow and --keep"
        raise Misuse("H313", said, hint="solvent prune --older-than 30d, or solvent prune --keep 20")
    ended = ended_runs(store)
    if has_options:
        return choose(
            ended,
            older_than=options.older_than or 0.0,
            states=options.state or (),
            workflow=options.workflow or "",
            keep=options.keep or 0,
        )
    by_name = {one.run: one for one in ended}
    for name in options.runs:
        if name not in by_name:
            is_there = name in names_in(store)
            said = f"the run `{name}` has not ended" if is_there else f"there is no run `{name}` in {store.url}"
            hint = f"end it first: `solvent cancel {name}`" if is_there else "`solvent status` lists all runs"
            raise RecordProblem("R401", said, hint=hint)
    return [by_name[name] for name in dict.fromkeys(options.runs)]


def _list(runs: list[EndedRun]) -> None:
    width = max((len(one.run) for one in runs), default=0)
    for one in runs[-_MAX_RUNS:]:
        write((f"{one.run:<{width}}", "bold"), f"  {one.state:<10}  {local_time(one.ended)}  {shown(one.what)}")
    if len(runs) > _MAX_RUNS:
        write((f"… and {counted(len(runs) - _MAX_RUNS, 'earlier run')}", "dim"))


def _is_meant(runs: list[EndedRun], options: Namespace) -> bool:
    """Ask whether the runs are to be removed."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        said = f"{counted(len(runs), 'run')} would be removed, and no terminal can confirm that"
        how = f"`solvent prune ... --dry-run{said_store(options)}` lists them; add --yes to remove them"
        raise Misuse("H324", said, hint=how)
    _list(runs)
    print(f"Remove {counted(len(runs), 'run')} for good? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _as_json(found: Pruned, *, is_tried: bool) -> dict[str, Any]:
    return {
        "runs": [
            {"run": one.run, "state": one.state, "workflow": one.what, "created": one.created, "ended": one.ended}
            for one in found.runs
        ],
        "blobs": found.blobs,
        "bytes": found.bytes,
        "agents": list(found.agents),
        "freed": found.freed,
        "dry_run": is_tried,
    }
