"""`solvent lab reproduce handover`: the figures and the table of the paper on data handover, and message counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.cli.loading import at_least, parser_for
from solvent_lab.cli.reproduce import PAPERS, add_common, carry_out, figure_of, folder_of, write_claims

if TYPE_CHECKING:
    from argparse import ArgumentParser

FIGURES: tuple[int | str, ...] = (7, 8, "table-2", "messages")
_SAYS = f"""\
Run the experiments of a paper again: {PAPERS["handover"]}.
For every figure the data as CSV and the plot as PNG and SVG, and a table of what the paper says beside what we measure.

  7          cycle time by the size of the data, client-server and peer to peer; the paper's formula (4)
  8          cycle, waiting and blocking times by T_Wblocked; 50 peers, 50 MiB
  table-2    what it costs the others if 25, 33 or 50 % of 50 or 120 peers leave and come back
  messages   messages of each operation for 8 to 10,000 processes (small: 2,048), with lines over log2 n and over n

What has been measured is kept: the same command goes on where it was interrupted. At small scale, which is usual, that
takes about a minute on two cores; with the paper's 100 cycles of each peer (--scale paper) about half an hour."""
_EXAMPLE = """\
solvent lab reproduce handover --out figures
  solvent lab reproduce handover --figure table-2 --scale paper"""


def main(arguments: list[str]) -> int:
    """Reproduce figures; 130 if it was interrupted, 2 if plots were wanted that cannot be drawn."""
    options = parser().parse_args(arguments)
    from solvent_lab.experiments.handover.cells import SCALES
    from solvent_lab.experiments.handover.reproduction import Reproduction

    scale = SCALES[options.scale]
    if options.runs is not None:
        scale = scale._replace(runs=options.runs, runs_leaving=options.runs)
    wanted = [figure for figure in FIGURES if figure in (options.figure or FIGURES)]
    reproduction = Reproduction(
        folder_of(options.out),
        scale,
        wanted,
        seed=options.seed,
        again=options.again,
        with_plots=not options.no_plots,
        processes=options.processes,
    )
    return carry_out(reproduction, options, write_claims)


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("lab reproduce handover", _SAYS, example=_EXAMPLE)
    add = parser.add_argument
    which = f"only this figure, may be repeated: {', '.join(map(str, FIGURES))}"
    add("--figure", type=figure_of(FIGURES), action="append", metavar="N", help=which)
    says = "runs of each setup, each from a seed of its own (default: 2; 1 at the paper's scale)"
    add("--runs", type=at_least(1), metavar="R", help=says)
    says = "paper: 100 cycles of each peer; small: 10 cycles, fewer sizes and times (default: small)"
    add_common(parser, scales=says)
    parser.set_defaults(scale="small")
    return parser
