"""What the playground answers, asked without a process."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from solvent.errors import Misuse
from solvent.web.playground.answers import answer
from solvent.web.playground.question import Question, read_question

MAX = "let max = replace x, y by x if x >= y in\n<2, 9, 5, max>"


def _ask(ask: str, program: str = MAX, **options: Any) -> dict[str, Any]:
    return answer(msgspec.convert({"ask": ask, "program": program, **options}, Question))


def test_check_finds_several_errors_at_once() -> None:
    """What is wrong behind a first mistake is told, too."""
    found = _ask("check", "let a = replace x by y in\nlet b = replace x by z in\n<1, a, b>")["problems"]
    assert [(one["code"], one["line"]) for one in found] == [("H203", 1), ("H203", 2)]


def test_places_are_counted_as_a_page_counts() -> None:
    """A character beyond the first plane of Unicode counts twice, as in JavaScript."""
    problem, *_ = _ask("check", '<"\U0001f9ea", }>')["problems"]
    assert (problem["start"], problem["end"], problem["column"]) == (7, 8, 7)


def test_check_warns_of_what_is_probably_not_meant() -> None:
    """A rule that is in no solution is a warning, at its place."""
    (problem,) = _ask("check", "let max = replace x, y by x if x >= y in <1>")["problems"]
    assert (problem["kind"], problem["code"], problem["line"]) == ("warning", "H250", 1)


def test_format_gives_the_common_layout() -> None:
    """A program is laid out as `solvent fmt` does."""
    assert _ask("format", "<1,2 ,   3>") == {"problems": [], "program": "<1, 2, 3>\n"}


def test_run_that_fails_marks_what_could_not_be_computed() -> None:
    """A product that cannot be computed is an error at its place, with the rule and the reactants."""
    found = _ask("run", "<0, (replace x::int by 1 / x)>")
    (problem,) = found["problems"]
    assert problem["code"].startswith("H4")
    assert problem["details"]
    assert "start" in problem


def test_seed_chooses_the_order() -> None:
    """The same seed gives the same run, and seeds give different ones."""
    program = "<1, 2, 3, 4, 5, (replace x::int, y::int by x - y)>"
    found = [_ask("run", program, seed=seed)["steps"]["reactions"] for seed in (1, 1, 2, 3, 4, 5)]
    assert found[0] == found[1]
    assert any(one != found[0] for one in found[2:])


def test_explore_finds_a_run_that_never_ends() -> None:
    """A cycle is told: how to come to it, and once round."""
    cycle = _ask("explore", "<A, (go = replace A by B), (back = replace B by A)>")["orders"]["cycle"]
    assert [one["rule"] for one in cycle["round"]] == ["go", "back"]


def test_explore_draws_the_nearest_states_and_says_what_is_left_out() -> None:
    """Of many states the nearest are drawn, and how many are not is said."""
    orders = _ask("explore", "<1, (replace x::int by x + 1)>", max_states=500)["orders"]
    assert (orders["states"], orders["is_complete"], orders["terminates"]) == (500, False, None)
    assert len(orders["picture"]["nodes"]) + orders["picture"]["left_out"] == 500


def test_why_of_what_never_was_tells_what_there_was() -> None:
    """A molecule that never was is not found, and others are named."""
    why = _ask("why", about="77")["why"]
    assert why["found"] is False
    assert why["near"]


def test_why_not_of_an_unknown_rule_names_the_known_ones() -> None:
    """A rule that never was is said not to have been, with those that were."""
    fate = _ask("why-not", about="mix")["why_not"]
    assert (fate["existed"], fate["known"]) == (False, ["max"])


def test_programs_have_no_functions_but_the_built_in_ones() -> None:
    """A function of a host, whatever its name, is not there."""
    for call in ("open", "look_up", "__import__", "eval"):
        (problem,) = _ask("run", f'<{call}("x")>')["problems"]
        assert problem["code"].startswith(("H1", "H2")), call


@pytest.mark.parametrize(
    "question",
    [
        b"",
        b"[]",
        b'{"ask": "run"}',
        b'{"ask": "open", "program": ""}',
        b'{"ask": "run", "program": "", "functions": "os"}',
        b'{"ask": "run", "program": "", "max_seconds": 1000}',
        b'{"ask": "run", "program": "", "max_reactions": -1}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_question_is_refused(question: bytes) -> None:
    """What is no question, or asks for more than there may be, is refused with a code."""
    with pytest.raises(Misuse) as caught:
        read_question(question)
    assert caught.value.code == "H370"


def test_a_program_that_is_too_long() -> None:
    """Of a program that is too long it is said how long one may be."""
    with pytest.raises(Misuse, match=r"at most 50,000 characters; this one has 50,001") as caught:
        read_question(b'{"ask": "run", "program": "' + b"1" * 50_001 + b'"}')
    assert caught.value.code == "H370"
