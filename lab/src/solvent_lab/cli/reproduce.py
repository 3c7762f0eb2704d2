"""`solvent lab reproduce PAPER`: a paper's experiments, as data, plots and a table of what it says and we measure."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentTypeError
from contextlib import ExitStack
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from solvent.cli.arguments import add_format, at_least, integer, parser_for
from solvent.cli.progress import Watch
from solvent.cli.render import complain, counted, write, write_json
from solvent.errors import INTERRUPTED, Misuse, install_hint

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence

    from solvent_lab.experiments.claims import Claim
    from solvent_lab.experiments.figure import Figure
    from solvent_lab.experiments.reproduction import Reproduction

_FOLDER = "reproduced"
_INSTALL = f"{install_hint('figures')}; or do without: --no-plots"


class _Paper(NamedTuple):
    """What the command offers for one paper; `solvent_lab.experiments.NAME` has its experiments."""

    title: str
    figures: tuple[int | str, ...]
    says: str
    examples: str
    runs: str
    scales: str
    scale: str = "paper"


PAPERS = {
    "capture": _Paper(
        'Bertier, Obrovac, Tedeschi: "Adaptive atomic capture of multiple molecules" (2013)',
        (3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18, 19),
        "Figures 3 to 11 are of one rule, 15 to 19 of programs of several rules.\n"
        "At the paper's scale all figures take about half an hour on two cores.",
        "--figure 3 --runs 10\n  solvent lab reproduce capture --scale small",
        "runs of each setup (default: 50; 3 at small scale)",
        "paper: 250 nodes, 15000 molecules, up to 10000 nodes; small: a fifth of it, in seconds (default: paper)",
    ),
    "handover": _Paper(
        'Hernane, Gustedt, Benyettou: "Data handover on a peer-to-peer system" (2015)',
        (7, 8, "table-2", "messages"),
        """\
  7          cycle time by the size of the data, client-server and peer to peer; the paper's formula (4)
  8          cycle, waiting and blocking times by T_Wblocked; 50 peers, 50 MiB
  table-2    what it costs the others if 25, 33 or 50 % of 50 or 120 peers leave and come back
  messages   messages of each operation for 8 to 10,000 processes (small: 2,048), with lines over log2 n and over n

At small scale, which is usual, that takes about a minute on two cores; with the paper's 100 cycles of each peer
(--scale paper) about half an hour.""",
        "--figure table-2 --scale paper",
        "runs of each setup, each from a seed of its own (default: 2; 1 at the paper's scale)",
        "paper: 100 cycles of each peer; small: 10 cycles, fewer sizes and times (default: small)",
        "small",
    ),
    "token": _Paper(
        'Englert, Rudolph, Shvartsman: "Developing and refining an adaptive token-passing strategy" (2001)',
        (9, 10, "variants", "full", "losses"),
        """\
  9          how soon somebody is served, and for how many messages, at a fixed load, by the number of nodes
  10         the same for 100 nodes at falling load
  variants   the paper's variants of the search
  full       every node always wants the token
  losses     messages that do not carry the token get lost

At the paper's scale, with 1,000 rounds of the token in each run, all figures take about an hour on two cores.""",
        "--figure 10 --runs 3\n  solvent lab reproduce token --scale small",
        "runs of each setup, each from a seed of its own (default: 6; 3 at small scale)",
        "paper: 1,000 rounds, 8 to 10,000 nodes; small: 60 rounds, 300 nodes at most (default: paper)",
    ),
}


def main(arguments: list[str]) -> int:
    """Reproduce figures; 130 if it was interrupted, 2 if plots were wanted that cannot be drawn."""
    name = arguments[0] if arguments else ""
    if name not in PAPERS:
        named = [word for word in arguments if word in PAPERS]
        if named:
            parser().error(f"the paper comes first: solvent lab reproduce {named[0]} ...")
        parser().parse_args(arguments)
    options = _parser_of(name).parse_args(arguments[1:])
    from solvent_lab.experiments.reproduction import Reproduction

    experiments = import_module(f"solvent_lab.experiments.{name}")
    scale = experiments.SCALES[options.scale]
    if options.runs is not None:
        scale = scale._replace(**{field: options.runs for field in ("runs", "runs_leaving") if hasattr(scale, field)})
    reproduction = Reproduction(
        experiments.EXPERIMENTS,
        _folder_of(options.out),
        scale,
        [figure for figure in PAPERS[name].figures if not options.figure or figure in options.figure],
        seed=options.seed,
        again=options.again,
        with_plots=not options.no_plots,
        processes=options.processes,
    )
    return _carry_out(reproduction, options)


def parser() -> ArgumentParser:
    """Return the parser of the paper's name."""
    parser = parser_for(
        "lab reproduce",
        "Run the experiments of a paper with Solvent's own machines.\n"
        "`solvent lab reproduce PAPER --help` lists the figures and options of a paper.",
        example="solvent lab reproduce capture --out figures",
    )
    papers = "; ".join(f"{name}: {paper.title}" for name, paper in PAPERS.items())
    parser.add_argument("paper", choices=tuple(PAPERS), metavar="PAPER", help=papers)
    return parser


