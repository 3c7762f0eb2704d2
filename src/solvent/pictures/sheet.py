"""A picture as a few kinds of shapes, before it is known whether it becomes SVG or PNG.

Places are pixels from the upper left corner. What a shape looks like is said by its kind alone, and what kinds look
like, in light and in dark, is said in `palette`; so pictures of graphs, times and messages look alike.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Anchor = Literal["start", "middle", "end"]


class Rect(msgspec.Struct, frozen=True):
    """A box, with round corners."""

    x: float
    y: float
    width: float
    height: float
    kind: str = ""
    is_dashed: bool = False
    radius: float = 6


class Line(msgspec.Struct, frozen=True):
    """A line: `M x y` begins it, `L x y` goes straight, `C x y x y x y` is a curve; all places are absolute."""

    path: str
    kind: str = ""
    end: str = ""
    """What it ends in: nothing, `arrow`, `return` or `cross`."""


class Text(msgspec.Struct, frozen=True):
    """A line of text; `y` is where its letters stand."""

    x: float
    y: float
    text: str
    kind: str = ""
    anchor: Anchor = "middle"


class Group(msgspec.Struct, frozen=True):
    """Shapes that are one thing, and what is said of it when it is pointed at."""

    shapes: tuple[Rect | Line | Text, ...]
    kind: str = ""
    tip: str = ""


Shape: TypeAlias = Rect | Line | Text | Group


class Sheet(msgspec.Struct, frozen=True):
    """A whole picture."""

    width: float
    height: float
    title: str
    shapes: tuple[Shape, ...]


__all__ = ["Anchor", "Group", "Line", "Rect", "Shape", "Sheet", "Text"]
