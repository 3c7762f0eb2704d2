"""Lines and boxes on a grid of characters.

A cell knows in which directions lines leave it; the character follows from that. Lines that only cross are told from
lines that join: where nothing turns, the upright one is drawn and the level one passes beneath it.
"""

from __future__ import annotations

from solvent.pictures.lettering import columns

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
_UPRIGHT, _LEVEL = UP | DOWN, LEFT | RIGHT
_SOLID = {
    UP: "│", DOWN: "│", UP | DOWN: "│", LEFT: "─", RIGHT: "─", LEFT | RIGHT: "─",
    DOWN | RIGHT: "┌", DOWN | LEFT: "┐", UP | RIGHT: "└", UP | LEFT: "┘",
    UP | DOWN | RIGHT: "├", UP | DOWN | LEFT: "┤", DOWN | LEFT | RIGHT: "┬", UP | LEFT | RIGHT: "┴",
    UP | DOWN | LEFT | RIGHT: "┼",
}  # fmt: skip
_DASHED = {"│": "╎", "─": "╌"}

Strokes = dict[tuple[int, int], int]
"""The directions in which one line leaves each cell it touches, by row and column."""


class Canvas:
    """A grid that grows as it is drawn on."""

    def __init__(self) -> None:
        self._upright: dict[tuple[int, int], int] = {}
        self._level: dict[tuple[int, int], int] = {}
        self._joined: set[tuple[int, int]] = set()
        self._solid: set[tuple[int, int]] = set()
        self._text: dict[tuple[int, int], str] = {}

    def draw(self, strokes: Strokes, *, is_dashed: bool) -> None:
        """Draw one line with all its branches: where it turns, it joins what is there."""
        for cell, directions in strokes.items():
            self._upright[cell] = self._upright.get(cell, 0) | directions & _UPRIGHT
            self._level[cell] = self._level.get(cell, 0) | directions & _LEVEL
            if directions & _UPRIGHT and directions & _LEVEL:
                self._joined.add(cell)
            if not is_dashed:
                self._solid.add(cell)

    def write(self, row: int, column: int, text: str) -> None:
        """Write a text over what is drawn; wide letters take two cells, and what is set upon another none."""
        for char in text:
            width = columns(char)
            if width:
                self._text[row, column] = char
                self._text |= {(row, column + more): "" for more in range(1, width)}
            elif (row, column - 1) in self._text:
                self._text[row, column - 1] += char
            column += width

    def lines(self) -> list[str]:
        """Give the rows as text, without spaces at their ends."""
        cells = {*self._upright, *self._text}
        rows: dict[int, dict[int, str]] = {}
        for row, column in cells:
            text = self._text.get((row, column))
            rows.setdefault(row, {})[column] = self._char((row, column)) if text is None else text
        height = max(rows, default=-1) + 1
        return ["".join(_row(rows.get(row, {}))).rstrip() for row in range(height)]

    def _char(self, cell: tuple[int, int]) -> str:
        upright, level = self._upright[cell], self._level[cell]
        if upright == _UPRIGHT and level == _LEVEL and cell not in self._joined:
            level = 0
        char = _SOLID.get(upright | level, " ")
        return char if cell in self._solid else _DASHED.get(char, char)


def _row(chars: dict[int, str]) -> list[str]:
    return [chars.get(column, " ") for column in range(max(chars, default=-1) + 1)]


def upright(strokes: Strokes, column: int, top: int, bottom: int) -> None:
    """Add a line downwards, which comes in from above and leaves below only where it goes on."""
    for row in range(top, bottom + 1):
        above = UP if row > top else 0
        below = DOWN if row < bottom else 0
        strokes[row, column] = strokes.get((row, column), 0) | above | below


def level(strokes: Strokes, row: int, left: int, right: int) -> None:
    """Add a line from left to right."""
    for column in range(left, right + 1):
        before = LEFT if column > left else 0
        after = RIGHT if column < right else 0
        strokes[row, column] = strokes.get((row, column), 0) | before | after


__all__ = ["DOWN", "LEFT", "RIGHT", "UP", "Canvas", "Strokes", "level", "upright"]