def variants() -> dict[str, ArgumentParser]:
    """Return the parsers of what follows the papers' names."""
    return {name: _parser_of(name) for name in PAPERS}


def _parser_of(name: str) -> ArgumentParser:
    title, figures, says, examples, runs, scales, scale = PAPERS[name]
    parser = parser_for(
        f"lab reproduce {name}",
        f"Run the experiments of a paper again: {title}.\n"
        "For every figure the data as CSV and the plot as PNG and SVG, and a table of what the paper says beside what\n"
        "we measure. What has been measured is kept: the same command continues where it was interrupted.\n\n" + says,
        example=f"solvent lab reproduce {name} --out figures\n  solvent lab reproduce {name} {examples}",
    )
    add = parser.add_argument
    which = f"only this figure, may be repeated: {', '.join(map(str, figures))}"
    add("--figure", type=_figure_of(figures), action="append", metavar="N", help=which)
    add("--runs", type=at_least(1), metavar="R", help=runs)
    add("--out", default=_FOLDER, metavar="DIR", help=f"where to write (default: {_FOLDER})")
    add("--scale", choices=("small", "paper"), default=scale, help=scales)
    add("--seed", type=integer, default=1, metavar="N", help="another seed, other runs (default: 1)")
    add("--again", action="store_true", help="run also what has been measured before")
    add("--no-plots", action="store_true", help="only data and table; needs no matplotlib")
    add("--processes", type=at_least(0), metavar="P", help="runs at a time (default: one per processor)")
    add_format(parser)
    return parser


def _figure_of(figures: Sequence[int | str]) -> Callable[[str], int | str]:
    """Return what reads the number or the name of a figure."""
    known = {str(figure): figure for figure in figures}

    def read(text: str) -> int | str:
        if text not in known:
            raise ArgumentTypeError(f"must be one of {', '.join(known)}, not `{text}`")
        return known[text]

    return read


def _folder_of(name: str) -> Path:
    """Make the folder that was named, if it is not there."""
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misuse("P331", f"cannot write to {name}: {error.strerror or error}", hint="--out DIR") from None
    return folder


def _carry_out(reproduction: Reproduction, options: Namespace) -> int:
    """Run a reproduction, and report what came of it and what is missing."""
    from solvent_lab.experiments import figure

    lacks_plots = reproduction.with_plots and not figure.can_plot()
    if lacks_plots:
        complain("matplotlib is not installed, so there will be data and a table, but no plots", hint=_INSTALL)
    started = time.monotonic()
    with Watch() as watch, _Progress(watch) as progress:
        claims = reproduction.run(progress)
    seconds = time.monotonic() - started
    if options.format == "json":
        write_json(_as_json(reproduction, claims, seconds))
    else:
        _write_claims(claims)
        files = sum(map(len, reproduction.written.values()))
        done = counted(len(reproduction.written), "figure")
        write(f"{done}, {counted(files, 'file')} and the table in {reproduction.folder} ({seconds:.0f} s)")
    sys.stdout.flush()
    if not reproduction.is_complete:
        done = ", ".join(map(str, reproduction.written)) or "none"
        complain(f"interrupted; complete figures: {done}", hint="the same command goes on from here")
        return INTERRUPTED
    if lacks_plots:
        message = f"the plots need matplotlib; data and table are in {options.out}"
        raise Misuse("P330", message, hint=_INSTALL)
    return 0


class _Progress:
    """Shows progress: a bar on a terminal, a line for each figure everywhere."""

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
        """Report that a figure is complete."""
        says = f"{time.monotonic() - self._began:.0f} s" if files else "was there already"
        line = f"figure {figure.number:>2}  {figure.title}  ({says})"
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
        else:
            write(line, to=sys.stderr)

    def should_stop(self) -> bool:
        """Return whether Ctrl-C was pressed."""
        return self._watch.should_stop()


def _as_json(reproduction: Reproduction, claims: Sequence[Claim], seconds: float) -> dict[str, Any]:
    return {
        "scale": reproduction.scale.name,
        "runs": reproduction.scale.runs,
        "seed": reproduction.seed,
        "figures": {number: [str(file) for file in files] for number, files in reproduction.written.items()},
        "claims": [reproduction.paper.values_of(claim) for claim in claims],
        "complete": reproduction.is_complete,
        "seconds": round(seconds, 3),
    }


def _write_claims(claims: Sequence[Claim]) -> None:
    """Write what became of the statements, by the first part of their places; experiment 0 is ours."""
    for place, group in groupby(claims, lambda claim: claim.where[0]):
        heading = f"Experiment {place}" if place else "Past the paper"
        write((place.capitalize() if isinstance(place, str) else heading, "bold"))
        for claim in group:
            write(f"  {'we want   ' if place in (0, 'wanted') else 'paper says'}  {claim.paper}")
            write(f"  we measure  {claim.measured}")
            write("  difference  ", (claim.difference, "" if claim.difference == "none" else "yellow"))
            write()
