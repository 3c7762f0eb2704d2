"""Lines and UTF-16: what editors count in."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from solvent.lang.functions import Functions
from solvent.lsp.document import Document, Positions, units
from tests.property.amounts import examples

TEXTS = st.text(st.sampled_from("ab ω≥⟨⟩é\U0001d54f\U0001f9ea\n\r\t"), max_size=40) | st.text(max_size=20)


def _oracle(text: str, offset: int) -> dict[str, int]:
    """Count lines and units the slow way."""
    lines = text[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return {"line": len(lines) - 1, "character": len(lines[-1].encode("utf-16-le", "surrogatepass")) // 2}


@examples(300)
@given(TEXTS, st.data())
def test_places_count_lines_and_utf_16_units(text: str, data: st.DataObject) -> None:
    """The place of a character is its line and the UTF-16 units before it, and leads back to it."""
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n":
        # Between the two characters of one line's end nothing can stand.
        offset -= 1
    positions = Positions(text)
    assert positions.place(offset) == _oracle(text, offset)
    assert positions.offset(positions.place(offset)) == offset


@examples(300)
@given(TEXTS, st.integers(0, 50), st.integers(0, 100))
def test_any_place_is_some_character(text: str, line: int, character: int) -> None:
    """A place that is not there, or is within a character, is one before it that is there."""
    positions = Positions(text)
    place = {"line": line, "character": character}
    offset = positions.offset(place)
    assert 0 <= offset <= len(text)
    found = positions.place(offset)
    assert (found["line"], found["character"]) <= (line, character)


def _edited(text: str, change: dict[str, Any]) -> str:
    """Apply a change to a list of UTF-16 units, line by line, as an editor does."""
    lines = text.split("\n")
    data = text.encode("utf-16-le")

    def at(place: dict[str, int]) -> int:
        return sum(units(one) + 1 for one in lines[: place["line"]]) + place["character"]

    start, end = at(change["range"]["start"]), at(change["range"]["end"])
    return (data[: 2 * start] + change["text"].encode("utf-16-le") + data[2 * end :]).decode("utf-16-le")


@examples(200)
@given(st.text(st.sampled_from("ab≥\U0001d54f\n"), max_size=30), st.data())
def test_changes_give_the_text_of_the_editor(text: str, data: st.DataObject) -> None:
    """After any changes of ranges the server has the text that the editor has."""
    document, expected = Document("untitled:1", text, 1, Functions()), text
    for version in range(data.draw(st.integers(1, 4))):
        offsets = st.integers(0, len(expected))
        start, end = sorted((data.draw(offsets), data.draw(offsets)))
        new = data.draw(st.text(st.sampled_from("x⟨\U0001f9ea\n"), max_size=5))
        change = {"range": Positions(expected).range(start, end), "text": new}
        document, expected = document.changed([change], version), _edited(expected, change)
        assert document.text == expected
