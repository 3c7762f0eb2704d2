"""A sequence diagram as shapes: nodes side by side, time downwards, messages as arrows (compare `diagram`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.pictures.shapes import Line, Rect, Sheet, Text
from solvent.pictures.text_width import width_of
from solvent_lab.diagram.text import Across, Arrow, Mark, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from solvent.pictures.shapes import Shape
    from solvent_lab.diagram.text import Record

_MARGIN = 20
_NUMBER = 34
_COLUMN = 190.0
_LETTERS = 26
"""How many small letters stand in a column beside each other."""
_LINE = 15
_GAP = 12
_HEAD = 30
_LOOP = 26


def diagram_drawn(names: Sequence[str], records: Iterable[Record], title: str) -> Sheet:
    """Draw what happened among nodes of these names."""
    pen = _Pen(len(names))
    for one in records:
        match one:
            case Arrow():
                pen.arrow(one)
            case Mark():
                pen.mark(one)
            case Across(text):
                pen.across(text)
    heads: list[Shape] = []
    for column, name in enumerate(names):
        x = pen.x(column)
        heads.append(Line(f"M{x:g} {_MARGIN + _HEAD} L{x:g} {pen.y + _GAP:g}", "life"))
        heads += [Rect(x - 40, _MARGIN, 80, _HEAD - 4), Text(x, _MARGIN + 18, name, "head")]
    width = pen.x(max(0, len(names) - 1)) + _COLUMN / 2 + _MARGIN
    return Sheet(max(width, pen.edge + _MARGIN), pen.y + _GAP + _MARGIN, title, (*heads, *pen.shapes))


class _Pen:
    """Draws downwards."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self.y = float(_MARGIN + _HEAD + _GAP)
        self.edge = 0.0
        self.shapes: list[Shape] = []

    def x(self, column: int) -> float:
        return _MARGIN + _NUMBER + 40 + _COLUMN * column

    def arrow(self, one: Arrow) -> None:
        """Draw a message that arrives or is lost; its text stands above its line, in as many lines as it needs."""
        begin, end = self.x(one.sender), self.x(one.to)
        text = f"{one.text} ({one.sent})" if one.sent else one.text
        span = max(1, abs(one.to - one.sender))
        lines = wrapped(text, _LETTERS * span) or [""]
        at = (begin + end) / 2 if begin != end else begin + _LOOP + 8
        for line in lines:
            self.y += _LINE
            self._text(at, line, is_beside=begin == end)
        self._number(one.number)
        y = self.y + 6
        kind, head = ("lost", "cross") if one.is_lost else ("", "arrow")
        if begin == end:
            out = begin + _LOOP
            path = f"M{begin:g} {y - 10:g} C{out:g} {y - 10:g} {out:g} {y:g} {begin:g} {y:g}"
            self.shapes.append(Line(path, kind, head))
        else:
            self.shapes.append(Line(f"M{begin:g} {y:g} L{end:g} {y:g}", kind, head))
        self.y = y + _GAP

    def mark(self, one: Mark) -> None:
        """Write what happens at a node beside its line."""
        x = self.x(one.node)
        for line in wrapped(one.text, _LETTERS) or [""]:
            self.y += _LINE
            self._text(x + 8, line, is_beside=True, kind="bad" if one.ends else "note")
        self._number(one.number)
        self.y += _GAP / 2

    def across(self, text: str) -> None:
        """Write a text over all columns, with a line above it."""
        right = self.x(max(0, self._columns - 1)) + _COLUMN / 2
        self.shapes.append(Line(f"M{_MARGIN} {self.y:g} L{right:g} {self.y:g}", "grid"))
        self.y += _LINE
        self.shapes.append(Text(_MARGIN, self.y, text, "label", "start"))
        self.edge = max(self.edge, _MARGIN + width_of(text, is_small=True))
        self.y += _GAP / 2

    def _text(self, x: float, line: str, *, is_beside: bool, kind: str = "code") -> None:
        width = width_of(line, is_small=True)
        if line:
            # Letters on a line of a node could not be read.
            left = x if is_beside else x - width / 2
            self.shapes.append(Rect(left - 2, self.y - 11, width + 4, _LINE - 1, "paper", radius=0))
        self.shapes.append(Text(x, self.y, line, kind, "start" if is_beside else "middle"))
        if is_beside:
            self.edge = max(self.edge, x + width)

    def _number(self, number: int) -> None:
        if number:
            self.shapes.append(Text(_MARGIN + 4, self.y, str(number), "note", "start"))


__all__ = ["diagram_drawn"]
