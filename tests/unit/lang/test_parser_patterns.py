"""Patterns: what each reads as, and what wrong ones are told."""

from __future__ import annotations

import pytest

from tests.unit.lang.complaint import complaint, error_of


@pytest.mark.parametrize("wrong, meant", [("itn", "int"), ("strng", "string"), ("Sting", "String"), ("boool", "bool")])
def test_wrong_kind_close_to_a_right_one(wrong: str, meant: str) -> None:
    """A kind that does not exist is told the closest that does."""
    assert complaint(f"<replace x::{wrong} by x>") == ("H131", "1:13", f"did you mean `{meant}`?")


def test_wrong_kind_close_to_none() -> None:
    """A kind far from all others gets the list of them."""
    assert complaint("<replace x::qq by x>")[2].startswith("known: BigInteger, Boolean, ")


def test_missing_kind() -> None:
    """After `::` comes a kind."""
    assert complaint("<replace x:: by x>") == ("H120", "1:14", "for example `x::int`")


def test_rest_in_a_tuple() -> None:
    """A rest cannot be a part of a tuple."""
    assert complaint("<replace x : ?w by x>") == ("H130", "1:14", "put it into a solution, `<?w>`, or a list")


@pytest.mark.parametrize("text", ["(?a, x, ?b)", "list(?a, ?b)"])
def test_two_rests_in_a_list(text: str) -> None:
    """A list pattern has one rest at most, since a list has an order."""
    assert complaint(f"<replace {text} by>")[:2] == ("H132", "1:10")


def test_rule_pattern_needs_a_variable() -> None:
    """`max = M` is refused, since a symbol binds nothing."""
    assert error_of("<replace max = M by>").message == "expected a variable for the rule `max`, found `M`"


def test_sign_before_a_variable() -> None:
    """Patterns do not compute."""
    hint = "patterns do not compute; compare in the condition: `if ...`"
    assert complaint("<replace -x by 1>") == ("H120", "1:11", hint)


def test_rest_needs_a_name() -> None:
    """After `?` comes a name."""
    assert complaint("<replace ? by 1>")[:2] == ("H120", "1:12")


def test_missing_pattern() -> None:
    """After a comma comes another pattern."""
    assert error_of("<replace x, by x>").message == "expected a pattern, found `by`"


def test_two_rests_of_at_least_one() -> None:
    """Of two rests in one solution only one can demand a molecule."""
    assert complaint("<replace <+a, +b> by a>")[:2] == ("H133", "1:10")
    assert error_of("<replace <+a, +b> by c>").code == "H133"


def test_two_rests_of_at_least_one_at_the_top() -> None:
    """The patterns of a rule are those of a solution, its own: they are checked the same."""
    assert complaint("<replace x, +a, +b by a>")[0] == "H133"
