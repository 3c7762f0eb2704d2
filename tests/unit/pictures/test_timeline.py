"""What happened when, as a picture."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.pictures.svg import svg
from solvent.pictures.timeline import Bar, Moment, Timeline, lines, rows_of, ticks, timeline_drawn, written_time

RUN = Timeline(
    "run: done, 4 s",
    (
        *rows_of("fetch", [Bar(0, 2, "failed", "fetch", (1.0,), "exit code 3")], "failed"),
        *rows_of("copy", [Bar(2, 4, "done", "copy")]),
    ),
    4.0,
    (Moment(2.0, "offline: instead of fetch"),),
)
TIMES = st.floats(0, 1e6, allow_nan=False)


def _text(timeline: Timeline, width: int = 60) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in lines(timeline, width=width)]


def test_bars_in_the_terminal() -> None:
    """Bars lie where they were in time, attempts are strokes, and ends have signs."""
    title, fetch, copy, scale, moment = _text(RUN, width=40)
    assert title == "run: done, 4 s"
    assert fetch.startswith("fetch  ━━━━━━┃━━━━━✗")
    assert copy.endswith("━━━✓")
    assert copy.index("━") >= fetch.index("✗")
    assert scale.split() == ["0", "1", "s", "2", "s", "3", "s", "4", "s"]
    assert moment == "↻ 2 s  offline: instead of fetch"


def test_bars_in_svg() -> None:
    """Bars have the colours of their ends, strokes for attempts, and say more when they are pointed at."""
    picture = svg(timeline_drawn(RUN))
    ET.fromstring(picture)  # noqa: S314 - our own text
    assert picture.count('<path class="try"') == 1
    assert "<title>fetch · failed · 2 s · exit code 3</title>" in picture
    assert '<rect class="done"' in picture


def test_calls_that_overlap_have_rows_of_their_own() -> None:
    """Bars of one row never lie upon each other, and only the first row has the name."""
    rows = list(rows_of("t", [Bar(0, 3, "done"), Bar(1, 2, "done"), Bar(3, 4, "done")]))
    assert [(row.name, len(row.bars)) for row in rows] == [("t", 2), ("", 1)]


@given(st.lists(st.tuples(TIMES, TIMES), max_size=20))
def test_any_calls_can_be_drawn(times: list[tuple[float, float]]) -> None:
    """No line is too wide, no two bars of a row overlap, and the picture is well-formed."""
    bars = [Bar(min(pair), max(pair), "done") for pair in times]
    timeline = Timeline("run", tuple(rows_of("task", bars)), max((bar.ended for bar in bars), default=0.0))
    assert all(one.ended <= other.began for row in timeline.rows for one, other in pairwise(row.bars))
    assert all(len(line) <= 62 for line in _text(timeline))
    ET.fromstring(svg(timeline_drawn(timeline)))  # noqa: S314 - our own text


@given(st.floats(1e-5, 1e7))
def test_ticks_are_few_and_round(seconds: float) -> None:
    """A scale begins at zero, ends within the run, and has from two to seven marks."""
    found = ticks(seconds)
    assert found[0] == 0
    assert found[-1] <= seconds * 1.000001
    assert 2 <= len(found) <= 7


@pytest.mark.parametrize(
    "seconds, text", [(0, "0"), (0.25, "0.25 s"), (90, "90 s"), (150, "2 min 30 s"), (7200, "2 h 0 min")]
)
def test_times_in_words(seconds: float, text: str) -> None:
    """A duration has a few letters."""
    assert written_time(seconds) == text
