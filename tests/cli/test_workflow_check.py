"""`solvent check` with workflows: rule libraries, missing arguments, and warnings of doubtful loops and rules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli import controlled
from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

TASK = 6  # The line of the task that joins by the library.


def test_sound_library(tmp_path: Path) -> None:
    """A library that a run can use is in order."""
    file = controlled.put(tmp_path, controlled.PATTERN)
    result = solvent("check", file)
    assert (result.code, result.out, result.err) == (0, f"{file}: ok\n", "")


def test_library_that_is_missing(tmp_path: Path) -> None:
    """A file that is not there is told at the task that joins by it."""
    file = controlled.put(tmp_path, controlled.PATTERN.replace("two.hocl", "three.hocl"))
    result = solvent("check", file)
    assert (result.code, result.out, "error[W140]" in result.err) == (2, "", True)
    assert f"{file}:{TASK}:" in result.err


@pytest.mark.parametrize(
    "text, code, said",
    [
        (b"\xff\xfe\x00", "W140", "the pattern `two` cannot be read"),
        (b"<1>", "W141", "add `JOIN : <...>` to its solution"),
        (b"<JOIN : 1>", "W141", "add `JOIN : <...>` to its solution"),
        (b"<JOIN : <1>, JOIN : <2>>", "W141", "add `JOIN : <...>` to its solution"),
        (b"<JOIN : <VOTES : 0>>", "W141", "name its rules in its solution"),
    ],
    ids=["no text", "no JOIN", "no solution", "two", "no rules"],
)
def test_library_that_is_none(tmp_path: Path, text: bytes, code: str, said: str) -> None:
    """A file that is no library is told at the task that joins by it."""
    file = controlled.put(tmp_path, controlled.PATTERN)
    (tmp_path / "two.hocl").write_bytes(text)
    result = solvent("check", file)
    assert (result.code, result.out, f"error[{code}]" in result.err) == (2, "", True)
    assert said in result.err
    assert f"{file}:{TASK}:" in result.err


@pytest.mark.parametrize(
    "text, line",
    [("let a =\n  replace x by\n  y in\n<a, JOIN : <>>", 3), ("<JOIN : <>,\n,>", 2)],
    ids=["unbound", "syntax"],
)
def test_error_in_a_library_has_its_place(tmp_path: Path, text: str, line: int) -> None:
    """What is wrong inside a library is told with its own file and line."""
    file = controlled.put(tmp_path, controlled.PATTERN)
    (tmp_path / "two.hocl").write_text(text)
    result = solvent("check", file)
    assert (result.code, result.out) == (2, "")
    assert f"{tmp_path / 'two.hocl'}:{line}:" in result.err


def test_library_that_no_task_joins_by(tmp_path: Path) -> None:
    """A run reads every library that is named, so one that nobody uses must be there, too."""
    text = controlled.PATTERN.replace("{two: two.hocl}", "{two: two.hocl, three: three.hocl}")
    result = solvent("check", controlled.put(tmp_path, text), "--format", "json")
    (report,) = result.json["files"]
    assert (result.code, [one["code"] for one in report["errors"]]) == (2, ["W140"])


IDLE = "let max = replace x, y by x if x >= y in\n<2, 3>\n"
POLL = """\
from solvent import repeat, service, workflow

@service
def poll(url: str) -> int:
    return 3

@service
def later(number: int) -> int:
    return number

@workflow
def watch(url: str = "here") -> int:
    asked = poll(url)
    repeat(asked, back_to=asked, when="result < 3")
    return later(asked)
