"""A picture as PNG, drawn by matplotlib, which the extra `figures` installs.

Matplotlib needs no screen, brings its own fonts, and already draws the figures of experiments. So a picture is the same
on every machine, and no further library is needed.
"""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from math import hypot
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse, install_hint
from solvent.pictures.shapes import DASHES, ENDS, LIGHT, LINES, RECTS, TEXTS, Group, Line, Rect, Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.pictures.shapes import Shape, Sheet

MAX_SIDE = 16_000
"""The largest width or height in pixels."""
_SCALE = 2.0
_MIN_SCALE = 0.5
_POINTS = 72
_LETTERS = 0.9
"""Matplotlib's own font is wider than the font the boxes are sized for."""
_HEAD = 7.0
_WORD = re.compile(r"([MLC])([^MLC]*)")
Point = tuple[float, float]


def png(sheet: Sheet) -> bytes:
    """Draw a picture at two pixels per unit, or fewer if it is very large."""
    if find_spec("matplotlib") is None:
        hint = f"{install_hint('figures')}; SVG needs nothing: -o FILE.svg"
        raise Misuse("H360", "a picture as PNG is drawn by matplotlib, which is not installed", hint=hint)
    scale = min(_SCALE, MAX_SIDE / max(sheet.width, sheet.height, 1))
    if scale < _MIN_SCALE:
        size = f"{sheet.width:,.0f} by {sheet.height:,.0f}"
        raise Misuse(
            "H361", f"this picture of {size} pixels is too large for PNG", hint="SVG has no limit: -o FILE.svg"
        )
    figure = import_module("matplotlib.figure").Figure(
        figsize=(max(1, sheet.width) / _POINTS, max(1, sheet.height) / _POINTS), dpi=_POINTS * scale
    )
    figure.set_facecolor(LIGHT["paper"])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, max(1, sheet.width))
    axes.set_ylim(max(1, sheet.height), 0)
    axes.set_axis_off()
    pen = _Pen(axes)
    pen.draw(sheet.shapes)
    written = BytesIO()
    with warnings.catch_warnings():
        # Letters that no font has are drawn as boxes.
        warnings.simplefilter("ignore")
        figure.savefig(
            written, format="png", dpi=_POINTS * scale, metadata={"Title": sheet.title, "Software": "solvent"}
        )
    return written.getvalue()


class _Pen:
    """Puts shapes onto matplotlib's axes, each above those before."""

    def __init__(self, axes: Any) -> None:
        self._axes = axes
        self._patches = import_module("matplotlib.patches")
        self._path = import_module("matplotlib.path").Path
        self._order = 0

    def draw(self, shapes: Iterable[Shape]) -> None:
        for one in shapes:
            match one:
                case Rect():
                    self._rect(one)
                case Line():
                    self._line(one)
                case Text():
                    self._text(one)
                case Group():
                    self.draw(one.shapes)

    def _add(self, patch: Any) -> None:
        self._order += 1
        patch.set_zorder(self._order)
        self._axes.add_artist(patch)

    def _rect(self, one: Rect) -> None:
        fill, edge = RECTS.get(one.kind, RECTS[""])
        radius = max(0.01, min(one.radius, one.width / 2, one.height / 2))
        self._add(
            self._patches.FancyBboxPatch(
                (one.x, one.y), one.width, one.height, boxstyle=f"round,pad=0,rounding_size={radius}",
                facecolor=LIGHT[fill], edgecolor=LIGHT[edge], linewidth=1.2,
                linestyle=(0, DASHES) if one.is_dashed else "solid",
            )
        )  # fmt: skip

    def _line(self, one: Line) -> None:
        points, codes = _points(one.path)
        stroke = LINES.get(one.kind, LINES[""])
        number = {"M": self._path.MOVETO, "L": self._path.LINETO, "C": self._path.CURVE4}
        self._add(
            self._patches.PathPatch(
                self._path(points, [number[code] for code in codes]), fill=False, edgecolor=LIGHT[stroke.colour],
                linewidth=stroke.width, linestyle=(0, stroke.dashes) if stroke.dashes else "solid", capstyle="butt",
            )
        )  # fmt: skip
        if one.end:
            self._end(one.end, points)

    def _end(self, end: str, points: list[Point]) -> None:
        x, y = points[-1]
        colour = LIGHT[ENDS[end]]
        if end == "cross":
            for sign in (1, -1):
                ends = [(x - 4, y - 4 * sign), (x + 4, y + 4 * sign)]
                self._add(self._patches.PathPatch(self._path(ends), edgecolor=colour, linewidth=2))
            return
        before = next((point for point in reversed(points[:-1]) if point != (x, y)), (x, y - 1))
        length = hypot(x - before[0], y - before[1])
        along = (x - before[0]) / length * _HEAD, (y - before[1]) / length * _HEAD
        foot = x - along[0], y - along[1]
        sides = [(foot[0] - along[1] / 2, foot[1] + along[0] / 2), (foot[0] + along[1] / 2, foot[1] - along[0] / 2)]
        self._add(self._patches.Polygon([(x, y), *sides], closed=True, facecolor=colour, linewidth=0))

    def _text(self, one: Text) -> None:
        letters = TEXTS.get(one.kind, TEXTS[""])
        align = {"start": "left", "middle": "center", "end": "right"}[one.anchor]
        self._order += 1
        self._axes.text(
            one.x, one.y, one.text, color=LIGHT[letters.colour], fontsize=letters.size * _LETTERS, ha=align,
            va="baseline", fontweight="bold" if letters.is_bold else "normal", fontfamily="DejaVu Sans",
            parse_math=False, zorder=self._order,
        )  # fmt: skip


def _points(path: str) -> tuple[list[Point], list[str]]:
    """Return the points of a path, each with its command letter."""
    points: list[Point] = []
    codes: list[str] = []
    for letter, rest in _WORD.findall(path):
        numbers = [float(word) for word in rest.split()]
        some = list(zip(numbers[::2], numbers[1::2], strict=True))
        points += some
        codes += [letter] * len(some)
    return points, codes


__all__ = ["MAX_SIDE", "png"]
