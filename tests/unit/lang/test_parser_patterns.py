"""Patterns: what each reads as, and what wrong ones are told."""

from __future__ import annotations

import pytest

from tests.unit.lang.complaint import complaint, error_of


@pytest.mark.parametrize(
    "text, code, place, hint",
    [
        ("x::itn", "H131", "1:13", "did you mean `int`?"),
        ("x::strng", "H131", "1:13", "did you mean `string`?"),
        ("x::Sting", "H131", "1:13", "did you mean `String`?"),
        ("x::boool", "H131", "1:13", "did you mean `bool`?"),
        ("x::", "H120", "1:14", "for example `x::int`"),
        ("x : ?w", "H130", "1:14", "put it into a solution, `<?w>`, or a list"),
        ("-x", "H120", "1:11", "patterns do not compute; compare in the condition: `if ...`"),
    ],
)
def test_a_wrong_pattern_has_a_code_a_place_and_a_hint(text: str, code: str, place: str, hint: str) -> None:
    """Kinds that do not exist, rests in tuples and signs are told where they are, with advice."""
    assert complaint(f"<replace {text} by x>") == (code, place, hint)


@pytest.mark.parametrize(
    "text, words",
    [
        ("x::qq", "known: BigInteger, Boolean, "),
        ("max = M", "expected a variable for the rule `max`, found `M`"),
        ("x,", "expected a pattern, found `by`"),
        ("?", "<text>:1:12"),
        ("(?a, x, ?b)", "error[H132]"),
        ("list(?a, ?b)", "error[H132]"),
        ("<+a, +b>", "error[H133]"),
        ("x, +a, +b", "error[H133]"),
    ],
)
def test_what_a_pattern_lacks_is_named(text: str, words: str) -> None:
    """A list has one rest, a solution one that demands a molecule, and both have names."""
    assert words in error_of(f"<replace {text} by 1>").show()
