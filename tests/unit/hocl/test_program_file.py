"""Solutions as programs: what is saved is read back equal, and goes on alike."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, note

import solvent
from solvent.hocl import program_file
from tests.property.amounts import examples
from tests.property.strategies import programs

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "hocl"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir() and folder.name != "self-healing")
REACTIONS = (1, 20)


def solution(text: str, max_reactions: int | None = None) -> solvent.hocl.Solution:
    """Give the solution of a program after some reactions, or when it is inert."""
    found = solvent.hocl.parse(text).solution()
    with suppress(solvent.LimitReached, solvent.ReactionFailed):
        solvent.hocl.react(found, max_reactions=max_reactions)
    return found


def again(saved: solvent.hocl.Solution) -> solvent.hocl.Solution:
    """Save and load."""
    return solvent.hocl.parse(solvent.hocl.program_text(saved)).solution()


@pytest.mark.parametrize("reactions", REACTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_examples_can_be_saved_on_the_way(name: str, reactions: int) -> None:
    """An example stopped after some reactions reads back equal."""
    stopped = solution((EXAMPLES / name / f"{name}.hocl").read_text(encoding="utf-8"), reactions)
    back = again(stopped)
    assert back == stopped
    assert solvent.hocl.show(back) == solvent.hocl.show(stopped)


@examples(70)
@given(programs())
def test_any_solution_can_be_saved(text: str) -> None:
    """A random program after some reactions reads back equal, and then its text is stable."""
    stopped = solution(text, 5)
    saved = solvent.hocl.program_text(stopped)
    note(saved)
    back = solvent.hocl.parse(saved).solution()
    assert back == stopped
    # A rule that had captured something stands among the molecules; read again it has a name of its own.
    again = solvent.hocl.program_text(back)
    read = solvent.hocl.parse(again).solution()
    assert read == stopped
    assert solvent.hocl.program_text(read) == again


def test_rules_of_one_name_both_survive() -> None:
    """Of two different rules of a name one has the let, the other is written in place."""
    text = "<1, (r = replace-one x::int by A), (r = replace-one x::int by B)>"
    saved = solvent.hocl.program_text(solvent.hocl.parse(text).solution())
    assert saved == "let r = replace-one x::int by A in\n<1, r, (r = replace-one x::int by B)>\n"
    assert again(solution(text, 0)) == solution(text, 0)


def test_rules_that_a_rule_names_come_first() -> None:
    """A let stands after the lets of the rules it names."""
    text = "let b = replace B by C in let a = replace-one A by b in <a>"
    assert solvent.hocl.program_text(solution(text)).splitlines() == [
        "let b = replace B by C in",
        "let a = replace-one A by b in",
        "<a>",
    ]


def test_recursive_rule_survives() -> None:
    """A rule that puts itself back is saved by `let rec`."""
    text = "let rec tick = replace-one N : n by N : n - 1, tick if n > 0 in <N : 3, tick>"
    stopped = solution(text, 1)
    assert "let rec tick" in solvent.hocl.program_text(stopped)
    back = again(stopped)
    solvent.hocl.react(back)
    assert solvent.hocl.show(back) == "<N:0, tick>"


def test_captured_values_are_written() -> None:
    """A rule that captured values is saved with the values."""
    stopped = solution("<A : 3 : <1, 2>, replace-one A : n : s by (add = replace B : x by x + n, s)>")
    assert "(add = replace B : x by x + 3, <1, 2>)" in solvent.hocl.program_text(stopped)
    assert again(stopped) == stopped


def test_captured_rule_is_not_hidden() -> None:
    """A captured rule keeps its meaning where a pattern binds its name."""
    text = """
    let r = replace-one X by Y in
    <r, A, replace-one r = m, A by m, (q = replace-one Q : r by m, r)>
    """
    stopped = solution(text)
    back = again(stopped)
    assert back == stopped
    for one in (stopped, back):
        one.extend(solvent.hocl.molecules("Q : 7"))
        solvent.hocl.react(one)
    assert solvent.hocl.show(back) == solvent.hocl.show(stopped) == "<7, r, r>"


def test_pattern_hides_a_let() -> None:
    """A variable of the name of a let stays a variable."""
    text = """
    let r = replace-one X by Y in
    let s = replace-one P : r by r, (t = replace-one Q by r) in
    <r, s, P : 5>
    """
    stopped = solution(text)
    assert again(stopped) == stopped


def test_opaque_value_is_named() -> None:
    """What HOCL has no form for cannot be saved, and the error names it."""
    with pytest.raises(solvent.Misuse, match="cannot be saved"):
        solvent.hocl.program_text(solvent.hocl.Solution([1, ("A", solvent.hocl.Opaque({1}))]))


def test_large_solution_has_a_line_for_each_molecule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large solution is written without laying it out, and reads back equal."""
    monkeypatch.setattr(program_file, "_MAX_FORMATTED", 1_000)
    large = solvent.hocl.Solution(range(1_000))
    saved = solvent.hocl.program_text(large)
    assert saved.startswith("<\n  0,\n  1,\n")
    assert solvent.hocl.parse(saved).solution() == large


def test_save_and_load(tmp_path: Path) -> None:
    """A solution goes through a file."""
    file = tmp_path / "saved.hocl"
    one = solution("let max = replace x, y by x if x >= y in <1, 2, <3, max>, 2.5, true, A : (), max^inf>", 0)
    solvent.hocl.save(one, file)
    assert solvent.hocl.load_solution(file) == one
    assert [path.name for path in tmp_path.iterdir()] == ["saved.hocl"]


@pytest.mark.parametrize("rest", ["", "<w>"])
def test_what_a_rest_takes_is_recorded(rest: str) -> None:
    """A reaction whose rest takes all other molecules is recorded with them, and leaves nothing behind."""
    text = f"let idle = replace NEVER by in <1, 2, idle, (take = replace-one x::int, ?w by {rest})>"
    solution = solvent.hocl.parse(text).solution()
    recorder = solvent.hocl.record(solution)
    (record,) = recorder.records
    assert sorted(record.before) == ["1", "2", "idle"]
    assert [made.text for made in recorder.held(solution)] == [solvent.hocl.show(one) for one in solution]
