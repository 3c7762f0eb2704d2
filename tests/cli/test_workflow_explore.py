"""`solvent explore` with workflows: how they can end, how often tasks and stand-ins run, and what does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli import controlled
from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path


def test_orders_of_a_loop(tmp_path: Path) -> None:
    """A loop without races has one way to end, and says how often each task runs."""
    result = solvent("explore", controlled.put(tmp_path, controlled.LOOP))
    assert (result.code, result.err) == (0, "")
    states, ends, runs = result.out.splitlines()
    assert int(states.split()[1]) > 1
    assert (ends, runs) == ("ends    1 done", "runs    A 1, H 5, C 5, D 1")


def test_statement_that_does_not_hold(tmp_path: Path) -> None:
    """A statement that an order violates is shown with that order, and gives exit code 1."""
    file = controlled.put(tmp_path, controlled.FIRST)
    result = solvent("explore", file, "--holds", "D once", "--holds", "B before D")
    assert result.code == 1
    assert "holds   D once\n" in result.out
    assert "wrong   B before D\n  A starts, A done, " in result.out
    assert result.out.endswith("C done, D starts\n")
    assert "1 statement of 2 does not hold\n" in result.err


def test_orders_as_json(tmp_path: Path) -> None:
    """The JSON has states, ends, the run counts and the violations."""
    file = controlled.put(tmp_path, controlled.CHOICE)
    result = solvent("explore", file, "--input", "n=1", "--holds", "B once", "--format", "json")
    found = result.json
    assert (result.code, set(found)) == (1, {"states", "complete", "ends", "runs", "violations"})
    assert (found["complete"], found["ends"]) == (True, {"done": 1})
    assert found["runs"] == [{"A": 1, "B": 0, "C": 1, "D": 1}]
    (violation,) = found["violations"]
    assert violation.startswith("B once: A starts, ")


def test_order_that_gets_stuck_is_shown(tmp_path: Path) -> None:
    """An order that ends stuck is shown also where nobody asked for it."""
    result = solvent("explore", controlled.put(tmp_path, controlled.STUCK))
    assert (result.code, "ends    1 stuck\n" in result.out) == (0, True)
    assert "an order that ends stuck\n" in result.out
    assert result.out.endswith("ends stuck, `D` waits for `C`; `B` has arrived\n")


def test_signals_come_at_any_moment(tmp_path: Path) -> None:
    """With its signal a workflow ends in every order, whenever it comes."""
    file = controlled.put(tmp_path, controlled.SIGNAL)
    assert solvent("explore", file, "--format", "json").json["ends"] == {"stuck": 1}
    found = solvent("explore", file, "--signal", "go=3", "--format", "json").json
    assert found["ends"] == {"done": 1}


@pytest.mark.parametrize(
    "words,said",
    [
        (("--signal", "gone"), "error[H316]"),
        (("--holds", "A foo B"), "error[W143]"),
        (("--holds", "A before Z"), "names `Z`, which is not a task"),
        (("--functions", "x.py"), "error[H313]"),
        (("--input", "n=3"), "error[W131]"),
    ],
)
def test_wrong_options(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """Signals, statements and inputs that make no sense are refused before anything is explored."""
    result = solvent("explore", controlled.put(tmp_path, controlled.SIGNAL), *words)
    assert (result.code, result.out, said in result.err) == (2, "", True)


def test_service_that_is_no_function(tmp_path: Path) -> None:
    """What a command answers cannot be explored, and it is not called."""
    file = tmp_path / "flow.yaml"
    file.write_text("services: {s: {shell: touch called}}\ntasks: {A: {service: s}}\n")
    result = solvent("explore", file)
    assert (
        result.code,
        "the service `s` is not a Python function" in result.err,
    ) == (2, True)
    assert not (tmp_path / "called").exists()


def test_service_that_is_missing(tmp_path: Path) -> None:
    """A function that is not there is a clear error."""
    file = controlled.put(tmp_path, "  gone: {python: 'steps:gone'}\ntasks: {A: {service: gone}}\n")
    file.write_text(file.read_text().replace("}\n  gone", ", gone").replace("gone'}\n", "gone'}}\n"))
    result = solvent("explore", file)
    assert (result.code, "error[W172]" in result.err) == (2, True)


def test_services_may_print_and_wait(tmp_path: Path) -> None:
    """What services print goes to standard error, and asynchronous ones are awaited."""
    text = "tasks:\n  A: {service: loud}\n  B: {service: later, from: A}\n"
    result = solvent("explore", controlled.put(tmp_path, text), "--format", "json")
    assert (result.code, result.err, result.json["ends"]) == (0, "what a service prints\n", {"done": 1})


@pytest.mark.parametrize("limit", [("--max-states", "20"), ("--max-seconds", "0.5")])
def test_limits(tmp_path: Path, limit: tuple[str, str]) -> None:
    """A workflow that goes round for ever is explored as far as the limit allows."""
    result = solvent("explore", controlled.put(tmp_path, controlled.ENDLESS.replace("turn", "more")), *limit)
    assert (result.code, " so far\n" in result.out) == (3, True)
    assert f"hint: raise {limit[0]}" in result.err


SPINNING = "replace GATE : tj : <VOTES : k::int, ?w> by GATE : tj : <VOTES : k + 1, w>"


@pytest.mark.parametrize("words", [("explore",), ("show", "--states")], ids=" ".join)
def test_limit_before_the_first_state(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A pattern of one's own may react without end before anything else can happen."""
    file = controlled.put(tmp_path, controlled.PATTERN)
    (tmp_path / "two.hocl").write_text(f"let two_spin = {SPINNING} in <two_spin, JOIN : <VOTES : 0>>\n")
    result = solvent(*words, file, "--max-seconds", "0.3")
    assert (result.code, "hint: raise --max-seconds" in result.err) == (3, True)


