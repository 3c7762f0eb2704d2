"""Programs whose products grow without end are stopped: by a limit on the size, or by one on the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import solvent
from solvent.lang.molecule import MAX_PRINTED, check_printable
from tests.cli.command import solvent as command

if TYPE_CHECKING:
    from pathlib import Path

DOUBLED = "(replace x::string by x + x if len(x) < 9000000)"
SQUARES = "<2, replace x::int by x * x>"
TOO_LARGE = {
    SQUARES: "an integer of 1,048,577 bits",
    "<2, replace x by x * x>": "an integer of 1,048,577 bits",
    "<2, replace x::int by x * x if (x * x > x)>": "an integer of",
    '<"ab", replace x::string by x + x>': "a text of 33,554,432 characters",
    '<"ab", replace x by x.concat(x)>': "a text of 33,554,432 characters",
    "<2, replace x::int by pow(x, 2)>": "an integer of 1,048,577 bits or more",
    "<2, replace x::int by pow(x, x)>": "an integer of about 2^",
    "<pow(10, 1000000000)>": "an integer of 3,000,000,001 bits or more",
    '<"a", replace x::string by string(list(x, x))>': "a text of",
    '<"a", replace x::string by x.toString() + list(x).toString()>': "a text of",
    f'<"1", {DOUBLED}, replace x::string by int(x) if (len(x) > 9000000)>': "an integer of 16,777,216 digits",
    f'<"1 ", {DOUBLED}, replace x::string by split(x, " ") if (len(x) > 9000000)>': "a list of 1,048,577 items",
    f'<"ﬃ", {DOUBLED}, replace x::string by x.toUpperCase() if (len(x) > 9000000)>': "a text of 50,331,648 characters",
    f'<"a", {DOUBLED}, replace x::string by join(range(1, 9), x) if (len(x) > 9000000)>': "a text of more than",
    "<range(1, pow(10, 300000))>": "a list of about 2^996,579 items",
    "<range(pow(10, 300000), pow(10, 300000) + 1000)>": "a list of 1,001 items",
    "<A:(1:1), replace-one A:x by x^3000000>": "a molecule of so many parts",
    "<range(1, 100000000000)>": "a list of 100,000,000,000 items",
}
DOUBLING = [
    "<A:1, replace A:x by A:(x:x)>",
    "<A:1, replace A:x by A:list(x, x)>",
    "<A:1, replace A:x by A:(x, x)>",
    "<list(1), replace x::list by x + x>",
    "<A:<1>, replace A:<?w> by A:<w, w>>",
    "<A:<1>, replace A:x by A:<x, x>>",
    "<<1>, replace <?w> by <<w>, w, w>>",
]


@pytest.mark.parametrize("text", TOO_LARGE)
def test_a_value_that_is_too_large_ends_the_run(text: str) -> None:
    """The error names the size and the place, and the exit code is that of a limit."""
    result = command("run", "-", typed=text)
    assert result.code == 3
    assert f"error[H323]: {TOO_LARGE[text]}" in result.err
    assert "<stdin>:1:" in result.err


@pytest.mark.parametrize("text", DOUBLING)
@pytest.mark.parametrize("seed", [(), ("--seed", "1")], ids=["default", "seed"])
def test_a_limit_on_the_time_ends_products_that_double(text: str, seed: tuple[str, ...]) -> None:
    """Where each reaction takes twice as long as the one before, the time is looked at often enough."""
    result = command("run", "-", "--max-seconds", "0.2", *seed, typed=text)
    # A machine that is quick enough meets the limit on the size first.
    assert result.code == 3
    assert "error[H502]" in result.err or "error[H323]" in result.err


@pytest.mark.parametrize("text", DOUBLING)
@pytest.mark.parametrize("word", ["trace", "explore"])
def test_a_limit_on_the_time_ends_other_commands(text: str, word: str) -> None:
    """A trace looks at the time while it numbers what a reaction made, an exploration amid one state."""
    result = command(word, "-", "--max-seconds", "0.2", typed=text)
    assert result.code == 3
    assert "H502" in result.err or "H323" in result.err or "stopped after 0.2 seconds" in result.err


@pytest.mark.parametrize(
    "words", [("trace", "-"), ("explore", "-"), ("why", "-", "4")], ids=["trace", "explore", "why"]
)
def test_other_commands_end_as_well(words: tuple[str, ...]) -> None:
    """Commands that react, whatever they show, end at the same size."""
    result = command(*words, typed=SQUARES)
    assert (result.code, "error[H323]" in result.err) == (3, True)


def test_a_python_program_gets_the_limit() -> None:
    """`solvent.hocl.react` raises `LimitReached`, and the solution holds what it held before the reaction."""
    solution = solvent.hocl.parse(SQUARES).solution()
    with pytest.raises(solvent.LimitReached, match="H323"):
        solvent.hocl.react(solution)
    assert 1 << (1 << 19) in solution


def test_large_values_are_allowed() -> None:
    """Integers of 100,000 digits, and texts of millions of characters, are multiplied and joined."""
    text = f'<1{"0" * 50_000}, (replace-one x::int by x * x), (replace-one x::string by x + x), "{"a" * 2_000_000}">'
    solution = solvent.hocl.parse(text).solution()
    solvent.hocl.react(solution)
    assert {10**100_000, "a" * 4_000_000} <= set(solution)


@pytest.mark.parametrize(
    "text",
    [
        f'<"ab", {DOUBLED}, replace-one x::string by x^100 if (len(x) > 9000000)>',
        "<2, (replace x::int by x * x if x < pow(2, 500000)), (replace-one x::int by x^1000 if x > pow(2, 500000))>",
        "<A:range(1, 500000), replace-one A:x by (x:x:x):(x:x:x)>",
        "<A:(replace Z by Y), (replace-one A:x by A:(replace Z by x, x))^30>",
    ],
    ids=["texts", "integers", "lists", "rules"],
)
@pytest.mark.parametrize("words", [("run", "-"), ("run", "-", "--save", "saved.hocl"), ("trace", "-")], ids=" ".join)
def test_a_solution_whose_text_would_be_far_larger_than_itself_is_not_printed(
    text: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    """Parts that are shared in memory would be written again and again: an error says so, with a limit's exit code."""
    result = command(*words, typed=text, cwd=tmp_path)
    assert (result.code, result.out[:100] if words[0] == "run" else "") == (3, "")
    assert "error[H323]" in result.err


