"""`solvent explore` with properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import example, solvent

FINE = (
    "let start = replace IDLE, JOB:n by BUSY:n in let end = replace BUSY:n by IDLE, DONE in"
    " <IDLE, JOB:1, JOB:2, start, end>"
)
COARSE = "let work = replace JOB by DONE in <JOB, JOB, work>"
MAPPING = (
    "let waits = replace JOB:n by JOB in let is_under_way = replace BUSY:n by JOB in let forget = replace IDLE by in"
    " <waits, is_under_way, forget>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a program, a coarser one and a mapping."""
    for name, text in (("fine", FINE), ("coarse", COARSE), ("mapping", MAPPING)):
        (tmp_path / f"{name}.hocl").write_text(text, encoding="utf-8")
    return tmp_path


def test_what_never_is_is_said() -> None:
    """A pattern that fits no state holds, and the rest is said as ever."""
    result = solvent("explore", example("philosophers"), "--never", 'EATS : "Ann" : a : b, EATS : "Ben" : c : d')
    assert result.code == 0
    assert result.out.endswith('never       EATS : "Ann" : a : b, EATS : "Ben" : c : d\n')


def test_what_never_should_be_is_shown_by_a_run() -> None:
    """A state that may not be is shown with a shortest run to it, exit code 1."""
    text = "let up = replace N:n by N:(n + 1) if n < 5 in <N:0, up>"
    result = solvent("explore", "-", "--never", "N:n if n > 1", typed=text)
    assert (result.code, result.err) == (1, "a property does not hold\n")
    assert result.out.splitlines() == [
        "states      3 so far",
        "wrong       never N:n if n > 1",
        "  start  <N:0, up>",
        "     1  up: N:0 -> N:1",
        "     2  up: N:1 -> N:2",
        "  state  <N:2, up>",
    ]


def test_what_never_is_may_stand_in_a_file(tmp_path: Path) -> None:
    """A file of rules says several things that may never be, by their names."""
    file = tmp_path / "never.hocl"
    file.write_text(
        "let low = replace N:n by if n < 0 in let high = replace N:n by if n > 0 in <low, high>", encoding="utf-8"
    )
    text = "let up = replace N:n by N:(n + 1) if n < 5 in <N:0, up>"
    found = solvent("explore", "-", "--never", file, "--format", "json", typed=text).json
    assert found["holds"] == {"never low": None, "never high": False}
    assert [one["rule"] for one in found["violation"]["run"]] == ["up"]
    assert found["violation"]["state"] == "<N:1, up>"


def test_refinement_is_told_rule_by_rule(folder: Path) -> None:
    """What each rule is in the coarser program stands below the refinement that holds."""
    result = solvent("explore", "fine", "--refines", "coarse", "--by", "mapping", cwd=folder)
    assert result.code == 0
    assert result.out.endswith("refines     coarse.hocl\n  end    work\n  start  nothing\n")
    found = solvent("explore", "fine", "--refines", "coarse", "--by", "mapping", "--format", "json", cwd=folder).json
    assert found["holds"] == {"refines coarse.hocl": True}
    assert (found["counterparts"], found["violation"]) == ({"end": [["work"]], "start": [[]]}, None)


def test_wrong_refinement_is_shown_by_a_run(folder: Path) -> None:
    """A reaction that is none of the coarser program is the last one of the run that is shown."""
    (folder / "fine.hocl").write_text(FINE.replace("by IDLE, DONE", "by IDLE"), encoding="utf-8")
    result = solvent("explore", "fine", "--refines", "coarse", "--by", "mapping", cwd=folder)
    assert result.code == 1
    assert result.out.splitlines()[3:] == [
        "     1  start: IDLE, JOB:1 -> BUSY:1",
        "     2  end: BUSY:1 -> IDLE",
        "  `end` does what one reaction of coarse.hocl cannot do: from <JOB, JOB> to <JOB>",
    ]


def test_two_reactions_count_as_one_where_that_is_allowed(folder: Path) -> None:
    """`--max-steps 2` lets a reaction be two of the coarser program."""
    (folder / "fine.hocl").write_text(
        "let both = replace JOB:m, JOB:n by DONE, DONE in <JOB:1, JOB:2, both>", encoding="utf-8"
    )
    words = ("explore", "fine", "--refines", "coarse", "--by", "mapping")
    assert solvent(*words, cwd=folder).code == 1
    assert solvent(*words, "--max-steps", "2", cwd=folder).out.endswith("  both  work then work\n")


@pytest.mark.parametrize(
    "words, code, says",
    [
        (("--never", "A : x if x >"), 2, "error[H"),
        (("--never", "A : x if x > y"), 2, "`y` is used but no pattern binds it"),
        (("--never", "gone.hocl"), 2, "error[H304]"),
        (("--never", "coarse.hocl"), 1, "a property does not hold"),
        (("--never", "empty.hocl"), 2, "error[H322]: empty.hocl holds no rule"),
        (("--refines", "gone.hocl"), 2, "error[H304]"),
        (("--by", "mapping.hocl"), 2, "error[H313]"),
        (("--max-steps", "2"), 2, "error[H313]"),
        (("--refines", "coarse", "--by", "endless.hocl"), 3, "the mapping to coarse.hocl does not end"),
    ],
)
def test_properties_that_make_no_sense_are_refused(words: tuple[str, ...], code: int, says: str, folder: Path) -> None:
    """What cannot be read or meant is said, without a traceback."""
    (folder / "empty.hocl").write_text("<1>", encoding="utf-8")
    (folder / "coarse.hocl").write_text("let work = replace JOB:n by DONE in <work>", encoding="utf-8")
    (folder / "endless.hocl").write_text("let again = replace IDLE by IDLE in <again>", encoding="utf-8")
    result = solvent("explore", "fine", *words, cwd=folder)
    assert (result.code, says in result.err) == (code, True), result.err


def test_properties_are_not_for_workflows() -> None:
    """A workflow has statements, not properties."""
    result = solvent("explore", Path("examples/patterns/sequence.yaml").resolve(), "--never", "A")
    assert (result.code, "`--never` is for HOCL programs" in result.err) == (2, True)
