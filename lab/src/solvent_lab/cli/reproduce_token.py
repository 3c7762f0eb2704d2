"""`solvent lab reproduce token`: figures 9 and 10 of the paper on token passing, its variants, and full load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.cli.loading import at_least, parser_for
from solvent_lab.cli.reproduce import PAPERS, add_common, carry_out, figure_of, folder_of, write_claims

if TYPE_CHECKING:
    from argparse import ArgumentParser

FIGURES: tuple[int | str, ...] = (9, 10, "variants", "full", "losses")
_SAYS = f"""\
Run the simulations of a paper again: {PAPERS["token"]}.
For every figure the data as CSV and the plot as PNG and SVG, and a table of what the paper says beside what we measure.

  9          how soon somebody is served, and for how many messages, at a fixed load, by the number of nodes
  10         the same for 100 nodes at falling load
  variants   the paper's variants of the search
  full       every node always wants the token
  losses     messages that do not carry the token get lost

What has been measured is kept: the same command goes on where it was interrupted. At the paper's scale, with 1,000
rounds of the token in each run, all figures take about an hour on two cores."""
_EXAMPLE = """\
solvent lab reproduce token --out figures
  solvent lab reproduce token --figure 10 --runs 3
  solvent lab reproduce token --scale small"""


def main(arguments: list[str]) -> int:
    """Reproduce figures; 130 if it was interrupted, 2 if plots were wanted that cannot be drawn."""
    options = parser().parse_args(arguments)
    from solvent_lab.experiments.token.cells import SCALES
    from solvent_lab.experiments.token.reproduction import Reproduction

    scale = SCALES[options.scale]
    if options.runs is not None:
        scale = scale._replace(runs=options.runs)
    wanted = [figure for figure in FIGURES if not options.figure or figure in options.figure]
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
    parser = parser_for("lab reproduce token", _SAYS, example=_EXAMPLE)
    add = parser.add_argument
    which = f"only this figure, may be repeated: {', '.join(map(str, FIGURES))}"
    add("--figure", type=figure_of(FIGURES), action="append", metavar="N", help=which)
    says = "runs of each setup, each from a seed of its own (default: 6; 3 at small scale)"
    add("--runs", type=at_least(1), metavar="R", help=says)
    says = "paper: 1,000 rounds, 8 to 10,000 nodes; small: 60 rounds, 300 nodes at most (default: paper)"
    add_common(parser, scales=says)
    return parser
