"""Errors: fields, words, exit codes."""

from __future__ import annotations

import pytest

import solvent
from solvent.errors import (
    Interrupted,
    LimitReached,
    Misuse,
    NameProblem,
    ProgramError,
    ReactionFailed,
    SolventError,
    SyntaxProblem,
    nearest,
)
from solvent.source import Source, Span


def test_error_is_shown_whole() -> None:
    """Code, message, place, line, caret, note and hint are shown in this order."""
    span = Span(Source("<1, x>", "a.hocl"), 4, 5)
    error = NameProblem("H201", "no rule is named `x`", span=span, note="here", hint="think")
    assert error.show() == (
        "error[H201]: no rule is named `x`\n  a.hocl:1:5\n1 | <1, x>\n  |     ^ here\n  hint: think"
    )
    assert str(error) == error.show()


def test_error_without_a_place() -> None:
    """An error about no text shows no excerpt."""
    error = Misuse("H301", "no")
    assert (error.show(), error.place) == ("error[H301]: no", "")


def test_failed_reaction_names_rule_and_reactants() -> None:
    """A failed reaction shows its rule and what is back in the solution."""
    error = ReactionFailed("H401", "division by zero", rule="halve", reactants=["1", "2"])
    assert error.show().splitlines()[1:] == ["  rule: halve", "  it took these molecules and put them back: 1, 2"]


def test_failed_reaction_without_reactants() -> None:
    """A failed reaction that took nothing says so."""
    error = ReactionFailed("H402", "no", rule="r", reactants=[])
    assert error.details()[1] == "it took these molecules and put them back: none"


@pytest.mark.parametrize(
    "kind, code",
    [
        (SyntaxProblem, 2),
        (NameProblem, 2),
        (Misuse, 2),
        (ReactionFailed, 1),
        (LimitReached, 3),
        (Interrupted, 130),
    ],
)
def test_exit_codes(kind: type[SolventError], code: int) -> None:
    """Each kind of error has its exit code."""
    assert kind.exit_code == code


def test_problems_of_programs_are_one_kind() -> None:
    """Wrong syntax and wrong names are both errors of the program."""
    assert issubclass(SyntaxProblem, ProgramError)
    assert issubclass(NameProblem, ProgramError)


def test_unknown_name_of_the_package() -> None:
    """A name that the package does not offer is an ordinary attribute error."""
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = solvent.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrong, hint", [("colur", "did you mean `colour`?"), ("qqq", "")])
def test_close_name_is_suggested(wrong: str, hint: str) -> None:
    """A name one letter off is suggested; without a close name there is no hint."""
    assert nearest(wrong, ["colour", "max"]) == hint
