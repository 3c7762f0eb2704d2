"""Lines on a grid of characters."""

from __future__ import annotations

from solvent.pictures.terminal import Canvas, Strokes, level, upright


def _drawn(*lines: tuple[Strokes, bool]) -> list[str]:
    canvas = Canvas()
    for strokes, is_dashed in lines:
        canvas.draw(strokes, is_dashed=is_dashed)
    return canvas.lines()


def _plus(*, is_one: bool) -> list[tuple[Strokes, bool]]:
    down: Strokes = {}
    across: Strokes = down if is_one else {}
    upright(down, 1, 0, 2)
    level(across, 1, 0, 2)
    return [(down, False)] if is_one else [(down, False), (across, False)]


def test_crossing_and_joining() -> None:
    """Two lines that cross keep apart; one line that branches is joined."""
    assert _drawn(*_plus(is_one=False)) == [" │", "─│─", " │"]
    assert _drawn(*_plus(is_one=True)) == [" │", "─┼─", " │"]


def test_a_cell_is_dashed_if_all_its_lines_are() -> None:
    """A solid line over a dashed one is solid."""
    dashed: Strokes = {}
    solid: Strokes = {}
    level(dashed, 0, 0, 4)
    level(solid, 0, 2, 4)
    assert _drawn((dashed, True), (solid, False)) == ["╌╌───"]


def test_text_lies_on_top() -> None:
    """What is written hides what is drawn."""
    canvas, line = Canvas(), Strokes()
    level(line, 0, 0, 4)
    canvas.draw(line, is_dashed=False)
    canvas.write(0, 1, "ab")
    assert canvas.lines() == ["─ab──"]