def test_programs_refuse_what_is_for_workflows() -> None:
    """A program has no signals and no statements."""
    result = solvent("explore", "-", "--holds", "A once", typed="<1>")
    assert (result.code, "error[H313]" in result.err) == (2, True)


PAGES = """\
from solvent import attempt, service, workflow

@service
def fetch(name: str) -> str:
    raise ConnectionError(f"{name} does not answer")

@service
def fetch_copy(name: str) -> str:
    return f"the old copy of {name}"

@service
def count_words(text: str) -> int:
    return len(text.split())

@workflow
def pages(name: str = "news") -> int:
    return count_words(attempt(fetch(name), otherwise=fetch_copy(name)))
"""
CHAIN = """\
tasks:
  A: {service: broken}
  B: {service: broken}
  C: {service: one}
  D: {service: same, from: A}
alternatives: [{name: second, exits: {A: B}}, {name: third, exits: {B: C}}]
"""
ALL_BROKEN = CHAIN.replace("C: {service: one}", "C: {service: broken}")
CHOICE = """\
tasks:
  A: {service: broken, split: one, to: {B: "result == 1", C: null}}
  S: {service: one}
  B: {service: same, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}]}
alternatives: [{name: spare, exits: {A: S}}]
"""
ENDING = """\
tasks:
  A: {service: broken}
  S: {service: one, ends: true}
  B: {service: same, from: A}
alternatives: [{name: spare, exits: {A: S}}]
"""
REJECTED = """\
tasks:
  A: {service: one}
  S: {service: same, in: [3]}
  B: {service: same, from: A}
alternatives: [{name: spare, exits: {A: S}, on: condition, when: "result < 2"}]
"""
CANCELLED = """\
tasks:
  A: {service: broken}
  S: {service: one}
  B: {service: same, from: A}
  C: {service: one, cancels: [A, B]}
alternatives: [{name: spare, exits: {A: S}}]
"""
PARALLEL = """\
tasks:
  A: {service: broken}
  S: {service: one}
  B: {service: one}
alternatives: [{name: spare, exits: {A: S}}]
"""
LONG = """\
tasks:
  A: {service: broken}
  R: {service: one}
  S: {service: same, from: R}
  B: {service: same, from: A}
alternatives: [{name: spare, exits: {A: S}}]
"""
PAIR = """\
tasks:
  A: {service: broken}
  B: {service: one}
  S: {service: one}
  T: {service: one}
  D: {service: same, in: [{from: A}, {from: B}]}
alternatives: [{name: spare, exits: {A: S, B: T}}]
"""


