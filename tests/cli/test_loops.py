"""Loops: joins by the first arrivals in several rounds, and what the tasks that a loop goes back to may take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli import controlled
from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

LOOP = """\
tasks:
  S: {service: same, in: [0], to: [H]}
  H: {service: more, in: [{arrived: one}], join: any, split: HOW, to: WAYS}
  B: {service: same, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}]}
  D: {service: same, in: [{arrived: one}]}
  J: {service: same, in: [{arrived: one}], after: [B, C, D], join: FIRST, again: {to: H, when: "result < 4"}}
  E: {service: same, from: J}
"""
SOME = '{B: "true", C: "result > 99", D: "result % 2 == 0"}'
TWO = '{B: "true", C: "result > 99", D: "true"}'
ONE = '{B: "result == 1", C: "result > 99", D: null}'
OPEN = """\
tasks:
  S: {service: same, in: [0], to: [H]}
  H: {service: more, in: [{arrived: one}], join: any, split: some, to: {B: "true", C: "result > 99"}}
  B: {service: same, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}]}
  F: {service: same, in: [{arrived: one}], after: [C]}
  J: {service: same, in: [{arrived: one}], after: [B, C], join: {first: 1, cancel: true},
    again: {to: H, when: "result < 4"}}
  E: {service: same, from: J}
"""
FURTHER = """\
tasks:
  S: {service: same, in: [0], to: [H]}
  H: {service: more, in: [{arrived: one}], join: any, to: [A, B]}
  A: {service: same, in: [{arrived: one}], split: one, to: {C: "result > 99", D: null}}
  B: {service: same, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}]}
  D: {service: same, in: [{arrived: one}]}
  J: {service: same, in: [{arrived: one}], after: [B, C, D], join: {first: 2}, again: {to: H, when: "result < 3"}}
  E: {service: same, from: J}
"""
THREADS = """\
tasks:
  S: {service: same, in: [0], threads: 2, split: some, to: {B: "true", C: "result > 99"}}
  B: {service: same, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}]}
  J: {service: more, in: [{arrived: one}], after: [B, C], join: {first: 1}}
"""
LATE = """\
tasks:
  S: {service: same, in: [0], to: [H]}
  H: {service: more, in: [{arrived: one}], join: any, split: some, to: {B: "true", D: "WHEN"}}
  B: {service: same, in: [{arrived: one}]}
  D: {service: same, in: [{arrived: one}]}
  J: {service: same, in: [{arrived: one}], after: [B, D], join: {first: 1}, again: {to: H, when: "result < 5"}}
  E: {service: same, from: J}
"""
LONGER = """\
tasks:
  S: {service: same, in: [0], to: [H]}
  H: {service: more, in: [{arrived: one}], join: any, split: some, to: {B: "true", A: "result == 2"}}
  A: {service: same, in: [{arrived: one}]}
  B: {service: same, in: [{arrived: one}]}
  D: {service: same, in: [{arrived: one}], after: [A]}
  J: {service: same, in: [{arrived: one}], after: [B, D], join: {first: 1}, again: {to: H, when: "result < 5"}}
  E: {service: same, from: J}
"""
MERGED = """\
tasks:
  S: {service: same, in: [0], to: [H]}
  H: {service: more, in: [{arrived: one}], join: any, to: [A, B]}
  A: {service: same, in: [{arrived: one}], split: one, to: {C: "result == 1", D: null}}
  B: {service: same, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}]}
  D: {service: same, in: [{arrived: one}]}
  M: {service: same, in: [{arrived: one}], after: [C, D], join: any}
  J: {service: same, in: [{arrived: one}], after: [B, M], join: {first: 2}, again: {to: H, when: "result < 5"}}
  E: {service: same, from: J}
"""
CHAINED = """\
tasks:
  S: {service: same, in: [0], to: [H]}
  H: {service: more, in: [{arrived: one}], join: any, split: some, to: {B: "true", C: "result % 2 == 0"}}
  B: {service: same, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}]}
  I: {service: same, in: [{arrived: one}], after: [B, C], join: {first: 1}, split: some,
    to: {P: "true", Q: "result % 2 == 1"}}
  P: {service: same, in: [{arrived: one}]}
  Q: {service: same, in: [{arrived: one}]}
  J: {service: same, in: [{arrived: one}], after: [P, Q], join: {first: 1}, again: {to: H, when: "result < 5"}}
  E: {service: same, from: J}
