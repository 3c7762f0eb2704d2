"""A figure as data: panels of series over one x axis, and the same as CSV."""

from __future__ import annotations

from csv import writer
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    """Give a figure's data: a row for each x, a column for each series; nothing where a series has no value."""
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


__all__ = ["Figure", "Panel", "Series", "csv_of", "over_steps"]
