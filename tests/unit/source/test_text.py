"""Sources: lines and columns of offsets."""

from __future__ import annotations

import pytest

from solvent.source import Source


@pytest.mark.parametrize("offset, position", [(0, (1, 1)), (2, (1, 3)), (3, (2, 1)), (4, (3, 1)), (6, (3, 3))])
def test_positions(offset: int, position: tuple[int, int]) -> None:
    """Lines and columns count from 1; a line's end belongs to it."""
    assert Source("ab\n\ncd").position(offset) == position


@pytest.mark.parametrize("number, line", [(1, "ab"), (2, ""), (3, "cd")])
def test_lines(number: int, line: str) -> None:
    """A line is given without its end, whatever the end is."""
    assert Source("ab\r\n\ncd").line(number) == line


def test_repr_does_not_show_the_text() -> None:
    """A source shows its name and size only."""
    assert repr(Source("ab", "a.hocl")) == "Source('a.hocl', 2 characters)"
