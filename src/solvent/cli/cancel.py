"""`solvent cancel`: end a run, also one of another process, of agents, or of the nodes of a program."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from solvent.cli.agent_records import cancel_run
from solvent.cli.loading import add_format, parser_for, seconds
from solvent.cli.program_records import cancel_program
from solvent.cli.recording import add_run, add_space, card_as_json, open_records
from solvent.cli.render import write, write_json
from solvent.running.records.runs import cancel, find

if TYPE_CHECKING:
    from argparse import Namespace

LOOK_SECONDS = 0.05
PATIENCE = 10.0


def main(arguments: list[str]) -> int:
    """Cancel a run, and wait until it has heard."""
    options = _options(arguments)
    with open_records(options) as space:
        code = cancel_run(space, options)
        if code is None:
            code = cancel_program(space, options)
        if code is not None:
            return code
        card = find(space, options.run)
        had_ended = card.has_ended
        is_done = had_ended or cancel(space, card)
        until = time.monotonic() + options.wait
        while not is_done and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            is_done = find(space, card.run).has_ended
        card = find(space, card.run)
    if options.format == "json":
        write_json(card_as_json(card))
    elif had_ended:
        write(f"{card.run} had ended before: {card.state}")
    elif is_done:
        write(f"{card.run}: {card.state}")
    else:
        write(f"{card.run} is asked to end, and has not yet: {card.holder} has it")
    return 0 if is_done else 3


def _options(arguments: list[str]) -> Namespace:
    says = "End a run: what it calls is ended, and nobody goes on with it; the nodes of a program are halted."
    parser = parser_for("cancel", says, example="solvent cancel pipeline-7k3q")
    add_run(parser)
    says = "how long to wait until the run has ended, in seconds (default: %(default)s)"
    parser.add_argument("--wait", type=seconds, default=PATIENCE, metavar="S", help=says)
    add_space(parser)
    add_format(parser)
    return parser.parse_args(arguments)
