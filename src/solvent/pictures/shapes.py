"""The shapes a picture consists of, and their colours, before it becomes SVG or PNG.

Coordinates are pixels from the upper left corner. The kind of a shape alone decides what it looks like; the tables
below give the look of each kind in light and in dark, so pictures of graphs, timelines and messages look alike. A
colour is named by its purpose. A rectangle has a fill and an edge; a line a colour, a width and dashes; a text a
colour and a size.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

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
    """Its end: nothing, `arrow`, `return` or `cross`."""
    edges: tuple[int, ...] = ()
    """The edges of the graph that it is a part of, by number."""


class Text(msgspec.Struct, frozen=True):
    """A line of text; `y` is its baseline."""

    x: float
    y: float
    text: str
    kind: str = ""
    anchor: Anchor = "middle"


class Group(msgspec.Struct, frozen=True):
    """Shapes that belong together, with a tooltip."""

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


LIGHT = {
    "paper": "#ffffff", "ink": "#1c2126", "soft": "#5b6570", "pale": "#9099a2", "faint": "#b3bac1", "grid": "#e2e6ea",
    "line": "#7a8590", "box": "#f4f6f8", "violet": "#6a3fb5", "red": "#c62828", "green": "#2e7d32", "blue": "#1565c0",
    "amber": "#b26a00", "none": "none", "green box": "#e3f4e5", "red box": "#fde7e7", "blue box": "#e3effc",
    "violet box": "#efe8fb", "amber box": "#fdf1dc",
}  # fmt: skip
DARK = {
    "paper": "#14181c", "ink": "#e4e8ec", "soft": "#98a2ac", "pale": "#77818a", "faint": "#4a535b", "grid": "#2a3138",
    "line": "#8a959f", "box": "#20262c", "violet": "#bfa3f5", "red": "#ef6c6c", "green": "#66bb6a", "blue": "#64a8f0",
    "amber": "#e0a040", "none": "none", "green box": "#16301a", "red box": "#3a1a1a", "blue box": "#14283f",
    "violet box": "#2a2140", "amber box": "#3a2c12",
}  # fmt: skip


class Stroke(NamedTuple):
    """How a line is drawn: its colour, its width, its dashes and the gaps between them."""

    colour: str
    width: float = 1.2
    dashes: tuple[int, int] | None = None


class Letters(NamedTuple):
    """How a text is set: its colour, its size in pixels, whether it is bold."""

    colour: str
    size: int = 13
    is_bold: bool = False


DASHES = (5, 4)

RECTS: dict[str, tuple[str, str]] = {
    "": ("box", "line"),
    "paper": ("paper", "none"),
    "done": ("green box", "green"),
    "final": ("green box", "green"),
    "failed": ("red box", "red"),
    "running": ("blue box", "blue"),
    "start": ("blue box", "blue"),
    "diverging": ("violet box", "violet"),
    "cancelled": ("amber box", "amber"),
    "stuck": ("amber box", "amber"),
    "interrupted": ("amber box", "amber"),
    "healed": ("amber box", "amber"),
    "replaced": ("none", "faint"),
    "unused": ("none", "faint"),
    "withdrawn": ("none", "faint"),
}
"""The fill and the edge of a rectangle."""

LINES: dict[str, Stroke] = {
    "": Stroke("line"),
    "dashed": Stroke("line", dashes=DASHES),
    "back": Stroke("violet", dashes=DASHES),
    "loop": Stroke("violet"),
    "run": Stroke("violet", 2.2),
    "cancel": Stroke("red", dashes=(3, 3)),
    "lost": Stroke("red", dashes=DASHES),
    "grid": Stroke("grid", 1.0),
    "life": Stroke("faint", 1.2),
    "gone": Stroke("grid", 1.2, (2, 4)),
    "try": Stroke("red", 1.6),
    "adapted": Stroke("violet", 1.2, (3, 3)),
}

TEXTS: dict[str, Letters] = {
    "": Letters("ink"),
    "head": Letters("ink", 13, is_bold=True),
    "service": Letters("soft", 11),
    "code": Letters("ink", 11),
    "mark": Letters("violet", 11),
    "label": Letters("violet", 11),
    "note": Letters("soft", 11),
    "bad": Letters("red", 11),
    "legend": Letters("soft"),
    "faded": Letters("pale"),
}

FADED = frozenset({"replaced", "unused"})
"""The text in boxes of these kinds is pale."""

ENDS = {"arrow": "line", "return": "violet", "cross": "red"}
"""The colours of the ends of lines."""
