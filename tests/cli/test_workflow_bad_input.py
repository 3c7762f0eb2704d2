"""Workflows that are wrong: every problem with file and line, exit code 2, nothing called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.command import solvent
from tests.cli.workflows import PYTHON, YAML, calls, put

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "services:\n  s: {python: 'own:start'}\ntasks:\n  A: {service: s, in: [1]}\n"
WRONG = {
    "cycle": (HEAD + "  B: {service: s, from: [C]}\n  C: {service: s, from: [B]}\n", "W120", 5),
    "unknown task": (HEAD + "  B: {service: s, from: [Aa]}\n", "W121", 5),
    "unknown service": (HEAD + "  B: {service: z, from: [A]}\n", "W123", 5),
    "unknown input": (HEAD + "  B: {service: s, in: [$x]}\n", "W122", 5),
    "two tasks of one name": (HEAD + "  A: {service: s}\n", "W102", 5),
    "not YAML": ("tasks: {A: [\n", "W101", 1),
    "not a workflow": ("- 1\n- 2\n", "W104", 1),
    "no condition": (HEAD + "  B: {service: s}\nalternatives:\n  - {exits: {A: B}, on: condition}\n", "W127", 7),
}


@pytest.mark.parametrize("command", ["run", "check", "show", "convert"])
@pytest.mark.parametrize("what", WRONG)
def test_wrong_workflow(tmp_path: Path, command: str, what: str) -> None:
    """A wrong workflow is refused before anything is called, with the place."""
    text, code, line = WRONG[what]
    file = put(tmp_path, "flow.yaml", text)
    result = solvent(command, file)
    assert (result.code, result.out) == (2, "")
    assert f"error[{code}]" in result.err
    assert f"{file}:{line}:" in result.err
    assert calls(tmp_path) == []


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """`check` lists every problem, also of services that are not there."""
    text = (
        "services:\n  s: {python: 'own:nothing'}\n  t: {python: 'no_such_module:f'}\n  u: {shell: a, options: {b: 1}}\n"
    )
    text += "tasks:\n  A: {service: x}\n  B: {service: s, from: [Z]}\n"
    file = put(tmp_path, "flow.yaml", text)
    found = solvent("check", file, "--format", "json")
    (report,) = found.json["files"]
    assert (found.code, report["ok"]) == (2, False)
    assert sorted(one["line"] for one in report["errors"]) == [2, 3, 4, 6, 7]


def test_run_tells_of_all_services(tmp_path: Path) -> None:
    """`run` shows every service that cannot be called, each with its line, and calls nothing."""
    text = "services:\n  s: {python: 'own:nothing'}\n  t: {python: 'no_such_module:f'}\n  u: {hocl: no.hocl}\n"
    text += "tasks:\n  A: {service: s}\n  B: {service: t}\n  C: {service: u}\n"
    file = put(tmp_path, "flow.yaml", text)
    result = solvent("run", file)
    assert (result.code, result.out, result.err.count("error[")) == (2, "", 3)
    assert [f"{file}:{line}:3" in result.err for line in (2, 3, 4)] == [True, True, True]


def test_inputs_of_a_workflow_in_another_file(tmp_path: Path) -> None:
    """`check` knows the inputs of a workflow that is a service, also if it is in another file."""
    (tmp_path / "inner.yaml").write_text("inputs: {a: null}\nservices: {s: {shell: date}}\ntasks: {A: {service: s}}\n")
    text = "services: {w: {workflow: inner.yaml}}\ntasks:\n  A: {service: w}\n  B: {service: w, with: {b: 1, a: 2}}\n"
    (report,) = solvent("check", put(tmp_path, "flow.yaml", text), "--format", "json").json["files"]
    assert [(one["code"], one["line"]) for one in report["errors"]] == [("W132", 3), ("W131", 4)]


def test_sound_workflow(tmp_path: Path) -> None:
    """A workflow without problems is said to be one, beside programs."""
    file = put(tmp_path, "flow.yaml", YAML)
    (tmp_path / "max.hocl").write_text("<1, 2>")
    result = solvent("check", file, tmp_path / "max.hocl")
    assert (result.code, result.out) == (0, f"{file}: ok\n{tmp_path / 'max.hocl'}: ok\n")
    assert calls(tmp_path) == []


@pytest.mark.parametrize(
    "words,says",
    [
        (["--input", "m=1"], "has no input `m`"),
        (["--input", "m"], "`--input` must be NAME=VALUE, not `"),
        (["--seed", "1"], "`--seed` is for HOCL programs"),
        (["--functions", "own.py"], "`--functions` is for HOCL programs"),
        (["--scale", "-1"], "`--scale` must be a number from 0 to 1,000,000, not `"),
        (["--jobs", "0"], "`--jobs` must be an integer of at least 1, not `0`"),
    ],
)
def test_wrong_options(tmp_path: Path, words: list[str], says: str) -> None:
    """Options that mean nothing for a workflow are refused."""
    result = solvent("run", put(tmp_path, "flow.yaml", YAML), *words)
    assert (result.code, says in result.err) == (2, True)


@pytest.mark.parametrize(
    "name,says",
    [
        ("flow.py", "has several workflows: `numbers`, `other`"),
        ("flow.py:none", "has no workflow `none`"),
        ("none.py", "there is no file"),
        ("none.yaml", "there is no file `"),
        ("none.json", "there is no file `"),
    ],
)
def test_workflow_that_is_not_there(tmp_path: Path, name: str, says: str) -> None:
    """A missing file and a missing or ambiguous name are told."""
    put(tmp_path, "flow.py", PYTHON)
    result = solvent("run", tmp_path / name)
    assert (result.code, says in result.err) == (2, True)


def test_input_that_is_missing(tmp_path: Path) -> None:
    """An input without a value is asked for."""
    result = solvent("run", put(tmp_path, "flow.yaml", YAML.replace("{n: 1}", "{n: null}")))
    assert (result.code, "--input n=..." in result.err) == (2, True)


def test_workflow_that_calls_itself(tmp_path: Path) -> None:
    """A workflow that is its own service is refused."""
    text = "services: {me: {workflow: flow.yaml}}\ntasks: {A: {service: me}}\n"
    result = solvent("run", put(tmp_path, "flow.yaml", text))
    assert (result.code, "calls itself" in result.err) == (2, True)
