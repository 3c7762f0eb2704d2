"""Values as text: whatever a task returned, a terminal shows something of it."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.values.text import form_of

FIRST = "10000000000000000000… (5,001 digits)"


class _Wrong:
    def __repr__(self) -> str:
        raise ValueError("no form")


@pytest.mark.parametrize(
    "value, text",
    [
        (10**4000, "1" + "0" * 4000),
        (10**5000, FIRST),
        (-(10**5000), f"-{FIRST}"),
        (10**5000 - 1, "99999999999999999999… (5,000 digits)"),
        ([1, (10**5000, "a")], f"[1, ({FIRST}, 'a')]"),
        ({"n": {"m": 10**5000}}, f"{{'n': {{'m': {FIRST}}}}}"),
        (_Wrong(), "<_Wrong: its repr raises ValueError>"),
        ([_Wrong()], "<list: its repr raises ValueError>"),
        ([10**5000, _Wrong()], "<list: its repr raises ValueError>"),
    ],
    ids=range(9),
)
def test_every_value_has_a_text(value: Any, text: str) -> None:
    """Integers that Python does not write out are shortened, at any depth; a wrong `__repr__` is named."""
    assert form_of(value) == text
