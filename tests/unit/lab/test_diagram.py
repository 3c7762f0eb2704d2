"""What happened among nodes is drawn as text, never wider than asked for."""

from __future__ import annotations

from immutables import Map

from solvent.protocols.machine import NodeId, Value
from solvent_lab.diagram import Across, Arrow, Conversation, Mark, draw, wrapped

TWO = ("a", "b")


def _lines(*records: Arrow | Mark | Across, names: tuple[str, ...] = TWO, width: int = 40) -> list[str]:
    return draw(names, records, width=width).split("\n")


def test_nodes_are_columns() -> None:
    """Names stand over their columns, as far apart as the width allows."""
    assert _lines() == ["   a                 b"]
    assert _lines(names=("a", "b", "c")) == ["   a           b           c"]


def test_message_is_an_arrow_with_its_text() -> None:
    """Arrows go from sender to recipient, either way, with the number of the step before them."""
    assert _lines(Arrow(0, 1, "hi", number=1), Arrow(1, 0, "ho", number=2))[1:] == [
        " 1 |--------hi------>|",
        " 2 |<-------ho-------|",
    ]


def test_arrow_passes_other_columns() -> None:
    """A message to a node farther away crosses those between."""
    assert _lines(Arrow(0, 2, "hi", number=1), names=("a", "b", "c"), width=42)[1:] == [
        " 1 |------------hi---------->|"
    ]


def test_late_message_names_the_step_that_sent_it() -> None:
    """Where a message was not sent in the step before, the step that sent it follows in parentheses."""
    assert _lines(Mark(0, "go", number=1), Arrow(0, 1, "one", number=2, sent=1), Arrow(0, 1, "two", number=3, sent=1))[
        2:
    ] == [
        " 2 |-------one------>|",
        " 3 |-----two (1)---->|",
    ]


def test_message_from_before_the_beginning_names_no_step() -> None:
    """A message that was under way at the beginning is drawn like a prompt one."""
    assert _lines(Mark(0, "go", number=1), Arrow(1, 0, "hi", number=2))[2:] == [" 2 |<-------hi-------|"]


def test_lost_message_ends_in_a_cross() -> None:
    """A lost message does not arrive."""
    assert _lines(Arrow(0, 1, "hi", number=1, is_lost=True), Arrow(1, 0, "ho", number=2, is_lost=True))[1:] == [
        " 1 |--------hi------x|",
        " 2 |x-------ho-------|",
    ]


def test_long_text_stands_above_its_arrow() -> None:
    """A text that does not fit is broken between words, above the arrow."""
    assert _lines(Arrow(0, 1, "Given(attempt=1, molecules=(1, 2))", number=1), width=45)[1:] == [
        " 1 |  Given(attempt=1,  |",
        "   | molecules=(1, 2))  |",
        "   |------------------->|",
    ]


def test_node_that_writes_to_itself_has_no_arrow() -> None:
    """A message to oneself is something that happens at one node."""
    assert _lines(Arrow(1, 1, "hi", number=1))[1:] == [" 1 |                 * gets its own hi"]


def test_local_events_stand_beside_their_node() -> None:
    """What happens at a node is written to its right; what belongs to the same step has no number."""
    assert _lines(Mark(0, "timer retry", number=1), Mark(0, "reports 3"), Mark(1, "six", number=2, sign="?"))[1:] == [
        " 1 * timer retry     |",
        "   | reports 3       |",
        " 2 |                 ? six",
    ]


def test_long_local_text_is_broken() -> None:
    """A text beside a node does not run into the next column, nor over the right edge."""
    assert _lines(Mark(0, "reports one thing and another", number=1), Mark(1, "x" * 20))[1:] == [
        " 1 * reports one     |",
        "   | thing and       |",
        "   | another         |",
        "   |                 | xxxxxxxxxxxxxxx",
        "   |                 | xxxxx",
    ]


def test_node_that_is_down_has_no_line() -> None:
    """From a crash to the restart, the line of a node is missing."""
    assert _lines(
        Mark(1, "crashes", number=1, sign="X", ends=True),
        Mark(0, "waits", number=2),
        Mark(1, "is back", number=3, sign="O", begins=True),
        Arrow(1, 0, "hi", number=4),
    )[1:] == [
        " 1 |                 X crashes",
        " 2 * waits",
        " 3 |                 O is back",
        " 4 |<-------hi-------|",
    ]


def test_remarks_go_over_all_columns() -> None:
    """A remark belongs to no node."""
    assert _lines(Across("from here on, for ever:"))[1:] == ["   from here on, for ever:"]


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


def test_lines_end_after_commas_and_spaces() -> None:
    """No number is broken, and no line begins with a comma."""
    assert wrapped("Given(number=14265,to=3, at=7)", 20) == ["Given(number=14265,", "to=3, at=7)"]


def test_what_is_too_long_is_broken_where_it_must_be() -> None:
    """A word that is longer than a line goes on in the next one."""
    assert wrapped("a bcdefghij, k", 5) == ["a", "bcdef", "ghij,", "k"]
