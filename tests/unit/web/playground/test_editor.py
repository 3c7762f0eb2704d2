"""Programs to begin with are found, told about and in a good order."""

from __future__ import annotations

from solvent.web.playground.editor import examples


def test_every_example_says_what_it_shows() -> None:
    """Each example has its sentence from the table of examples."""
    found = examples()
    assert len(found) > 30
    assert [one.name for one in found if not one.shows] == []


def test_examples_that_need_python_functions_are_left_out() -> None:
    """The playground has no functions of a host, so what needs them is not offered."""
    assert "self-healing" not in {one.name for one in examples()}