"""
THROUGH = POLL.replace("repeat(asked, back_to", "last = later.named('last')(asked)\n    repeat(last, back_to").replace(
    "later(asked)\n", "later(last)\n"
)
CHOSEN = THROUGH.replace(
    'repeat(last, back_to=asked, when="result < 3")\n    return later(last)',
    'end = later.named("end")(last)\n    choose(last, ("result < 3", asked), otherwise=end)\n    return end',
).replace("import repeat", "import choose")
DOUBT = (
    "warning[W186]: `poll` is gone back to and takes only inputs and constants: "
    "the loop ends only if `poll` itself changes its answer\n"
)


def _shell(folder: Path, command: str, task: str, options: str = "") -> Path:
    file = folder / "flow.yaml"
    file.write_text(f"services:\n  s: {{shell: '{command}'{options}}}\ntasks:\n  A: {{service: s{task}}}\n")
    return file


@pytest.mark.parametrize(
    "command, task, options, lacks",
    [
        ("echo {name}", "", "", "{name}"),
        ("echo {name}", ", with: {nam: 3}", "", "{name}"),
        ("echo {0} {1}", ", in: [3]", "", "{1}"),
        ("echo {out}", ", in: [3]", "", "{out}"),
        ("touch {out}", ", in: [3]", ', options: {result: "file:{1}.txt"}', "{1}"),
        ("cat", "", ", options: {stdin: 0}", "{0}"),
    ],
)
def test_argument_that_nothing_supplies_is_an_error(
    tmp_path: Path, command: str, task: str, options: str, lacks: str
) -> None:
    """A command that asks for an argument which the task does not give is refused before anything runs."""
    file = _shell(tmp_path, command, task, options)
    for word in ("check", "run"):
        result = solvent(word, file)
        assert (result.code, result.out) == (2, "")
        assert f"error[W185]: `A` calls `s`, which needs the argument {lacks}, and does not give it\n" in result.err


@pytest.mark.parametrize(
    "command, task, options",
    [
        ("echo {name} {0} {task}", ", in: [3], with: {name: 4}", ""),
        ("echo {{name}} ${HOME}", "", ""),
        ("touch {out}", ", in: [3]", ', options: {result: "file:{0}.txt"}'),
        ("cat", ", in: [3]", ", options: {stdin: 0}"),
        ("cat", "", ", options: {stdin: text}"),
    ],
)
def test_arguments_that_are_supplied_are_no_error(tmp_path: Path, command: str, task: str, options: str) -> None:
    """Arguments of the task, its name, the path of the result and plain braces are there."""
    assert solvent("check", _shell(tmp_path, command, task, options)).code == 0


def test_argument_of_an_address_that_nothing_supplies_is_an_error(tmp_path: Path) -> None:
    """The same holds for the address of an HTTP call."""
    file = tmp_path / "flow.yaml"
    file.write_text("services:\n  s: {http: 'http://localhost:1/{id}'}\ntasks:\n  A: {service: s, in: [3]}\n")
    result = solvent("check", file)
    assert (result.code, "error[W185]: `A` calls `s`, which needs the argument {id}" in result.err) == (2, True)


@pytest.mark.parametrize("text, prints", [(POLL, "later: 3"), (THROUGH, "later: 3"), (CHOSEN, "end: 3")])
def test_loop_whose_step_takes_only_inputs_is_doubtful(tmp_path: Path, text: str, prints: str) -> None:
    """Such a loop may be meant, so `check` and `run` warn, and the run goes on."""
    file = tmp_path / "watch.py"
    file.write_text(text)
    result = solvent("check", file)
    assert (result.code, result.err, DOUBT in result.out, "ok, 1 warning\n" in result.out) == (0, "", True, True)
    (found,) = json.loads(solvent("check", file, "--format", "json").out)["files"]
    assert [(one["code"], one["line"]) for one in found["warnings"]] == [("W186", 13)]
    result = solvent("run", file)
    assert (result.code, result.out, DOUBT in result.err) == (0, f"{prints}\n", True)


def test_loop_whose_step_takes_what_comes_back_is_not_doubtful(tmp_path: Path) -> None:
    """A loop that hands its result on is as it should be."""
    result = solvent("check", controlled.put(tmp_path, controlled.LOOP))
    assert (result.code, "warning" in result.out + result.err) == (0, False)


def test_run_of_a_program_warns_as_check_does(tmp_path: Path) -> None:
    """A rule in no solution is told on standard error, and the result is printed as ever."""
    file = tmp_path / "idle.hocl"
    file.write_text(IDLE)
    warning = "warning[H250]: the rule `max` is in no solution, so it never reacts\n"
    assert warning in solvent("check", file).out
    result = solvent("run", file)
    assert (result.code, result.out, result.err.startswith(warning)) == (0, "<2, 3>\n", True)
    result = solvent("run", file, "--nodes", "1")
    assert (result.code, result.out, warning in result.err) == (0, "<2, 3>\n", True)
    result = solvent("run", file, "--format", "json")
    assert (result.code, json.loads(result.out)["solution"]) == (0, "<2, 3>")
    assert json.loads(result.err)["warning"]["code"] == "H250"
