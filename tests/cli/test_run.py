"""`solvent run`: results, limits, failures, saving."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.command import FOREVER, MAX, solvent, started

if TYPE_CHECKING:
    from pathlib import Path

DIVIDES = "let half = replace A : n by B : 10 / n in\n<A : 0, half>\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a place for a program."""
    return tmp_path / "program.hocl"


def test_run_prints_the_final_solution(file: Path) -> None:
    """The final solution is on standard output, and nothing else anywhere."""
    file.write_text(MAX)
    result = solvent("run", file)
    assert (result.code, result.out, result.err) == (0, "<9, max>\n", "")


def test_run_as_json(file: Path) -> None:
    """JSON has the solution, whether it is inert, the reactions and the seconds, and nothing else."""
    file.write_text(MAX)
    found = solvent("run", file, "--format", "json").json
    assert found.pop("seconds") >= 0
    assert found == {"solution": "<9, max>", "inert": True, "reactions": 4}


def test_seeded_run_is_repeatable(file: Path) -> None:
    """The same seed gives the same run."""
    file.write_text("let pick = replace-one x, y, z by x in <1, 2, 3, 4, 5, 6, pick>")
    one = solvent("run", file, "--seed", "5", "--trace")
    other = solvent("run", file, "--seed", "5", "--trace")
    assert (one.out, one.err) == (other.out, other.err)
    assert one.err.count("->") == 1


def test_run_with_stats_and_trace(file: Path) -> None:
    """Statistics and reactions go to standard error, so that the result stays clean."""
    file.write_text(MAX)
    result = solvent("run", file, "--stats", "--trace")
    assert result.out == "<9, max>\n"
    assert result.err.count("  max: ") == 4
    assert "reactions  4\n" in result.err


@pytest.mark.parametrize("limit", [("--max-reactions", "1000"), ("--max-seconds", "0.3")])
def test_program_that_never_ends_meets_its_limit(file: Path, limit: tuple[str, str]) -> None:
    """A limit ends a run with exit code 3, the solution as it stands, and a message."""
    file.write_text(FOREVER)
    result = solvent("run", file, *limit)
    assert result.code == 3
    assert result.out.startswith("<COUNT:")
    assert "still reacting after" in result.err


def test_stopped_command_calls_what_was_registered_for_its_end(file: Path) -> None:
    """A process ends at once at a limit, without freeing its molecules, but not without that."""
    file.write_text(FOREVER)
    module = file.parent / "own.py"
    module.write_text("import atexit\n\natexit.register(print, 'the end')\n")
    result = started("run", file, "--functions", module, "--max-reactions", "10")
    assert (result.code, result.out) == (3, "<COUNT:10, grow>\nthe end\n")


def test_limit_as_json(file: Path) -> None:
    """At a limit the JSON has the same four fields, with `inert` false."""
    file.write_text(FOREVER)
    result = solvent("run", file, "--max-reactions", "10", "--format", "json")
    assert result.code == 3
    assert set(result.json) == {"solution", "inert", "reactions", "seconds"}
    assert (result.json["inert"], result.json["reactions"]) == (False, 10)


def test_failed_product_keeps_the_solution(file: Path) -> None:
    """A division by zero ends the run with exit code 1; the reactants are back in the solution."""
    file.write_text(DIVIDES)
    result = solvent("run", file)
    assert (result.code, result.out) == (1, "<A:0, half>\n")
    assert "division by zero" in result.err
    assert f"{file}:1:" in result.err


def test_failure_as_json(file: Path) -> None:
    """A failure adds its rule, place and reactants to the JSON."""
    file.write_text(DIVIDES)
    result = solvent("run", file, "--format", "json")
    assert (result.code, result.json["inert"], result.json["solution"]) == (1, False, "<A:0, half>")
    error = result.json["error"]
    assert (error["rule"], error["reactants"], error["line"]) == ("half", ["A:0"], 1)


def test_functions_come_from_python(tmp_path: Path, file: Path) -> None:
    """`--functions` registers the public functions of a file, also asynchronous ones."""
    module = tmp_path / "own.py"
    module.write_text(
        "import asyncio\n\n"
        "def double(x):\n    return _twice(x)\n\n"
        "def _twice(x):\n    return 2 * x\n\n"
        "async def later(x):\n    await asyncio.sleep(0.01)\n    return x + 1\n"
    )
    file.write_text("let d = replace A : x by B : double(x) in let l = replace B : x by C : later(x) in <A : 4, d, l>")
    assert solvent("run", file, "--functions", module).out == "<C:9, d, l>\n"


def test_saved_solution_goes_on(tmp_path: Path, file: Path) -> None:
    """What a limited run saved can be run on to the same end."""
    file.write_text("let sum = replace x, y by x + y in <1, 2, 3, 4, 5, sum>")
    saved = tmp_path / "saved.hocl"
    assert solvent("run", file, "--max-reactions", "2", "--save", saved).code == 3
    assert solvent("run", saved).out == "<15, sum>\n"


def test_failed_run_is_saved(tmp_path: Path, file: Path) -> None:
    """A run that failed is saved too, and leaves nothing else behind."""
    file.write_text(DIVIDES)
    saved = tmp_path / "saved.hocl"
    solvent("run", file, "--save", saved)
    assert saved.read_text() == "let half = replace A : n by B : 10 / n in\n<A : 0, half>\n"
    assert {one.name for one in tmp_path.iterdir()} == {"program.hocl", "saved.hocl"}


def test_saving_where_nothing_can_be_written(file: Path) -> None:
    """A solution that cannot be saved is still printed."""
    file.write_text(MAX)
    result = solvent("run", file, "--save", "/nowhere/at/all.hocl")
    assert (result.code, result.out) == (2, "<9, max>\n")
    assert "cannot write" in result.err


def test_opaque_value_cannot_be_saved(tmp_path: Path, file: Path) -> None:
    """A Python value that HOCL has no form for is named when it cannot be saved."""
    module = tmp_path / "own.py"
    module.write_text("def thing():\n    return {1: 2}\n")
    file.write_text("<1, replace-one x::int by thing()>")
    result = solvent("run", file, "--functions", module, "--save", tmp_path / "saved.hocl")
    assert result.code == 2
    assert "{1: 2}" in result.out
    assert 'opaque("{1: 2}") cannot be saved' in result.err
