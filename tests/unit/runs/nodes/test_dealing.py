"""Programs fall into what all nodes know and what each begins with."""

from __future__ import annotations

import pytest

import solvent
from solvent.lang.molecule import Endless
from solvent.runs.nodes.dealing import Deal, rules_in, text_of_rules


def standing(text: str) -> list[str | None]:
    """Give the names of the rules that stand."""
    program = solvent.hocl.parse(text)
    rules = rules_in(program)
    deal = Deal(program, program.solution(), 2)
    return [
        rule.molecule.name if isinstance(rule, Endless) else rule.name for rule in (rules[at] for at in deal.standing)
    ]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("let a = replace x::int, y::int by x in <1, 2, a>", ["a"]),
        # One-shot rules are used up.
        ("let a = replace x::int by A in let b = replace-one A by in <1, a, b>", ["a"]),
        # Endlessly many are not.
        ("let a = replace-one x::int by A in <1, a^inf>", ["a"]),
        # A rule that another could take is no rule for all.
        ("let a = replace x::int by A in let b = replace-one a = r by in let c = replace B by in <1, a, b, c>", ["c"]),
        ("let a = replace x::int by A in let b = replace-one r::rule by in <1, a, b>", []),
        # A variable without a kind could be a rule, but never the rule itself.
        ("let a = replace x, y by in <1, 2, a>", ["a"]),
        ("let a = replace x, y by in <1, 2, a, a>", []),
        ("let a = replace x, y by x if x >= y in let b = replace A, A by in <1, 2, a, b>", ["a", "b"]),
        # What only looks at a rule does not take it.
        ("let a = replace x::int by A in let b = replace-one a = r, 1 by r in <1, a, b>", ["a"]),
        # A rule that comes out of a solution may take others.
        ("let eat = replace-one a = r by in let a = replace A by in <a, <eat>, replace-one <?w> by w>", []),
        # One that stays inside cannot.
        ("let eat = replace-one a = r by in let a = replace A, B by in <a, <eat>>", ["a"]),
        # A product that is a rule.
        ("let a = replace A : x by (b = replace-one a = r by x) in <A:1, a>", []),
    ],
)
def test_rules_that_stand(text: str, expected: list[str]) -> None:
    """A rule stands if nothing that could ever lie beside it could take it."""
    assert standing(text) == expected


def test_data_is_blanked_out_of_the_text() -> None:
    """Rules keep their lines and columns, and the data is gone."""
    text = 'let a = replace x::int, y::int by x in\n<1, 22, "three":4,\n5, a, (1, 2), (b = replace A by B), 7>'
    program = solvent.hocl.parse(text)
    short = text_of_rules(program)
    assert "22" not in short
    assert "three" not in short
    again = solvent.hocl.parse(short)
    assert [short[one.node.start : one.node.end] for one in rules_in(again)] == [
        text[one.node.start : one.node.end] for one in rules_in(program)
    ]
    assert short.count("\n") == text.count("\n")


@pytest.mark.parametrize("text", ["<(1), 2, a>", "<2, (1), a>", "1, (2), a", "<a>", "<>", "<1>"])
def test_brackets_do_no_harm(text: str) -> None:
    """However the data is written, the rules are found."""
    program = solvent.hocl.parse(f"let a = replace x::int by x in {text}")
    assert len(rules_in(solvent.hocl.parse(text_of_rules(program)))) == text.count("a")


def test_functions_in_the_data_are_not_called_for_the_rules() -> None:
    """Where only the rules are wanted, nothing else is computed."""
    called = []
    functions = solvent.hocl.Functions()
    functions.register(lambda: called.append(1) or 1, "once")
    program = solvent.hocl.parse("let a = replace x::int by x in <once(), a>", functions=functions)
    assert len(rules_in(program)) == 1
    assert called == []
