"""What a notebook shows of recorded runs and explorations."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import solvent


def test_a_record_is_a_table_of_its_reactions() -> None:
    """Each reaction is a row: its number, its rule, what it found and what it left."""
    html = solvent.hocl.record(
        solvent.hocl.parse("<1, 2, (sum = replace x::int, y::int by x + y)>").solution()
    )._repr_html_()
    cells = ["".join(cell.itertext()) for cell in ET.fromstring(html).iter("td")]  # noqa: S314 - our own text
    assert cells[:2] == ["1", "sum"]
    assert sorted(cells[2]) == sorted("1, 2")
    assert cells[3] == "3"


def test_a_long_record_shows_its_beginning_and_its_end() -> None:
    """Of many reactions the first and the last are shown, and how many are not is said."""
    html = solvent.hocl.record(solvent.hocl.parse("<1, (replace x::int by x + 1 if x < 500)>").solution())._repr_html_()
    assert html.count("<tr>") == 52
    assert "449 more" in html


def test_an_exploration_of_few_states_is_a_picture() -> None:
    """The states of a small program are an image that stands alone, in light and in dark."""
    found = solvent.hocl.explore(solvent.hocl.parse("<A, (replace-one A by B), (replace-one A by C)>").solution())
    bundle = found._repr_mimebundle_()
    assert list(bundle) == ["image/svg+xml"]
    assert ET.fromstring(bundle["image/svg+xml"]).tag.endswith("svg")  # noqa: S314 - our own text
    assert "prefers-color-scheme: dark" in bundle["image/svg+xml"]


def test_an_exploration_of_many_states_is_told() -> None:
    """Of many states the final ones are told, and what is known of all."""
    found = solvent.hocl.explore(solvent.hocl.parse("<1, (replace x::int by x + 1 if x < 100)>").solution())
    bundle = found._repr_mimebundle_(include=None, exclude=None)
    assert list(bundle) == ["text/html"]
    assert "100 states, 1 of them final; confluent: yes; every run ends: yes" in bundle["text/html"]


def test_an_exploration_has_a_short_text() -> None:
    """Where there are no pictures, an exploration is a line."""
    found = solvent.hocl.explore(solvent.hocl.parse("<2, 3, (replace x::int, y::int by x)>").solution())
    assert repr(found) == "Exploration(states=3, finals=2, confluent=False, terminates=True)"