def test_show_refuses_what_is_too_large_to_print() -> None:
    """`solvent.hocl.show` raises the same error."""
    molecule: object = 1
    for _ in range(40):
        molecule = (molecule, molecule)
    with pytest.raises(solvent.LimitReached, match="too large to print"):
        solvent.hocl.show(solvent.hocl.Solution([molecule]))


def test_many_small_molecules_may_be_printed() -> None:
    """The limit is on large molecules; however many small ones there are, they may be printed."""
    check_printable([(1, 2)] * MAX_PRINTED)
    with pytest.raises(solvent.LimitReached, match="too large to print"):
        check_printable([(1,) * 20] * (MAX_PRINTED // 20))


@pytest.mark.parametrize(
    "call, says",
    [
        ("pow(pow(10, 5000), 0 - 1)", "cannot raise an int of 16,610 bits to -1"),
        ("nth(pow(10, 5000), list(1))", "a list of 1 has no element an int of 16,610 bits"),
        ('substring("a", pow(10, 5000))', "a string of 1 has no part from an int of 16,610 bits to 1"),
        ("sum(list(pow(10, 400), 0.5))", "an integer is too large to become a float"),
        ("string(list(pow(10, 5000)))", "list with an integer too long to be written inside it"),
        ("A^pow(10, 5000)", "a multiplet of an int of 16,610 bits molecules"),
    ],
)
def test_long_integers_are_named_by_their_length(call: str, says: str) -> None:
    """What cannot be computed with a long integer fails the reaction with a message that can be read."""
    result = command("run", "-", typed=f"<1, replace-one 1 by {call}>")
    assert result.code == 1
    assert says in result.err


@pytest.mark.parametrize("sign", ["", "-", "+", " "])
def test_long_texts_of_digits_become_integers(sign: str) -> None:
    """A sign, or white space, before thousands of digits makes no difference."""
    solution = solvent.hocl.parse(f'<"{sign}1{"0" * 5000}", replace-one x::string by int(x)>').solution()
    solvent.hocl.react(solution)
    assert (-1 if sign == "-" else 1) * 10**5000 in solution
