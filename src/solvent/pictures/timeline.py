"""A timeline of a run (a Gantt chart): a row for each task, a bar for each call, from left to right.

Bars of one row do not overlap: where calls of a task do, they get further rows below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from solvent.pictures.shapes import Group, Line, Rect, Sheet, Text
from solvent.pictures.text_width import columns, cut, width_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solvent.pictures.shapes import Shape

MAX_ROWS = 2_000
"""The largest number of rows drawn; a note counts the rest."""
_WIDTH = 720
_ROW = 26
_BAR = 16
_MARGIN = 20
_NAME_LETTERS = 34
_NOTE_LETTERS = 60
_AXIS = 30
_TICKS = 6
_STEPS = (1, 2, 5)


class Bar(msgspec.Struct, frozen=True):
    """A call, in seconds from the beginning of a run."""

    began: float
    ended: float
    state: str
    name: str = ""
    tries: tuple[float, ...] = ()
    """When further attempts began, in seconds."""
    note: str = ""


class Row(msgspec.Struct, frozen=True):
    """Bars that do not overlap; further rows of the same task have no name."""

    name: str
    bars: tuple[Bar, ...]
    note: str = ""


class Moment(msgspec.Struct, frozen=True):
    """An event without duration: an alternative applied, a signal arrived."""

    at: float
    text: str
    sign: str = "↻"


class Timeline(msgspec.Struct, frozen=True):
    """The timeline of a whole run."""

    title: str
    rows: tuple[Row, ...]
    seconds: float
    moments: tuple[Moment, ...] = ()


def rows_of(name: str, bars: Sequence[Bar], note: str = "") -> Iterator[Row]:
    """Put the bars of a task into as few rows as they need."""
    rows: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda one: (one.began, one.ended)):
        row = next((row for row in rows if row[-1].ended <= bar.began), None)
        if row is None:
            rows.append([bar])
        else:
            row.append(bar)
    for number, row in enumerate(rows or [[]]):
        yield Row("" if number else name, tuple(row), "" if number else note)


def ticks(seconds: float) -> list[float]:
    """Return a few round times within a run, from zero."""
    if seconds <= 0:
        return [0.0]
    step = next(step * 10**power for power in range(-6, 9) for step in _STEPS if seconds / (step * 10**power) <= _TICKS)
    return [round(number * step, 6) for number in range(int(seconds / step + 1e-9) + 1)]


def written_time(seconds: float) -> str:
    """Return a duration as a short text."""
    if seconds < 120:
        return f"{seconds:.3g} s" if seconds else "0"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" + (f" {rest} s" if rest else "")


# --------------------------------------------------------------------------------------------------- the terminal

Piece = tuple[str, str]
"""A text, and the state that colours it."""
_SIGNS = {
    "done": "✓",
    "failed": "✗",
    "cancelled": "⊗",
    "running": "▸",
    "healed": "↻",
    "interrupted": "!",
    "withdrawn": "⊘",
}


def lines(timeline: Timeline, *, width: int = 100, max_rows: int = 200) -> Iterator[list[Piece]]:
    """Draw a timeline in at most `width` columns, line by line."""
    shown = timeline.rows[:max_rows]
    names = min(_NAME_LETTERS, max((columns(row.name) for row in shown), default=0), width // 3)
    notes = min(max((columns(row.note) for row in shown), default=0), width // 3, 40)
    room = max(10, width - names - notes - 4)
    yield [(cut(timeline.title, width), "title")]
    for row in shown:
        name = cut(row.name, names)
        pieces = [(name + " " * (names - columns(name) + 2), ""), *_drawn_row(row, timeline.seconds, room)]
        yield [*pieces, (f"  {cut(row.note, notes)}", "note")] if row.note else pieces
    if len(timeline.rows) > max_rows:
        yield [(f"… and {len(timeline.rows) - max_rows:,} more rows", "note")]
    yield [(" " * (names + 2) + _scale(timeline.seconds, room), "note")]
    for moment in timeline.moments[:max_rows]:
        yield [(cut(f"{moment.sign} {written_time(moment.at)}  {moment.text}", width), "moment")]


def _drawn_row(row: Row, seconds: float, room: int) -> list[Piece]:
    """Draw the bars of a row: `━━┃━━✓`, where a stroke is a further attempt and the sign shows how it ended."""
    pieces: list[Piece] = []
    at = 0
    for bar in row.bars:
        begin = max(at, min(room - 1, _column(bar.began, seconds, room)))
        end = max(begin, min(room - 1, _column(bar.ended, seconds, room)))
        drawn = ["━"] * (end - begin) + [_SIGNS.get(bar.state, "·")]
        for again in bar.tries:
            column = _column(again, seconds, room) - begin
            if 0 <= column < len(drawn) - 1:
                drawn[column] = "┃"
        pieces += [(" " * (begin - at), ""), ("".join(drawn), bar.state)]
        at = end + 1
    return [*pieces, (" " * (room - at), "")]


def _column(at: float, seconds: float, room: int) -> int:
    return int(at / seconds * (room - 1)) if seconds > 0 else 0


def _scale(seconds: float, room: int) -> str:
    line = ""
    for tick in ticks(seconds):
        column, text = _column(tick, seconds, room), written_time(tick)
        if column >= len(line) + bool(line) and column + len(text) <= room + 2:
            line = line.ljust(column) + text
    return line


# ------------------------------------------------------------------------------------------------------- shapes


def timeline_drawn(timeline: Timeline) -> Sheet:
    """Draw a timeline as shapes."""
    shown = timeline.rows[:MAX_ROWS]
    left = _MARGIN + max([40.0, *(width_of(cut(row.name, _NAME_LETTERS)) for row in shown)]) + 12
    top = _MARGIN + _AXIS
    bottom = top + _ROW * len(shown)
    scale = _WIDTH / timeline.seconds if timeline.seconds > 0 else 0.0
    shapes: list[Shape] = [Text(_MARGIN, _MARGIN + 6, timeline.title, "head", "start")]
    for tick in ticks(timeline.seconds):
        x = left + tick * scale
        shapes.append(Line(f"M{x:.1f} {top - 4:g} L{x:.1f} {bottom:g}", "grid"))
        shapes.append(Text(x, top - 8, written_time(tick), "note"))
    for moment in timeline.moments[:MAX_ROWS]:
        x = left + moment.at * scale
        shapes.append(Group((Line(f"M{x:.1f} {top:g} L{x:.1f} {bottom:g}", "adapted"),), tip=moment.text))
    edge = left + _WIDTH
    for number, row in enumerate(shown):
        shapes += _row_drawn(row, top + number * _ROW, left, scale)
        edge = max(edge, left + _WIDTH + 12 + width_of(cut(row.note, _NOTE_LETTERS), is_small=True))
    below = [f"{one.sign} {written_time(one.at)}  {one.text}" for one in timeline.moments[:MAX_ROWS]]
    if len(timeline.rows) > MAX_ROWS:
        below.append(f"… and {len(timeline.rows) - MAX_ROWS:,} more rows")
    shapes += [Text(_MARGIN, bottom + 22 + 18 * at, line, "legend", "start") for at, line in enumerate(below)]
    edge = max([edge, *(_MARGIN + width_of(line) for line in (*below, timeline.title))])
    return Sheet(edge + _MARGIN, bottom + 18 * len(below) + _MARGIN, timeline.title, tuple(shapes))


def _row_drawn(row: Row, top: float, left: float, scale: float) -> Iterator[Shape]:
    """Draw a row: its name, its bars, a stroke at each further attempt, and its note at the right."""
    middle = top + _ROW / 2
    if row.name:
        yield Text(left - 12, middle + 4, cut(row.name, _NAME_LETTERS), "", "end")
    for bar in row.bars:
        x, width = left + bar.began * scale, max(2.0, (bar.ended - bar.began) * scale)
        box = Rect(x, middle - _BAR / 2, width, _BAR, bar.state, radius=3)
        over, under = middle - _BAR / 2, middle + _BAR / 2
        places = [left + at * scale for at in bar.tries]
        strokes = tuple(Line(f"M{at:.1f} {over:g} L{at:.1f} {under:g}", "try") for at in places)
        lasted = written_time(round(bar.ended - bar.began, 4))
        tip = " · ".join(one for one in (bar.name, bar.state, lasted, bar.note) if one)
        yield Group((box, *strokes), bar.state, tip)
    if row.note:
        yield Text(left + _WIDTH + 12, middle + 4, cut(row.note, _NOTE_LETTERS), "note", "start")


__all__ = ["Bar", "Moment", "Piece", "Row", "Timeline", "lines", "rows_of", "ticks", "timeline_drawn", "written_time"]
