"""What a rule joins by a value has a home."""

from __future__ import annotations

import pytest

import solvent
from solvent.runs.nodes.standing import Rules
from tests.unit.runs.nodes.town import Town

COUNT = "let count = replace word::string : m, word : n by word : m + n in "


@pytest.mark.parametrize(
    "text,homes",
    [
        (f"{COUNT}<count>", {"2": (0, ("string",))}),
        # Two shapes, the value at different places.
        ("let p = replace A : x, B : y : x by x in <p>", {"2 A": (1, ("*",)), "3 B": (2, ("*",))}),
        # Two rules that agree, and two that do not.
        (
            "let p = replace A:x, B:x by in let q = replace A:x, C:x by in <p, q>",
            dict.fromkeys(["2 A", "2 B", "2 C"], (1, ("*",))),
        ),
        ("let p = replace A:x:y, B:x by in let q = replace A:x:y, C:y by in <p, q>", {}),
        # Of two values that join, the one that other rules join by.
        (
            "let p = replace A:x:y, B:x:y by in let q = replace A:x:y, A:z:y by in <p, q>",
            dict.fromkeys(["3 A", "3 B"], (2, ("*",))),
        ),
        # Nothing joins all parts.
        ("let mark = replace LIVE : a, POINTS : a : b, FREE : b by in <mark>", {}),
        ("let max = replace x::int, y::int by x if x >= y in <max>", {}),
        # The same value, but not at the same place.
        ("let p = replace A : x : y, A : y : x by in <p>", {}),
        # Tuples of which some other rule may want any.
        (f"{COUNT}let eat = replace A : x, t::tuple by in <count, eat>", {}),
        (f"{COUNT}let pair = replace A : x, A : x by in <count, pair>", {}),
        # A rule that may be a molecule wants them too.
        (f"{COUNT}let once = replace-one w : 3 by in <count, once>", {}),
        # A rule that takes one molecule is nobody else's business.
        (f"{COUNT}let drop = replace w : 0 by in <count, drop>", {"2": (0, ("string",))}),
    ],
)
def test_joined_tuples_have_homes(text: str, homes: dict[str, tuple[int, tuple[str, ...]]]) -> None:
    """A word has homes if every rule that wants several molecules joins them by one part, the same for all."""
    assert Rules(solvent.hocl.parse(text).solution()).homes() == homes


def test_many_are_gathered_at_once() -> None:
    """Counts of many words come together by few messages, each word at one node."""
    counts = ", ".join(f'"w{number % 60}":1' for number in range(600))
    program = solvent.hocl.parse(f"{COUNT}<{counts}, count>")
    solvent.hocl.react(alone := program.solution())
    towns = [Town(program, 4, 1, scatters=True, gathers=gathers) for gathers in (True, False)]
    assert [town.run() for town in towns] == [alone, alone]
    assert 2 * towns[0].messages < towns[1].messages
