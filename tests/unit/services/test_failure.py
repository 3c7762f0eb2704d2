"""Failures: short, one line, bounded."""

from __future__ import annotations

from solvent.services.failure import cause_of, failure_of


class Unspeakable(Exception):
    """An exception whose text cannot be made."""

    def __str__(self) -> str:
        raise ValueError


def recurse(depth: int) -> None:
    if depth == 0:
        raise ValueError("deep")
    recurse(depth - 1)


def test_a_cause_is_one_short_line() -> None:
    """Exceptions are named in one line of bounded length."""
    assert cause_of(ValueError("a\n  b")) == "ValueError: a b"
    assert cause_of(KeyError()) == "KeyError"
    assert cause_of(Unspeakable()) == "Unspeakable: (its text could not be made)"
    assert len(cause_of(ValueError("x" * 10_000_000))) == 500


def test_deep_calls_are_shortened() -> None:
    """Of a deep pile of calls the beginning and the end are kept, with their source lines."""
    try:
        recurse(300)
    except ValueError as error:
        lines = failure_of(error).output.splitlines()
    assert sum(line.startswith("  File ") for line in lines) == 20
    assert (lines[1], lines[20]) == ("    recurse(300)", "  ... 282 more frames")
    assert lines[-1] == "ValueError: deep"
