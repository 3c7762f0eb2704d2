"""A figure as data (panels of series over one x axis), as CSV, and drawn by matplotlib where that is installed."""

from __future__ import annotations

from csv import writer
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FORMATS = ("png", "svg")
_WIDTH, _HEIGHT, _HEIGHT_OF_THREE = 7.0, 4.2, 8.0
_DOTS_PER_INCH = 110
_STACKED = ("#3b6fb6", "#b9b9b9")
# The same figure gives the same file: no date, no random names.
_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "solvent", "path.simplify_threshold": 0.5, "font.size": 9}


class Series(NamedTuple):
    """A named curve; `ys` has a value for each of `xs`."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    #: Drawn thinner and dashed: a bound, or what the paper does not have.
    is_beside: bool = False
    #: None for the next one of the usual colours.
    colour: str | None = None
    #: The ends of an interval around each of `ys`, where it is known how sure they are.
    lows: Sequence[float] = ()
    highs: Sequence[float] = ()


class Panel(NamedTuple):
    """One pair of axes."""

    y_name: str
    series: tuple[Series, ...]
    log_y: bool = False
    #: Bars that stand on each other, instead of curves.
    is_stacked: bool = False


class Figure(NamedTuple):
    """One figure of the paper, by its number, or one of ours, by its name."""

    number: int | str
    title: str
    x_name: str
    panels: tuple[Panel, ...]
    log_x: bool = False

    @property
    def stem(self) -> str:
        """The name of its files, without ending."""
        return f"figure-{self.number:02}" if isinstance(self.number, int) else f"figure-{self.number}"

    @property
    def heading(self) -> str:
        """What stands above it."""
        return f"Figure {self.number}: {self.title}" if isinstance(self.number, int) else self.title


def over_steps(name: str, ys: Sequence[float], *, is_beside: bool = False) -> Series:
    """Make a series with a value for each step, from 0."""
    return Series(name, range(len(ys)), ys, is_beside)


def csv_of(figure: Figure) -> str:
    """Return a figure's data: a row for each x, a column for each series; nothing where a series has no value."""
    columns: list[tuple[str, dict[float, float]]] = []
    for panel in figure.panels:
        of_panel = f" ({panel.y_name})" if len(figure.panels) > 1 else ""
        for series in panel.series:
            parts = [("", series.ys), (", low", series.lows), (", high", series.highs)]
            columns += [
                (f"{series.name}{part}{of_panel}", dict(zip(series.xs, ys, strict=True))) for part, ys in parts if ys
            ]
    text = StringIO()
    rows = writer(text, lineterminator="\n")
    rows.writerow([figure.x_name, *[name for name, _ in columns]])
    for x in sorted({x for _, values in columns for x in values}):
        rows.writerow([_plain(x), *[_plain(values[x]) if x in values else "" for _, values in columns]])
    return text.getvalue()


def _plain(number: float) -> str:
    return f"{number:.4f}".rstrip("0").rstrip(".") if number % 1 else str(int(number))


def can_plot() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def save_plots(figure: Figure, folder: Path) -> list[Path]:
    """Draw a figure as PNG and as SVG, and return the files."""
    # By name, so that types are checked alike with and without it.
    settings = import_module("matplotlib").rc_context(_SETTINGS)
    new_sheet = import_module("matplotlib.figure").Figure
    count = len(figure.panels)
    with settings:
        sheet = new_sheet(figsize=(_WIDTH, _HEIGHT if count == 1 else _HEIGHT_OF_THREE), layout="constrained")
        axes = sheet.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
        for axis, panel in zip(axes, figure.panels, strict=True):
            _draw(axis, panel)
        axes[0].set_title(figure.heading, fontsize=10)
        axes[-1].set_xlabel(figure.x_name)
        if figure.log_x:
            axes[-1].set_xscale("log")
        files = [folder / f"{figure.stem}.{ending}" for ending in FORMATS]
        for file in files:
            metadata = {"Date": None} if file.suffix == ".svg" else None
            sheet.savefig(file, dpi=_DOTS_PER_INCH, metadata=metadata)
    return files


def _draw(axis: Any, panel: Panel) -> None:
    if panel.is_stacked:
        _stack(axis, panel)
    else:
        for number, series in enumerate(panel.series):
            xs, ys = list(series.xs), list(series.ys)
            if panel.log_y:
                # Zero has no place on a logarithmic scale; a curve ends where it comes to zero.
                shown = [(x, y) for x, y in zip(xs, ys, strict=True) if y > 0]
                xs, ys = [x for x, _ in shown], [y for _, y in shown]
            style: dict[str, Any] = {"linestyle": "--", "linewidth": 1.1} if series.is_beside else {"linewidth": 1.5}
            marks = {"marker": "o", "markersize": 3} if len(xs) <= 30 else {}
            colour = series.colour or f"C{number}"
            axis.plot(xs, ys, label=series.name, color=colour, **style, **marks)
            if series.lows:
                band = list(series.xs), list(series.lows), list(series.highs)
                axis.fill_between(*band, color=colour, alpha=0.2, linewidth=0)
    if panel.log_y:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    axis.set_ylabel(panel.y_name)
    axis.grid(visible=True, linewidth=0.4, alpha=0.5)
    axis.legend(fontsize=8, frameon=False)


def _stack(axis: Any, panel: Panel) -> None:
    bottom = [0.0] * len(panel.series[0].ys)
    for series, colour in zip(panel.series, _STACKED, strict=True):
        axis.bar(list(series.xs), list(series.ys), bottom=bottom, width=0.9, label=series.name, color=colour)
        bottom = [low + high for low, high in zip(bottom, series.ys, strict=True)]
