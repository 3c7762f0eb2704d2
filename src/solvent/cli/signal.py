"""`solvent signal`: send a signal to a run, whoever has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.cli.arguments import add_format, add_store, parser_for
from solvent.cli.records import open_records
from solvent.cli.render import write, write_json
from solvent.errors import Misuse
from solvent.runs.registry import find
from solvent.runs.signals import send_signal

if TYPE_CHECKING:
    from argparse import ArgumentParser


def main(arguments: list[str]) -> int:
    """Send a signal."""
    options = parser().parse_args(arguments)
    value = _value_of(options.value)
    with open_records(options) as store:
        run = find(store, options.run).run
        number = send_signal(store, run, options.name, value, id=options.id or "")
    if options.format == "json":
        write_json({"run": run, "signal": options.name, "id": number})
    else:
        write((run, "bold"), f": sent the signal `{options.name}`")
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = (
        "Send a signal to a run: tasks that wait for it start. It is kept if it comes early, and while nobody has "
        "the run. `solvent status --waiting` lists what waits."
    )
    example = 'solvent signal pipeline-7k3q approved\n  solvent signal pipeline-7k3q approved \'{"by": "Ann"}\''
    parser = parser_for("signal", says, example=example)
    parser.add_argument("run", metavar="RUN", help="the name of a run, or the beginning of it")
    parser.add_argument("name", metavar="NAME", help="the signal")
    parser.add_argument("value", nargs="?", metavar="JSON", help="what comes with it (default: null)")
    says = "a name for this signal: if it is sent again by the same one, it is heard once (default: a new one)"
    parser.add_argument("--id", metavar="ID", help=says)
    add_store(parser)
    add_format(parser)
    return parser


def _value_of(text: str | None) -> object:
    import json

    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        said = f"the value of a signal must be JSON, not `{text}`"
        raise Misuse("H319", said, hint="text needs quotes: '\"text\"'") from None
