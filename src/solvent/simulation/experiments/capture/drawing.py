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


class Panel(NamedTuple):
    """One pair of axes."""

    y_name: str
    series: tuple[Series, ...]
    log_y: bool = False
    #: Bars that stand on each other, instead of curves.
    is_stacked: bool = False


class Figure(NamedTuple):
    """One figure of the paper."""

    number: int
    title: str
    x_name: str
    panels: tuple[Panel, ...]
    log_x: bool = False

    @property
    def stem(self) -> str:
        """The name of its files, without ending."""
        return f"figure-{self.number:02}"


def over_steps(name: str, ys: Sequence[float], *, is_beside: bool = False) -> Series:
    """Make a series with a value for each step, from 0."""
    return Series(name, range(len(ys)), ys, is_beside)


def csv_of(figure: Figure) -> str:
    """Give a figure's data: a row for each x, a column for each series; nothing where a series has no value."""
    columns = [
        (f"{series.name} ({panel.y_name})" if len(figure.panels) > 1 else series.name, series)
        for panel in figure.panels
        for series in panel.series
    ]
    values = [dict(zip(series.xs, series.ys, strict=True)) for _, series in columns]
    text = StringIO()
    rows = writer(text, lineterminator="\n")
    rows.writerow([figure.x_name, *[name for name, _ in columns]])
    for x in sorted({x for of_series in values for x in of_series}):
        rows.writerow([_plain(x), *[_plain(of_series[x]) if x in of_series else "" for of_series in values]])
    return text.getvalue()


def _plain(number: float) -> str:
    return f"{number:.4f}".rstrip("0").rstrip(".") if number % 1 else str(int(number))


__all__ = ["Figure", "Panel", "Series", "csv_of", "over_steps"]
