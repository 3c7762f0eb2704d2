"""`solvent explore` with workflows: how they can end, how often tasks run, and what does not hold."""

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


def test_statements_that_hold(tmp_path: Path) -> None:
    """Where everything holds the exit code is 0."""
    file = controlled.put(tmp_path, controlled.CHOICE)
    assert solvent("explore", file, "--holds", "A before D", "--holds", "ends done").code == 0


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
        (("--holds", "A before Z"), "names `Z`, which is no task"),
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
    assert (result.code, "error[W142]: the service `s` is no Python function" in result.err) == (2, True)
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


def test_rule_library_is_found(tmp_path: Path) -> None:
    """A pattern of one's own is read from the folder of the workflow."""
    found = solvent("explore", controlled.put(tmp_path, controlled.PATTERN), "--format", "json").json
    assert (found["ends"], found["runs"]) == ({"done": 1}, [{"A": 1, "B": 1, "D": 1}])


@pytest.mark.parametrize("limit", [("--max-states", "20"), ("--max-seconds", "0.5")])
def test_limits(tmp_path: Path, limit: tuple[str, str]) -> None:
    """A workflow that goes round for ever is explored as far as the limit allows."""
    result = solvent("explore", controlled.put(tmp_path, controlled.ENDLESS.replace("turn", "more")), *limit)
    assert (result.code, " so far\n" in result.out) == (3, True)
    assert f"hint: raise {limit[0]}" in result.err


def test_programs_refuse_what_is_for_workflows() -> None:
    """A program has no signals and no statements."""
    result = solvent("explore", "-", "--holds", "A once", typed="<1>")
    assert (result.code, "error[H313]" in result.err) == (2, True)
