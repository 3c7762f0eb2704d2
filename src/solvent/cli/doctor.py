"""`solvent doctor`: what is installed, and whether what runs need is there and serves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from solvent.cli.arguments import add_format, parser_for
from solvent.cli.records import add_store
from solvent.cli.render import write, write_json
from solvent.cli.secrecy import VARIABLE

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from solvent.cli.examining import Finding

_MARKS = {"there": ("✓", "bold green"), "missing": ("-", "dim"), "broken": ("✗", "bold red")}
_SAYS = (
    "Say what is installed, which extras are there, whether the store can be read and written, and which limits hold.\n"
    "Exit code 1 if something that is needed, or the store that was named, does not serve; extras may be missing."
)


def main(arguments: list[str]) -> int:
    """Look at everything, tell it, and say by the exit code whether all is well."""
    options = parser().parse_args(arguments)
    from solvent.cli.examining import look_at_limits, look_at_packages, look_at_programs, look_at_store

    store = look_at_store(options.store or os.environ.pop(VARIABLE, ""))
    found = [*look_at_packages(), store, *look_at_programs(), *look_at_limits()]
    broken = [one for one in found if one.state == "broken"]
    if options.format == "json":
        write_json({"well": not broken, **_here(), "findings": [one._asdict() for one in found]})
    else:
        _tell(found)
        write((f"does not serve: {', '.join(one.name for one in broken)}", "bold red") if broken else "all is well")
    return 1 if broken else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("doctor", _SAYS, example="solvent doctor\n  solvent doctor --store nats://127.0.0.1:4222")
    add_store(parser)
    add_format(parser)
    return parser


def _here() -> dict[str, str]:
    import platform
    import sys

    from solvent import __version__

    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {"solvent": __version__, "python": f"{python}, {sys.executable}", "platform": platform.platform()}


def _tell(found: list[Finding]) -> None:
    here = _here()
    width = max(len(one) for one in [*here, *(one.name for one in found)])
    for name, says in here.items():
        write(_MARKS["there"], f" {name:<{width}}  {says}")
    group = ""
    for one in found:
        if one.group != group:
            group = one.group
            write((f"\n{group}", "bold"))
        write(_MARKS[one.state], f" {one.name:<{width}}  {one.says}")
        if one.hint:
            write((f"  {'':<{width}}  hint: {one.hint}", "cyan"))
    write("")


__all__ = ["main", "parser"]