"""
RACE = """\
tasks:
  S: {service: same, in: [0]}
  T: {service: same, in: [1]}
  H: {service: same, in: [{arrived: one}], after: [S, T], join: any, split: one, to: {B: "result == 0", D: null}}
  B: {service: same, in: [{arrived: one}]}
  D: {service: same, in: [{arrived: one}]}
  J: {service: same, in: [{arrived: one}], after: [B, D], join: {first: 1}}
"""
BACK = """\
tasks:
  S: {service: same, in: [0], to: [B, C]}
  B: {service: same, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}]}
  J: {service: more, in: [{arrived: one}], after: [B, C], join: {first: 1}}
  K: {service: same, from: J, again: {to: J, when: "result < 4"}}
  E: {service: same, from: K}
"""

UNNUMBERED = """\
tasks:
  S: {service: same, in: [0], to: [H]}
  H: {service: more, in: [{arrived: one}], join: any, split: HOW, to: WAYS}
  B: {service: same, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}], BRANCH}
  J: {service: same, in: [{arrived: one}], after: [B, LAST], join: JOIN, again: {to: H, when: "result < 2"}}
  E: {service: same, from: J}
"""
OWN_LOOP = 'join: any, again: {to: C, when: "result < 0"}'
OUT = 'split: one, to: {J: "result > 99", X: null}}\n  X: {service: same, in: [{arrived: one}]'
APART = 'P: "result == 1", Q: null'
SKIPPED = """\
tasks:
  S: {service: same, in: [0], to: [G]}
  G: {service: more, in: [{arrived: one}], join: any, split: one, to: {H: "result % 2 == 0", K: null}}
  H: {service: same, in: [{arrived: one}], to: [B, C]}
  B: {service: same, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}], join: any, again: {to: C, when: "result < 0"}}
  J: {service: same, in: [{arrived: one}], after: [B, C], join: {first: 1}}
  K: {service: same, in: [{arrived: one}], after: [G, J], join: any, again: {to: G, when: "result < 5"}}
  E: {service: same, from: K}
"""


def _loop(how: str, ways: str, first: str) -> str:
    return LOOP.replace("HOW", how).replace("WAYS", ways).replace("FIRST", first)


LOOPS = {
    "some, first": (_loop("some", SOME, "{first: 1}"), 4),
    "some, first two": (_loop("some", TWO, "{first: 2}"), 4),
    "one, first": (_loop("one", ONE, "{first: 1}"), 4),
    "a branch that leads elsewhere too": (OPEN, 4),
    "a choice further up": (FURTHER, 3),
}


@pytest.mark.parametrize("text, rounds", LOOPS.values(), ids=LOOPS)
def test_loop_with_a_join_by_the_first_ends_in_every_order(tmp_path: Path, text: str, rounds: int) -> None:
    """A branch that is not chosen in a round counts as answered, so the loop goes on until its condition fails."""
    file = controlled.put(tmp_path, text)
    claims = ("E once", "C never", f"J runs {rounds}", "ends done")
    result = solvent("explore", file, *(word for claim in claims for word in ("--holds", claim)))
    assert (result.code, result.err) == (0, "")
    report = solvent("run", file, "--format", "json").json
    assert (report["states"]["E"], report["calls"].get("C", 0)) == ("done", 0)


LATER = {
    "chosen once": LATE.replace("WHEN", "result == 2"),
    "chosen in two rounds": LATE.replace("WHEN", "result == 2 or result == 3"),
    "chosen in every other round": LATE.replace("WHEN", "result % 2 == 0"),
    "a longer branch": LONGER,
    "a choice that ends within its branch": MERGED,
    "a join behind another": CHAINED,
}


@pytest.mark.parametrize("text", LATER.values(), ids=LATER)
def test_late_token_belongs_to_the_round_it_was_sent_in(tmp_path: Path, text: str) -> None:
    """A branch that is still at work when the next round begins starts none, whatever it is told meanwhile."""
    result = solvent("explore", controlled.put(tmp_path, text), "--holds", "J runs 5", "--holds", "ends done")
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("text", [THREADS, RACE], ids=["the same choice", "different choices"])
def test_threads_start_a_join_by_the_first_once_each(tmp_path: Path, text: str) -> None:
    """Rounds need no loop: two threads that choose one branch of two start the join twice."""
    result = solvent("explore", controlled.put(tmp_path, text), "--holds", "J twice", "--holds", "ends done")
    assert (result.code, result.err) == (0, "")


CHOOSING = """\
  K: {service: same, in: [{arrived: one}], split: one, to: {C: "result > 99", D: null}}
  C: {service: same, in: [{arrived: one}]}
  D: {service: same, in: [{arrived: one}]}
  M: {service: same, in: [{arrived: one}], after: [C, D], join: any}
