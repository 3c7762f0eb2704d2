"""`solvent lab reproduce PAPER`: a paper's experiments, as data, plots and a table of what it says and we measure.

What is the same for all papers is here, and what capture has of its own; the others' is in `reproduce_token` and
`reproduce_handover`.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentTypeError
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from solvent.cli.loading import add_format, at_least, parser_for
from solvent.cli.render import complain, counted, write, write_json
from solvent.cli.watching import Watch
from solvent.errors import INTERRUPTED, Misuse, install_hint

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence

    from solvent_lab.experiments.capture.claims import Claim
    from solvent_lab.experiments.figure import Figure
    from solvent_lab.experiments.reproduction import Reproduction
    from solvent_lab.experiments.token.claims import Claim as PlacedClaim

PAPERS = {
    "capture": 'Bertier, Obrovac, Tedeschi: "Adaptive atomic capture of multiple molecules" (2013)',
    "handover": 'Hernane, Gustedt, Benyettou: "Data handover on a peer-to-peer system" (2015)',
    "token": 'Englert, Rudolph, Shvartsman: "Developing and refining an adaptive token-passing strategy" (2001)',
}
FIGURES = (3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18, 19)
_FOLDER = "reproduced"
_INSTALL = f"{install_hint('figures')}; or do without: --no-plots"
_SAYS = """\
Run the experiments of a paper with Solvent's own machines: for every figure the data as CSV and the plot as PNG and
SVG, and a table of what the paper says beside what we measure. What has been measured is kept: the same command goes
on where it was interrupted. At the paper's scale all figures take about half an hour on two cores.
What follows is about capture; `solvent lab reproduce token --help` and `solvent lab reproduce handover --help` tell of
the others."""
_EXAMPLE = """\
solvent lab reproduce capture --out figures
  solvent lab reproduce capture --figure 3 --runs 10
  solvent lab reproduce capture --scale small"""


def main(arguments: list[str]) -> int:
    """Reproduce figures; 130 if it was interrupted, 2 if plots were wanted that cannot be drawn."""
    if arguments[:1] == ["token"]:
        from solvent_lab.cli.reproduce_token import main as reproduce_token

        return reproduce_token(arguments[1:])
    if arguments[:1] == ["handover"]:
        from solvent_lab.cli.reproduce_handover import main as reproduce_handover

        return reproduce_handover(arguments[1:])
    options = parser().parse_args(arguments)
    if options.paper != "capture":
        parser().error(f"the paper comes first: solvent lab reproduce {options.paper} ...")
    from solvent_lab.experiments.capture.cells import SCALES
    from solvent_lab.experiments.capture.reproduction import Reproduction

    scale = SCALES[options.scale]
    if options.runs is not None:
        scale = scale._replace(runs=options.runs)
    reproduction = Reproduction(
        folder_of(options.out),
        scale,
        sorted(set(options.figure or FIGURES)),
        seed=options.seed,
        again=options.again,
        with_plots=not options.no_plots,
        processes=options.processes,
    )
    return carry_out(reproduction, options, _write_claims)


def carry_out(
    reproduction: Reproduction[Any, Any], options: Namespace, write_claims: Callable[[Sequence[Any]], None]
) -> int:
    """Run a reproduction, and say what came of it."""
    if reproduction.with_plots and not _can_plot():
        complain("matplotlib is not installed, so there will be data and a table, but no plots", hint=_INSTALL)
    started = time.monotonic()
    with Watch() as watch, _Progress(watch) as progress:
        claims = reproduction.run(progress)
    seconds = time.monotonic() - started
    if options.format == "json":
        write_json(_as_json(reproduction, claims, seconds))
    else:
        write_claims(claims)
        files = sum(map(len, reproduction.written.values()))
        done = counted(len(reproduction.written), "figure")
        write(f"{done}, {counted(files, 'file')} and the table in {reproduction.folder} ({seconds:.0f} s)")
    return _end(reproduction, options)


def _end(reproduction: Reproduction[Any, Any], options: Namespace) -> int:
    """Say what is missing, if anything is."""
    sys.stdout.flush()
    if not reproduction.is_complete:
        done = ", ".join(map(str, reproduction.written)) or "none"
        complain(f"interrupted; complete figures: {done}", hint="the same command goes on from here")
        return INTERRUPTED
    if reproduction.with_plots and not _can_plot():
        message = f"the plots need matplotlib; data and table are in {options.out}"
        raise Misuse("P330", message, hint=_INSTALL)
    return 0


def _can_plot() -> bool:
    from solvent_lab.experiments.plot import can_plot

    return can_plot()


def folder_of(name: str) -> Path:
    """Make the folder that was named, if it is not there."""
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misuse("P331", f"cannot write to {name}: {error.strerror or error}", hint="--out DIR") from None
    return folder


class _Progress:
    """Shows how far it is: a bar on a terminal, a line for each figure everywhere."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._stack = ExitStack()
        self._bar: Any = None
        self._task: Any = None
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begins(self, weight: float) -> None:
        """Put the bar up."""
        if not weight or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
        # What a bar expects from few runs is far off; from several minutes it is not.
        bar = Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=300)
        self._bar = self._stack.enter_context(bar)
        self._task = self._bar.add_task("", total=weight)

    def advances(self, weight: float, cell: str) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(self._task, advance=weight, description=cell)

    def has_written(self, figure: Figure, files: Sequence[Path]) -> None:
        """Say that a figure is complete."""
        says = f"{time.monotonic() - self._began:.0f} s" if files else "was there already"
        line = f"figure {figure.number:>2}  {figure.title}  ({says})"
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
        else:
            write(line, to=sys.stderr)

    def should_stop(self) -> bool:
        """Say whether Ctrl-C was pressed."""
        return self._watch.should_stop()


