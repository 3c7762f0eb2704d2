"""The marked line under an error message.

    3 | <1, 2, colour>
      |        ^^^^^^ no rule or variable has this name

Long lines are cut around the mark, so an error in a file of one line stays readable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvent.source.span import Span

_WIDTH_MAX = 100
_BEFORE_MAX = 60


def excerpt(span: Span, note: str = "") -> str:
    """Give the line of a span with carets under it and a note beside them."""
    number, column = span.source.position(span.start)
    line = span.source.line(number)
    begin = column - 1
    width = max(1, min(span.end - span.start, len(line) - begin))
    if len(line) > _WIDTH_MAX:
        cut = max(0, begin - _BEFORE_MAX)
        line = line[cut : cut + _WIDTH_MAX]
        begin -= cut
        width = max(1, min(width, len(line) - begin))
    # A tab is as wide as the terminal says; keeping it in the margin keeps the caret in place.
    margin = "".join(char if char == "\t" else " " for char in line[:begin])
    label = str(number)
    mark = f"{' ' * len(label)} | {margin}{'^' * width}"
    return f"{label} | {line}\n{mark}{' ' + note if note else ''}"