def test_stand_in_of_a_step_that_fails_is_counted(tmp_path: Path) -> None:
    """The stand-in runs once and is done; the step it replaces has started and is never done."""
    file = tmp_path / "pages.py"
    file.write_text(PAGES)
    words = [
        word for one in ("fetch_copy once", "fetch_copy before count_words", "ends done") for word in ("--holds", one)
    ]
    result = solvent("explore", file, *words)
    assert (result.code, result.err) == (0, "")
    assert "runs    fetch 1, fetch_copy 1, count_words 1\n" in result.out
    result = solvent("explore", file, "--holds", "fetch before count_words")
    assert (result.code, result.out.splitlines()[-1]) == (
        1,
        "  fetch starts, fetch replaced, fetch_copy starts, fetch_copy done, count_words starts",
    )


@pytest.mark.parametrize(
    "text,end,runs",
    [
        (CHAIN, "done", {"A": 1, "B": 1, "C": 1, "D": 1}),
        (ALL_BROKEN, "failed", {"A": 1, "B": 1, "C": 1, "D": 0}),
        (CHOICE, "done", {"A": 1, "S": 1, "B": 1, "C": 0}),
        (ENDING, "done", {"A": 1, "S": 1, "B": 0}),
        (REJECTED, "done", {"A": 1, "S": 1, "B": 1}),
        (controlled.SPARE, "done", {"A": 1, "H": 3, "B": 3, "S": 3, "C": 3}),
    ],
)
def test_tasks_are_counted_as_in_a_run(tmp_path: Path, text: str, end: str, runs: dict[str, int]) -> None:
    """An exploration counts as many runs of each task as a run of the workflow makes."""
    file = controlled.put(tmp_path, text)
    found = solvent("explore", file, "--format", "json").json
    assert (found["ends"], found["runs"]) == ({end: 1}, [runs])
    calls = solvent("run", file, "--format", "json").json["calls"]
    assert {task: calls.get(task, 0) for task in runs} == runs


def test_stand_in_that_is_cancelled_is_not_done(tmp_path: Path) -> None:
    """Whether the step or its stand-in is withdrawn, neither counts as done."""
    file = controlled.put(tmp_path, CANCELLED)
    found = solvent("explore", file, "--format", "json").json
    assert found["ends"].keys() == {"done"}
    assert {(one["S"], one["B"]) for one in found["runs"]} == {(0, 0), (1, 0), (1, 1)}
    assert solvent("explore", file, "--holds", "S before B", "--holds", "B runs 0..1").code == 0
    # Withdrawn after it had started: done less often than started, and never less than not at all.
    assert solvent("explore", file, "--holds", "A before B").code == 1


def test_step_and_its_stand_in_do_not_run_at_once(tmp_path: Path) -> None:
    """A step runs until it fails, beside what else runs then; its stand-in runs only afterwards."""
    file = controlled.put(tmp_path, PARALLEL)
    assert solvent("explore", file, "--holds", "A, S apart").code == 0
    assert solvent("explore", file, "--holds", "A, B apart").code == 1
    assert solvent("explore", file, "--holds", "S, B apart").code == 1


@pytest.mark.parametrize("text", [LONG, PAIR])
def test_alternative_that_cannot_be_explored_is_refused(tmp_path: Path, text: str) -> None:
    """An alternative of several tasks is not explored, and not counted wrongly."""
    result = solvent("explore", controlled.put(tmp_path, text))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error[W142]: cannot explore this workflow: the alternative `spare` ")