def _as_json(reproduction: Reproduction[Any, Any], claims: Sequence[Any], seconds: float) -> dict[str, Any]:
    return {
        "scale": reproduction.scale.name,
        "runs": reproduction.scale.runs,
        "seed": reproduction.seed,
        "figures": {number: [str(file) for file in files] for number, files in reproduction.written.items()},
        "claims": [claim._asdict() for claim in claims],
        "complete": reproduction.is_complete,
        "seconds": round(seconds, 3),
    }


def _write_claims(claims: Sequence[Claim]) -> None:
    experiment = -1
    for claim in claims:
        if claim.experiment != experiment:
            experiment = claim.experiment
            write((f"Experiment {experiment}" if experiment else "Past the paper", "bold"))
        write(f"  {'paper says' if experiment else 'we want   '}  {claim.paper}")
        write_outcome(claim.measured, claim.difference)


def write_claims(claims: Sequence[PlacedClaim]) -> None:
    """Say what became of the statements, place by place."""
    where = ""
    for claim in claims:
        if claim.where != where:
            where = claim.where
            write((where.capitalize(), "bold"))
        write(f"  {'we want   ' if where == 'wanted' else 'paper says'}  {claim.paper}")
        write_outcome(claim.measured, claim.difference)


def figure_of(figures: Sequence[int | str]) -> Callable[[str], int | str]:
    """Give what reads the number or the name of a figure."""
    known = {str(figure): figure for figure in figures}

    def read(text: str) -> int | str:
        if text not in known:
            raise ArgumentTypeError(f"there is no figure `{text}`; there are {', '.join(known)}")
        return known[text]

    return read


def write_outcome(measured: str, difference: str) -> None:
    """Say what became of a statement."""
    write(f"  we measure  {measured}")
    write("  difference  ", (difference, "" if difference == "none" else "yellow"))
    write()


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("lab reproduce", _SAYS, example=_EXAMPLE)
    add = parser.add_argument
    papers = "; ".join(f"{name}: {says}" for name, says in PAPERS.items())
    add("paper", choices=tuple(PAPERS), metavar="PAPER", help=papers)
    which = f"only this figure, may be repeated: {', '.join(map(str, FIGURES))}"
    add("--figure", type=int, choices=FIGURES, action="append", metavar="N", help=which)
    add("--runs", type=at_least(1), metavar="R", help="runs of each setup (default: 50; 3 at small scale)")
    says = "paper: 250 nodes, 15000 molecules, up to 10000 nodes; small: a fifth of it, in seconds (default: paper)"
    add_common(parser, scales=says)
    return parser


def add_common(parser: ArgumentParser, *, scales: str) -> None:
    """Add what can be said about the reproduction of any paper."""
    add = parser.add_argument
    add("--out", default=_FOLDER, metavar="DIR", help=f"where to write (default: {_FOLDER})")
    add("--scale", choices=("small", "paper"), default="paper", help=scales)
    add("--seed", type=int, default=1, metavar="N", help="another seed, other runs (default: 1)")
    add("--again", action="store_true", help="run also what has been measured before")
    add("--no-plots", action="store_true", help="only data and table; needs no matplotlib")
    add("--processes", type=at_least(0), metavar="P", help="runs at a time (default: one per processor)")
    add_format(parser)