"""
BESIDE_A_BRANCH = f"""\
tasks:
  S: {{service: same, in: [0], to: [A, B]}}
  A: {{service: same, in: [{{arrived: one}}], threads: 2, to: [K]}}
{CHOOSING}
  T: {{service: same, in: [{{arrived: one}}], after: [M], join: {{threads: 2}}}}
  B: {{service: same, in: [{{arrived: one}}]}}
  J: {{service: same, in: [{{arrived: one}}], after: [T, B], join: JOIN}}
"""
EACH_A_ROUND = f"""\
tasks:
  S: {{service: same, in: [0], threads: 2, to: [K, B]}}
{CHOOSING}
  B: {{service: same, in: [{{arrived: one}}]}}
  J: {{service: same, in: [{{arrived: one}}], after: [M, B], join: {{first: 2}}}}
"""
BEFORE_THE_HEAD = f"""\
tasks:
  S: {{service: same, in: [0], threads: 3, to: [K]}}
{CHOOSING}
  T: {{service: same, in: [{{arrived: one}}], after: [M], join: {{threads: 3}}}}
  A: {{service: same, in: [{{arrived: one}}], after: [T]}}
  B: {{service: same, in: [{{arrived: one}}], after: [T]}}
  J: {{service: same, in: [{{arrived: one}}], after: [A, B], join: {{first: 1}}}}
"""
IN_A_LOOP = """\
tasks:
  S: {service: same, in: [0], to: [H]}
  H: {service: more, in: [{arrived: one}], join: any, to: [P, K]}
  P: {service: same, in: [{arrived: one}], to: [K, J]}
  K: {service: same, in: [{arrived: one}], join: any, split: one, to: {C: "result > 99", D: null}}
  C: {service: same, in: [{arrived: one}]}
  D: {service: same, in: [{arrived: one}]}
  M: {service: same, in: [{arrived: one}], after: [C, D], join: any}
  T: {service: same, in: [{arrived: one}], after: [M], join: {threads: 2}}
  J: {service: same, in: [{arrived: one}], after: [T], join: {first: 2, cancel: true},
    again: {to: H, when: "result < 2"}}
"""
ALL_TOLD = """\
tasks:
  S: {service: same, in: [0], threads: 2, to: [K, B]}
  K: {service: same, in: [{arrived: one}], split: one, to: {C: "result > 99", F: null}}
  C: {service: same, in: [{arrived: one}], to: [E, G]}
  E: {service: same, in: [{arrived: one}]}
  G: {service: same, in: [{arrived: one}]}
  D: {service: same, in: [{arrived: one}], after: [E, G]}
  F: {service: same, in: [{arrived: one}]}
  B: {service: same, in: [{arrived: one}]}
  J: {service: same, in: [{arrived: one}], after: [B, D, F], join: {first: 2}}
