"""`solvent top`: what the nodes of a run are doing, until it is over."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import add_format, parser_for, seconds
from solvent.cli.render import complain, harmless, write, write_json
from solvent.errors import Misuse

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from pathlib import Path

    from solvent.runs.nodes.control import Status
    from solvent.runs.nodes.looking import Nodes

_COLUMNS = ("node", "state", "mode", "rule", "molecules", "known", "reactions", "messages/s", "life")
_MAX_RULE = 24


def main(arguments: list[str]) -> int:
    """Show a run's nodes until it is over."""
    options = parser().parse_args(arguments)
    nodes = _nodes(options)
    if options.format == "json" or options.once or not sys.stdout.isatty():
        first = nodes.look()
        if first:
            # Rates need two looks.
            time.sleep(min(options.every, 0.5))
        _print(nodes, nodes.look() or first, options)
        return 0
    return _watch(nodes, options.every)


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Show what the nodes of a run are doing: how they capture, by which rule, how many molecules and messages."
    parser = parser_for("top", says, example="solvent top\n  solvent top /tmp/run --once")
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's folder or name (default: the latest)")
    says = "the store of the run (default of RUN: the latest there)"
    parser.add_argument("--store", metavar="URL", help=says)
    parser.add_argument("--once", action="store_true", help="print it once")
    says = "the interval in seconds (default: %(default)s)"
    parser.add_argument("--every", type=seconds, default=1.0, metavar="S", help=says)
    add_format(parser)
    return parser


def _nodes(options: Namespace) -> Nodes:
    from solvent.runs.nodes.looking import AskedNodes, SharedNodes

    if options.store is None:
        return AskedNodes(_folder(options.run))
    from solvent.store import open_store

    return SharedNodes(open_store(options.store, is_made=False), options.run)


def _folder(given: str | None) -> Path:
    from pathlib import Path

    from solvent.runs.nodes.folder import RUN, known_runs, runs_folder
    from solvent.runs.nodes.looking import is_going_on

    if given is not None:
        return next((one for one in (Path(given), runs_folder() / given) if (one / RUN).exists()), Path(given))
    runs = [one for one in known_runs() if is_going_on(one)]
    if not runs:
        hint = "name a run's folder: `solvent top DIR`"
        raise Misuse("H345", "no run over nodes was found that is not over", hint=hint)
    return runs[0]


def _rows(nodes: Nodes, statuses: dict[int, Status]) -> list[list[str]]:
    """Return the cells of a table, all nodes in order."""
    rows = []
    for node in range(nodes.count):
        status = statuses.get(node)
        if status is None:
            rows.append([str(node), "gone", *[""] * (len(_COLUMNS) - 2)])
            continue
        rows.append(
            [
                str(node),
                status.phase,
                status.mode,
                status.rule[:_MAX_RULE],
                f"{status.molecules:,}",
                f"{status.known:,}",
                f"{status.reactions:,}",
                f"{nodes.rates[node]:,.0f}" if node in nodes.rates else "-",
                str(status.life),
            ]
        )
    return rows


def _print(nodes: Nodes, statuses: dict[int, Status], options: Namespace) -> None:
    if options.format == "json":
        write_json(nodes.as_json(statuses))
        return
    if not statuses:
        complain(f"no node of the run {nodes.run} answers")
        return
    rows = [list(_COLUMNS), *_rows(nodes, statuses)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS))]
    write(f"{nodes.run}: {nodes.program}")
    for row in rows:
        cells = [
            one.ljust(width) if at in (1, 2, 3) else one.rjust(width) for at, (one, width) in _numbered(row, widths)
        ]
        write("  ".join(cells).rstrip())


def _numbered(row: list[str], widths: list[int]) -> Any:
    return enumerate(zip(row, widths, strict=True))


def _watch(nodes: Nodes, every: float) -> int:
    """Refresh the table until no node answers."""
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(), auto_refresh=False) as live:
        while True:
            statuses = nodes.look()
            if nodes.is_over:
                break
            live.update(_table(nodes, statuses), refresh=True)
            time.sleep(every)
    write(f"the run {nodes.run} is over")
    return 0


def _table(nodes: Nodes, statuses: dict[int, Status]) -> Any:
    from rich.table import Table
    from rich.text import Text

    title = Text(harmless(f"{nodes.run}: {nodes.program}"))
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in ("state", "mode", "rule") else "right", no_wrap=True)
    for row in _rows(nodes, statuses):
        cells = [Text(harmless(one)) for one in row]
        table.add_row(*cells, style="red" if row[1] in ("gone", "failed") else "green" if row[1] == "inert" else None)
    return table
