"""Rules as molecules: equality, order, copies."""

from __future__ import annotations

import solvent
from solvent.lang.molecule import order_key
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution

TEXT = "replace x, y by x if x >= y"


def test_rules_of_one_text_are_equal() -> None:
    """Rules are equal when they say the same, wherever they stand."""
    one, other = solvent.hocl.rule(TEXT, name="max"), solvent.hocl.rule(TEXT.replace(", ", "  ,  "), name="max")
    assert one == other
    assert hash(one) == hash(other)
    assert order_key(one) == order_key(other)


def test_rules_of_other_names_or_texts_differ() -> None:
    """Name, kind and text tell rules apart."""
    rule = solvent.hocl.rule(TEXT, name="max")
    others = [
        solvent.hocl.rule(TEXT, name="min"),
        solvent.hocl.rule(TEXT),
        solvent.hocl.rule(TEXT.replace(">=", ">"), name="max"),
        solvent.hocl.rule(TEXT.replace("replace", "replace-one"), name="max"),
    ]
    assert [rule == other for other in others] == [False] * 4
    assert rule != "max"


def test_rules_that_name_other_rules_differ_by_them() -> None:
    """Two rules of one text differ when the rules they name differ."""
    one = solvent.hocl.molecules("let a = replace x by 1 in (r = replace x by a)")
    other = solvent.hocl.molecules("let a = replace x by 2 in (r = replace x by a)")
    assert one != other


def test_rules_differ_by_what_they_captured() -> None:
    """Closures of one text are equal when they captured equal values, of one kind."""
    node = solvent.hocl.rule("replace x by x").node
    assert Rule(node, (1,)) == Rule(node, (1,))
    assert Rule(node, (1,)) != Rule(node, (1.0,))


def test_copy_of_a_closure_shares_no_solution() -> None:
    """A copied rule has its own copy of a captured solution; without one it is itself."""
    node = solvent.hocl.rule("replace x by x").node
    rule = Rule(node, (Solution([1]), 2))
    copy = rule.copied()
    copy.captured[0].add(3)
    assert rule.captured[0] == Solution([1])
    assert Rule(node, (1,)).copied().captured == (1,)
    plain = Rule(node)
    assert plain.copied() is plain