"""
CHOICES = {
    "in a branch": (BESIDE_A_BRANCH.replace("JOIN", "{first: 2}"), 1),
    "in a branch, the rest cancelled": (BESIDE_A_BRANCH.replace("JOIN", "{first: 2, cancel: true}"), 1),
    "each starts a round": (EACH_A_ROUND, 2),
    "before all branches": (BEFORE_THE_HEAD, 1),
    "merged in a loop": (IN_A_LOOP, 2),
    "one of two branches": (ALL_TOLD, 2),
}


@pytest.mark.parametrize("text, rounds", CHOICES.values(), ids=CHOICES)
def test_threads_that_choose_before_a_join_by_the_first_all_arrive(tmp_path: Path, text: str, rounds: int) -> None:
    """What two threads do not choose is not taken for a branch that nothing will come of."""
    result = solvent("explore", controlled.put(tmp_path, text), "--holds", f"J runs {rounds}", "--holds", "ends done")
    assert (result.code, result.err) == (0, "")


def test_round_with_too_few_arrivals_is_stuck(tmp_path: Path) -> None:
    """Where fewer branches are chosen than the join waits for, the workflow does not end as if it were done."""
    file = controlled.put(tmp_path, _loop("some", SOME, "{first: 2}"))
    result = solvent("explore", file)
    assert "ends    1 stuck\n" in result.out
    assert result.out.endswith("ends stuck, `J` waits for 1 more; only `B` has arrived\n")
    run = solvent("run", file)
    assert (run.code, "`J` waits for 1 more; only `B` has arrived" in run.err) == (1, True)


def test_way_back_to_a_join_by_the_first_is_refused(tmp_path: Path) -> None:
    """What comes back would count as the rest of the first round, and the loop would end at once."""
    result = solvent("check", controlled.put(tmp_path, BACK))
    assert result.code == 2
    message = "`J` joins by `first`, which ignores what comes back from `K` as the rest of a round"
    assert f"error[W137]: {message}\n" in result.err + result.out


def _unnumbered(how: str, ways: str, branch: str, join: str = "{first: 1}", last: str = "C") -> str:
    text = UNNUMBERED.replace("HOW", how).replace("WAYS", ways).replace("BRANCH", branch)
    return text.replace("JOIN", join).replace("LAST", last)


SOME_TIMES = '{B: "true", C: "result > 99"}'
WITHIN = f"{OWN_LOOP}, split: one, to: {{{APART}}}}}" + "".join(
    f"\n  {name}: {{service: same, in: [{{arrived: one}}]{more}" + "}" * (name != "M")
    for name, more in (("P", ""), ("Q", ""), ("M", ", after: [P, Q], join: any"))
)
BRANCHES = {
    "a branch with a loop, not chosen": (_unnumbered("some", SOME_TIMES, OWN_LOOP), True),
    "a branch that leads out of the loop": (_unnumbered("all", "[B, C]", OUT), True),
    "the same, and the rest is cancelled": (_unnumbered("all", "[B, C]", OUT, "{first: 1, cancel: true}"), True),
    "a branch with a loop, always chosen": (_unnumbered("all", "[B, C]", OWN_LOOP), False),
    "a condition that always holds": (_unnumbered("some", '{B: "true", C: "true"}', OWN_LOOP), False),
    "a choice that ends within its branch": (_unnumbered("all", "[B, C]", WITHIN, last="M"), False),
    "a branch with a loop, the rest cancelled": (
        _unnumbered("some", SOME_TIMES, OWN_LOOP, "{first: 1, cancel: true}"),
        False,
    ),
    "all that are active": (_unnumbered("some", SOME_TIMES, OWN_LOOP, "active"), False),
    "one branch at a time, which leads out": (_unnumbered("one", '{B: "result < 2", C: null}', OUT), False),
    "a round that is left out as a whole": (SKIPPED, False),
    "one branch or, where its condition fails, the other": (
        _unnumbered("some", '{B: "result < 2", C: null}', OUT),
        False,
    ),
}


@pytest.mark.parametrize("text, is_stuck", BRANCHES.values(), ids=BRANCHES)
def test_check_warns_of_rounds_that_wait_for_ever(tmp_path: Path, text: str, *, is_stuck: bool) -> None:
    """W188 is for the joins whose rounds have no numbers, and only where `explore` finds an order that is stuck."""
    file = controlled.put(tmp_path, text)
    result = solvent("check", file)
    warning = "warning[W188]: `J` joins by `first` in a loop, and `C` may pass it nothing in a round: "
    assert (result.code, warning in result.out, "warning" in result.out) == (0, is_stuck, is_stuck)
    assert (" stuck\n" in solvent("explore", file).out) == is_stuck


MIXED = """\
tasks:
  S: {service: same, in: [0], to: [B, C]}
  B: {service: more, in: [{arrived: one}], join: any}
  C: {service: more, in: [{arrived: one}], join: any}
  J: {service: same, in: [{arrived: one}], after: [B, C], join: JOIN, WAYS}
  E: {service: same, in: [{arrived: one}], after: [J]}
"""
BESIDE = """\
tasks:
  S: {service: same, in: [0]}
  O: {service: same, in: [{arrived: one}], after: [S], join: any}
  H: {service: more, in: [{arrived: one}], after: [O], join: any}
  J: {service: same, in: [{arrived: one}], after: [SOURCES], join: JOIN}
  K: {service: same, in: [{arrived: one}], after: [LAST], again: {to: H, when: "result < 4"}}
  E: {service: same, from: K, again: {to: O, when: "result < 0"}}
  F: {service: same, from: E}
