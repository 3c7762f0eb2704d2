"""What happened among nodes is drawn as text, never wider than asked for."""

from __future__ import annotations

import pytest

from solvent.protocols.machine import NodeId, Value
from solvent.protocols.maps import Map
from solvent_lab.diagram import Across, Arrow, Conversation, Mark, Record, draw

TWO = ("a", "b")
THREE = ("a", "b", "c")


@pytest.mark.parametrize("names, width, records, drawn", [
    pytest.param(TWO, 40, [], ["   a                 b"], id="names stand over their columns"),
    pytest.param(THREE, 40, [], ["   a           b           c"], id="as far apart as the width allows"),
    pytest.param(TWO, 40, [Arrow(0, 1, "hi", number=1), Arrow(1, 0, "ho", number=2)], [
        " 1 |--------hi------>|",
        " 2 |<-------ho-------|",
    ], id="arrows go from sender to recipient, either way, with the number of the step"),
    pytest.param(THREE, 42, [Arrow(0, 2, "hi", number=1)], [
        " 1 |------------hi---------->|",
    ], id="a message to a node farther away crosses those between"),
    pytest.param(TWO, 40, [Mark(0, "go", 1), Arrow(0, 1, "one", 2, sent=1), Arrow(0, 1, "two", 3, sent=1)], [
        " 1 * go              |",
        " 2 |-------one------>|",
        " 3 |-----two (1)---->|",
    ], id="the step that sent a message is named unless it is the step before"),
    pytest.param(TWO, 40, [Mark(0, "go", 1), Arrow(1, 0, "hi", 2)], [
        " 1 * go              |",
        " 2 |<-------hi-------|",
    ], id="a message from before the beginning names no step"),
    pytest.param(TWO, 40, [Arrow(0, 1, "hi", 1, is_lost=True), Arrow(1, 0, "ho", 2, is_lost=True)], [
        " 1 |--------hi------x|",
        " 2 |x-------ho-------|",
    ], id="a lost message ends in a cross"),
    pytest.param(TWO, 45, [Arrow(0, 1, "Given(attempt=1, molecules=(1, 2))", 1)], [
        " 1 |  Given(attempt=1,  |",
        "   | molecules=(1, 2))  |",
        "   |------------------->|",
    ], id="a text that does not fit stands above its arrow"),
    pytest.param(TWO, 40, [Arrow(1, 1, "hi", 1)], [
        " 1 |                 * gets its own hi",
    ], id="a message to oneself has no arrow"),
    pytest.param(TWO, 40, [Mark(0, "timer retry", 1), Mark(0, "reports 3"), Mark(1, "six", 2, sign="?")], [
        " 1 * timer retry     |",
        "   | reports 3       |",
        " 2 |                 ? six",
    ], id="what happens at a node stands beside it, and has no number if it belongs to the step before"),
    pytest.param(TWO, 40, [Mark(0, "reports one thing and another", 1), Mark(1, "x" * 20)], [
        " 1 * reports one     |",
        "   | thing and       |",
        "   | another         |",
        "   |                 | xxxxxxxxxxxxxxx",
        "   |                 | xxxxx",
    ], id="a text beside a node runs neither into the next column nor over the edge"),
    pytest.param(TWO, 40, [
        Mark(1, "crashes", 1, sign="X", ends=True),
        Mark(0, "waits", 2),
        Mark(1, "is back", 3, sign="O", begins=True),
        Arrow(1, 0, "hi", 4),
    ], [
        " 1 |                 X crashes",
        " 2 * waits",
        " 3 |                 O is back",
        " 4 |<-------hi-------|",
    ], id="a node that is down has no line"),
    pytest.param(TWO, 40, [Across("from here on, for ever:")], ["   from here on, for ever:"], id="remarks"),
])  # fmt: skip
def test_what_happened_is_drawn(names: tuple[str, ...], width: int, records: list[Record], drawn: list[str]) -> None:
    """Nodes are columns, time goes down, and messages are arrows."""
    lines = draw(names, records, width=width).split("\n")
    assert (lines[1:] if records else lines) == drawn


def test_no_line_is_too_wide() -> None:
    """Whatever is told, no line is wider than asked for."""
    words = " ".join(["word"] * 40)
    records = (
        Arrow(0, 4, words, number=10_000),
        Arrow(3, 2, "x" * 300, number=10_001, sent=1),
        Mark(4, words, number=10_002),
        Mark(4, "y" * 200),
        Across(words),
    )
    lines = draw(("a" * 50, "b", "c", "d", "e" * 50), records).split("\n")
    assert max(map(len, lines)) <= 100


class _Served(Value, frozen=True):
    served: Map[int, int]


def test_maps_are_written_as_they_are_meant() -> None:
    """Of a map only what is in it is written."""
    heard = Conversation()
    heard(NodeId(0), NodeId(1), _Served(Map({3: 1})), 0)
    assert [one.text for one in heard.drawing(2)[1] if isinstance(one, Arrow)] == ["_Served(served={3: 1})"]
