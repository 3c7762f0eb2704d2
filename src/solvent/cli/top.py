"""`solvent top`: what the nodes of a run are doing, again and again until it is over."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from solvent.cli.loading import add_format, parser_for, seconds
from solvent.cli.render import complain, write, write_json
from solvent.errors import Misuse, NodeProblem

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

    from solvent.cli.top_shared import SharedStatuses
    from solvent.running.nodes.control import Line, Status
    from solvent.running.nodes.folder import RunRecord

_COLUMNS = ("node", "state", "mode", "rule", "molecules", "known", "reactions", "messages/s", "life")
_SECONDS_TO_REACH = 2.0
_RULE_MAX = 24


def main(arguments: list[str]) -> int:
    """Show a run's nodes until it is over."""
    options = _options(arguments)
    view = _View(_folder(options.run)) if options.space is None else _shared(options)
    if options.format == "json" or options.once or not sys.stdout.isatty():
        first = view.look()
        if first:
            # Rates need two looks.
            time.sleep(min(options.every, 0.5))
        _print(view, view.look() or first, options)
        return 0
    return _watch(view, options.every)


def _options(arguments: list[str]) -> Namespace:
    says = "Show what the nodes of a run are doing: how they capture, by which rule, how many molecules and messages."
    parser = parser_for("top", says, example="solvent top\n  solvent top /tmp/run --once")
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's folder or name (default: the latest)")
    says = "the space that the run is kept in (default of RUN: the latest there)"
    parser.add_argument("--space", metavar="URL", help=says)
    parser.add_argument("--once", action="store_true", help="show it once, and end")
    says = "how often to look, in seconds (default: %(default)s)"
    parser.add_argument("--every", type=seconds, default=1.0, metavar="S", help=says)
    add_format(parser)
    return parser.parse_args(arguments)


def _folder(given: str | None) -> Path:
    from pathlib import Path

    from solvent.running.nodes.folder import RUN, known_runs, runs_folder

    if given is not None:
        return next((one for one in (Path(given), runs_folder() / given) if (one / RUN).exists()), Path(given))
    runs = [one for one in known_runs() if _is_alive(one)]
    if not runs:
        hint = "name a run's folder: `solvent top DIR`"
        raise Misuse("H345", "no run over nodes is going on, as far as is known here", hint=hint)
    return runs[0]


def _shared(options: Namespace) -> _View:
    from solvent.cli.top_shared import SharedStatuses

    return _View(SharedStatuses(options.space, options.run))


def _is_alive(folder: Path) -> bool:
    """Say whether the launcher of a run is there."""
    from solvent.running.nodes.folder import load_run

    try:
        os.kill(load_run(folder).process, 0)
    except (OSError, Misuse):
        return False
    return True


class _View:
    """What the nodes of a run said last, by connections to them, or in their space."""

    def __init__(self, where: Path | SharedStatuses) -> None:
        from pathlib import Path

        from solvent.running.nodes.folder import load_run

        self.shared = None if isinstance(where, Path) else where
        self.record: RunRecord = load_run(where) if isinstance(where, Path) else where.record
        self.rates: dict[int, float] = {}
        self._lines: dict[int, Line] = {}
        self._last: dict[int, Status] = {}

    def look(self) -> dict[int, Status]:
        """Ask every node how it is; those that do not answer are left out."""
        found = self._asked() if self.shared is None else self.shared.look()
        for node, status in found.items():
            before = self._last.get(node)
            if before is not None and before.process == status.process and status.at > before.at:
                self.rates[node] = (status.messages_sent - before.messages_sent) / (status.at - before.at)
        self._last = found
        return found

    def _asked(self) -> dict[int, Status]:
        from solvent.running.nodes.control import AskStatus, Line

        found: dict[int, Status] = {}
        for node, address in enumerate(self.record.addresses):
            try:
                line = self._lines.get(node)
                if line is None:
                    secret = bytes.fromhex(self.record.secret)
                    line = self._lines[node] = Line(address, secret, seconds_max=_SECONDS_TO_REACH)
                found[node] = line.ask(AskStatus(), seconds_max=_SECONDS_TO_REACH)
            except NodeProblem:
                self._lines.pop(node, None)
        return found

    def rows(self, statuses: dict[int, Status]) -> list[list[str]]:
        """Give the cells of a table, all nodes in order."""
        rows = []
        for node in range(len(self.record.addresses)):
            status = statuses.get(node)
            if status is None:
                rows.append([str(node), "gone", *[""] * (len(_COLUMNS) - 2)])
                continue
            rows.append(
                [
                    str(node),
                    status.phase,
                    status.mode,
                    status.rule[:_RULE_MAX],
                    f"{status.molecules:,}",
                    f"{status.known:,}",
                    f"{status.reactions:,}",
                    f"{self.rates[node]:,.0f}" if node in self.rates else "-",
                    str(status.life),
                ]
            )
        return rows

    def as_json(self, statuses: dict[int, Status]) -> dict[str, Any]:
        """Give the same for a machine."""
        nodes = [
            {
                "node": node,
                "state": status.phase,
                "mode": status.mode,
                "rule": status.rule,
                "molecules": status.molecules,
                "known": status.known,
                "reactions": status.reactions,
                "messages": status.messages_sent,
                "messages_per_second": round(self.rates[node], 1) if node in self.rates else None,
                "life": status.life,
                "process": status.process,
            }
            for node, status in sorted(statuses.items())
        ]
        return {"run": self.record.run, "program": self.record.name, "nodes": nodes}


def _print(view: _View, statuses: dict[int, Status], options: Namespace) -> None:
    if options.format == "json":
        write_json(view.as_json(statuses))
        return
    if not statuses:
        complain(f"no node of the run {view.record.run} answers")
        return
    rows = [list(_COLUMNS), *view.rows(statuses)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS))]
    write(f"{view.record.run}: {view.record.name}")
    for row in rows:
        cells = [
            one.ljust(width) if at in (1, 2, 3) else one.rjust(width) for at, (one, width) in _numbered(row, widths)
        ]
        write("  ".join(cells).rstrip())


def _numbered(row: list[str], widths: list[int]) -> Any:
    return enumerate(zip(row, widths, strict=True))


def _watch(view: _View, every: float) -> int:
    """Draw the table anew until no node answers any more."""
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(), auto_refresh=False) as live:
        while True:
            statuses = view.look()
            if view.shared.is_over if view.shared is not None else not statuses:
                break
            live.update(_table(view, statuses), refresh=True)
            time.sleep(every)
    write(f"the run {view.record.run} is over")
    return 0


def _table(view: _View, statuses: dict[int, Status]) -> Any:
    from rich.table import Table

    title = f"{view.record.run}: {view.record.name}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in ("state", "mode", "rule") else "right", no_wrap=True)
    for row in view.rows(statuses):
        table.add_row(*row, style="red" if row[1] in ("gone", "failed") else "green" if row[1] == "inert" else None)
    return table


__all__ = ["main"]