"""
AGAIN = 'again: {to: B, when: "result < 4"}'
SAME_TIME = 'split: some, to: {B: "result < 4", C: "result < 4", E: null}'
NOT_SAME_TIME = 'split: some, to: {B: "result < 4", C: "result < 3", E: null}'


def _mixed(join: str, ways: str) -> str:
    return MIXED.replace("JOIN", join).replace("WAYS", ways)


def _beside(join: str, sources: str = "H, O", last: str = "J") -> str:
    return BESIDE.replace("JOIN", join).replace("SOURCES", sources).replace("LAST", last)


OUTSIDE = "`J` waits for `C` in every round of the loop of `B`, but `C` is outside that loop and passes to it only once"
OUTER = OUTSIDE.replace("`C`", "`O`").replace("`B`", "`H`")
MISSED = "`J` joins by `first` in a loop, and `B` may pass it nothing in a round"
LED_OUT = "`J` joins by `active` in a loop, and `C` may pass it nothing in a round: then it waits for it for ever"
WAITING = {
    "first, one branch outside": (_mixed("{first: 1}", AGAIN), OUTSIDE),
    "all, one branch outside": (_mixed("all", AGAIN), OUTSIDE),
    "first two, the rest cancelled, one outside": (_mixed("{first: 2, cancel: true}", AGAIN), OUTSIDE),
    "first, the rest cancelled, one outside": (_mixed("{first: 1, cancel: true}", AGAIN), ""),
    "active, one branch outside": (_mixed("active", AGAIN), ""),
    "first two, back to both": (_mixed("{first: 2}", SAME_TIME), ""),
    "first two, back to some": (_mixed("{first: 2}", NOT_SAME_TIME), MISSED),
    "active, back to both": (_mixed("active", SAME_TIME), ""),
    "active, back to some": (_mixed("active", NOT_SAME_TIME), MISSED.replace("first", "active")),
    "all, a source in the outer loop only": (_beside("all"), OUTER),
    "all, beside the loop": (_beside("all", sources="H, S", last="H"), OUTER.replace("`O`", "`S`")),
    "first, beside the loop": (_beside("first", sources="H, S", last="H"), OUTER.replace("`O`", "`S`")),
    "active, beside the loop": (_beside("active", sources="H, S", last="H"), OUTER.replace("`O`", "`S`")),
    "all, behind the loop": (_beside("all", sources="K, O", last="H"), ""),
    "active, a branch that leads out of the loop": (_unnumbered("all", "[B, C]", OUT, "active"), LED_OUT),
    "active, one branch at a time, which leads out": (
        _unnumbered("one", '{B: "result < 2", C: null}', OUT, "active"),
        "",
    ),
}


@pytest.mark.parametrize("text, message", WAITING.values(), ids=WAITING)
def test_check_warns_of_joins_that_lack_a_source(tmp_path: Path, text: str, message: str) -> None:
    """W188 is for all joins in loops and behind them, and only where `explore` finds an order that is stuck."""
    file = controlled.put(tmp_path, text)
    result = solvent("check", file)
    assert (result.code, f"warning[W188]: {message}" in result.out) == (0, bool(message)), result.out
    assert (" stuck\n" in solvent("explore", file).out) == bool(message)


BACK_LOOP = """\
tasks:
  Cut: {service: one}
  Send: {service: SERVICE, in: [TAKES], after: [Cut], join: any, again: {to: Send, when: "result < 5"}}
  Resend: {service: more, in: [OTHER]}
  End: {service: same, from: Send}
alternatives:
  - {name: other, exits: {Send: Resend}}
"""
CHOICE = """\
tasks:
  Cut: {service: one}
  Send: {service: more, in: [TAKES], after: [Cut], join: any}
  Ask: {service: same, from: Send, split: one, to: {Send: "result < 5", End: null}}
  End: {service: same, in: [{arrived: one}]}
