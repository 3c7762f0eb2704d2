"""A picture as PNG, drawn by matplotlib, which the extra `figures` installs.

Matplotlib needs no screen and brings its own fonts, so a picture is the same on every machine.
"""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse, install_hint
from solvent.pictures.shapes import DASHES, LIGHT, LINES, RECTS, TEXTS, Group, Line, Rect, Text

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
_HEAD = "-|>,head_length=0.6,head_width=0.3"
_COMMAND = re.compile(r"([MLC])([^MLC]*)")


def png(sheet: Sheet) -> bytes:
    """Draw a picture at two pixels per unit, or fewer if it is very large."""
    if find_spec("matplotlib") is None:
        hint = f"{install_hint('figures')}; SVG needs nothing: -o FILE.svg"
        raise Misuse("H360", "a picture as PNG is drawn by matplotlib, which is not installed", hint=hint)
    width, height = max(1, sheet.width), max(1, sheet.height)
    scale = min(_SCALE, MAX_SIDE / max(width, height))
    if scale < _MIN_SCALE:
        message = f"this picture of {sheet.width:,.0f} by {sheet.height:,.0f} pixels is too large for PNG"
        raise Misuse("H361", message, hint="SVG has no limit: -o FILE.svg")
    dpi = _POINTS * scale
    figure = import_module("matplotlib.figure").Figure(figsize=(width / _POINTS, height / _POINTS), dpi=dpi)
    figure.set_facecolor(LIGHT["paper"])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    _draw(axes, sheet.shapes)
    written = BytesIO()
    with warnings.catch_warnings():
        # Letters that no font has are drawn as boxes.
        warnings.simplefilter("ignore")
        figure.savefig(written, format="png", dpi=dpi, metadata={"Title": sheet.title, "Software": "solvent"})
    return written.getvalue()


def _draw(axes: Any, shapes: Iterable[Shape]) -> None:
    """Draw shapes in their order: all have one `zorder`, so later ones lie above."""
    patches = import_module("matplotlib.patches")
    for one in shapes:
        match one:
            case Rect():
                fill, edge = RECTS.get(one.kind, RECTS[""])
                radius = max(0.01, min(one.radius, one.width / 2, one.height / 2))
                box = patches.FancyBboxPatch(
                    (one.x, one.y), one.width, one.height, boxstyle=f"round,pad=0,rounding_size={radius}",
                    facecolor=LIGHT[fill], edgecolor=LIGHT[edge], linewidth=1.2, zorder=1,
                    linestyle=(0, DASHES) if one.is_dashed else "solid",
                )  # fmt: skip
                axes.add_artist(box)
            case Line():
                stroke = LINES.get(one.kind, LINES[""])
                colour, path = LIGHT[stroke.colour], _path(one.path)
                line = patches.FancyArrowPatch(
                    path=path, arrowstyle=_HEAD if one.end in ("arrow", "return") else "-", mutation_scale=10,
                    color=colour, linewidth=stroke.width, shrinkA=0, shrinkB=0, zorder=1,
                    linestyle=(0, stroke.dashes) if stroke.dashes else "solid", capstyle="butt",
                )  # fmt: skip
                axes.add_artist(line)
                if one.end == "cross":
                    x, y = path.vertices[-1]
                    axes.plot([x], [y], marker="x", markersize=8, markeredgewidth=2, color=colour, zorder=1)
            case Text():
                letters = TEXTS.get(one.kind, TEXTS[""])
                axes.text(
                    one.x, one.y, one.text, color=LIGHT[letters.colour], fontsize=letters.size * _LETTERS,
                    ha={"start": "left", "middle": "center", "end": "right"}[one.anchor], va="baseline",
                    fontweight="bold" if letters.is_bold else "normal", fontfamily="DejaVu Sans", parse_math=False,
                    zorder=1,
                )  # fmt: skip
            case Group():
                _draw(axes, one.shapes)


def _path(text: str) -> Any:
    """Return a path of matplotlib from one of SVG."""
    path = import_module("matplotlib.path").Path
    number = {"M": path.MOVETO, "L": path.LINETO, "C": path.CURVE4}
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    for letter, rest in _COMMAND.findall(text):
        numbers = [float(word) for word in rest.split()]
        points += zip(numbers[::2], numbers[1::2], strict=True)
        codes += [number[letter]] * (len(numbers) // 2)
    return path(points, codes)


__all__ = ["MAX_SIDE", "png"]