"""
ARRIVED, FROM = "{arrived: one}", "{from: Cut}"
HINT = "take what arrives, `{arrived: one}`: the first time it is the result of `Cut`"


def _back(service: str, takes: str, other: str) -> str:
    return BACK_LOOP.replace("SERVICE", service).replace("TAKES", takes).replace("OTHER", other)


REFUSED = {
    "a stand-in": (
        _back("broken", ARRIVED, FROM),
        "`Resend`, which replaces `Send`, takes the result of `Cut`, and `Send` comes back without it",
    ),
    "an item": (
        _back("broken", ARRIVED, "{from: Cut, item: 1}"),
        "`Resend`, which replaces `Send`, takes the result of `Cut`, and `Send` comes back without it",
    ),
    "the task itself": (
        _back("more", FROM, ARRIVED),
        "`Send` takes the result of `Cut`, and `Send` comes back without it",
    ),
    "a choice": (
        CHOICE.replace("TAKES", FROM),
        "`Send` takes the result of `Cut`, and `Ask` comes back without it",
    ),
}


@pytest.mark.parametrize("text, message", REFUSED.values(), ids=REFUSED)
def test_result_that_does_not_come_back_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """From the second round on the argument would be None, so neither `check` nor `run` takes it."""
    file = controlled.put(tmp_path, text)
    for word in ("check", "run"):
        result = solvent(word, file)
        assert (result.code, result.out) == (2, "")
        assert f"error[W137]: {message}\n" in result.err
        assert HINT in result.err


@pytest.mark.parametrize(
    "text",
    [
        _back("broken", ARRIVED, ARRIVED),
        _back("more", ARRIVED, ARRIVED),
        CHOICE.replace("TAKES", ARRIVED),
    ],
)
def test_what_arrives_is_taken_in_every_round(tmp_path: Path, text: str) -> None:
    """With `arrived` each round takes what the one before it gave."""
    file = controlled.put(tmp_path, text)
    assert solvent("check", file).code == 0
    result = solvent("run", file)
    assert (result.code, result.out) == (0, "End: 5\n")


PYTHON = """\
from solvent import attempt, repeat, service, workflow

@service
def cut(number: int) -> int:
    return number

@service
def send(number: int) -> int:
    return number + 1

@workflow
def flow(number: int = 1) -> int:
    first = cut(number)
    middle = cut.named("middle")(first)
    sent = attempt(send(middle), otherwise=send.named("resend")(first))
    repeat(sent, back_to=sent, when="result < 5")
    return cut.named("end")(sent)
"""


UNKNOWN = """\
tasks:
  S: {service: one}
  H: {service: one, after: [S], join: any, again: {to: H, when: "result < 4"}}
  X: {service: one, after: [H, S], during: [Nobody, H]}
"""


def test_errors_come_before_warnings(tmp_path: Path) -> None:
    """Where a workflow names what is not there, nothing is said about what its loops may wait for."""
    result = solvent("check", controlled.put(tmp_path, UNKNOWN))
    assert (result.code, "error[W121]" in result.err, "warning" in result.out + result.err) == (2, True, False)


FIRST_OF = """\
from solvent import first_of, repeat, service, workflow

@service
def more(number: int) -> int:
    return number + 1

@workflow
def flow(number: int = 1) -> int:
    start = more(number)
    b, c = more.named("b")(start), more.named("c")(start)
    pick = more.named("pick")(first_of(b, c))
    repeat(pick, back_to=b, when="result < 20")
    return more.named("end")(pick)
"""


def test_python_user_is_told_which_step_is_outside_the_loop(tmp_path: Path) -> None:
    """The branch that the loop does not go back to answers once, so the third round waits for it."""
    file = tmp_path / "flow.py"
    file.write_text(FIRST_OF)
    result = solvent("check", file)
    message = "`pick` waits for `c` in every round of the loop of `b`, but `c` is outside that loop"
    hint = "hint: go back to a step before `c`, or take its result before the loop and hand it round\n"
    assert (f"warning[W188]: {message}" in result.out, hint in result.out) == (True, True), result.out
    assert solvent("explore", file).out.endswith("ends stuck, `pick` has a token of `b` that it cannot use\n")


def test_hint_fits_the_language_of_the_file(tmp_path: Path) -> None:
    """A Python user is told what to write in Python."""
    file = tmp_path / "flow.py"
    file.write_text(PYTHON)
    result = solvent("check", file)
    hint = "call it with the step that `send` is called with: from the second round on it gets the result of `send`"
    assert (result.code, "error[W137]" in result.err, hint in result.err) == (2, True, True), result.err
    assert "arrived" not in result.err
