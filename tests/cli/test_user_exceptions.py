"""Exceptions of users' Python: shown as theirs, with their lines, and never as a fault in Solvent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.command import Result

HEAD = "from solvent import attempt, choose, service, workflow\n@service\ndef s(x):\n    return x\n"
ON_IMPORT = ["raise SystemExit(0)", "raise BaseException", "unknown_name", "{}['a']", "import not_there"]
COMMANDS = ["check", "run", "show", "convert", "explore"]
BODIES = {
    "name": ("    return s(unknown_name)\n", "NameError: name 'unknown_name' is not defined"),
    "key": ("    return s({}['a'])\n", "KeyError: 'a'"),
    "import": ("    import no_such_module_here\n", "ModuleNotFoundError: No module named 'no_such_module_here'"),
    "file": ("    return s(open('no such file').read())\n", "FileNotFoundError"),
    "memory": ("    raise MemoryError('mine')\n", "MemoryError: mine"),
    "recursion": ("    return f.function()\n", "RecursionError"),
    "exit": ("    raise SystemExit(3)\n", "SystemExit: 3"),
    "base": ("    raise BaseException('mine')\n", "BaseException: mine"),
    "surrogate": ("    raise ValueError('a\\ud800')\n", "ValueError: a\\ud800"),
    "option": ("    return s.many(2, wrong=1)(1)\n", "TypeError"),
    "stand-in": ("    return s.otherwise(lambda x: 1 / 0)(1)\n", "ZeroDivisionError"),
}


def _is_users(result: Result, code: str, says: str) -> bool:
    return (result.code, result.out) == (2, "") and all(one in result.err for one in (f"error[{code}]", says))


@pytest.mark.parametrize("what", BODIES)
def test_exception_in_a_workflow_function(tmp_path: Path, what: str) -> None:
    """What the function of a workflow raises is shown with its name, its text and its line."""
    body, says = BODIES[what]
    file = tmp_path / "flow.py"
    file.write_text(f"{HEAD}@workflow\ndef f():\n{body}")
    result = solvent("check", file)
    assert _is_users(result, "W205", says), result.err
    assert f"{file}:7:5" in result.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_it(tmp_path: Path, command: str) -> None:
    """Every command that reads a workflow shows the exception of its function."""
    file = tmp_path / "flow.py"
    file.write_text(f"{HEAD}@workflow\ndef f():\n    return s(unknown_name)\n")
    assert _is_users(solvent(command, file), "W205", "NameError: name 'unknown_name' is not defined")


def test_frames_are_the_users(tmp_path: Path) -> None:
    """The traceback has the frames of the user's files with their lines, and none of Solvent's."""
    file, beside = tmp_path / "flow.py", tmp_path / "beside_the_flow.py"
    beside.write_text("def helper(known):\n    return known['a']\n")
    file.write_text(f"{HEAD}import beside_the_flow\n@workflow\ndef f():\n    return s(beside_the_flow.helper({{}}))\n")
    result = solvent("check", file)
    *_, first, call, second, raised = result.err.splitlines()
    assert (first, call) == (f'  File "{file}", line 8, in f', "    return s(beside_the_flow.helper({}))")
    assert (second, raised) == (f'  File "{beside}", line 2, in helper', "    return known['a']")
    assert "callables.py" not in result.err


def test_exception_whose_text_raises(tmp_path: Path) -> None:
    """An exception that cannot be made into text is shown by its name."""
    file = tmp_path / "flow.py"
    wrong = "class Wrong(Exception):\n    def __str__(self):\n        raise ValueError('no text')\n"
    file.write_text(f"{HEAD}{wrong}@workflow\ndef f():\n    raise Wrong\n")
    assert _is_users(solvent("check", file), "W205", "Wrong: <its text cannot be made>")
    file.write_text(f"{HEAD}{wrong}raise Wrong\n")
    assert _is_users(solvent("check", file), "W158", "Wrong: <its text cannot be made>")


@pytest.mark.parametrize("flow", ["def f():\n    return s(Odd())", "def f(x=Odd()):\n    return s(x)"])
@pytest.mark.parametrize(
    "words",
    [
        "run --store store.db",
        "run --no-record",
        *COMMANDS[2:],
        "convert --to hocl",
        "convert --to hoclflow",
        "convert --to yaml",
    ],
)
def test_constant_that_cannot_be_shown(tmp_path: Path, words: str, flow: str) -> None:
    """A constant whose `__repr__` raises is run, or refused by its type where a file cannot hold it."""
    file = tmp_path / "flow.py"
    odd = "class Odd:\n    def __repr__(self):\n        raise KeyError('mine')\n"
    file.write_text(f"{HEAD}{odd}@service\ndef t(x):\n    return 1\n@workflow\n{flow.replace('s(', 't(')}\n")
    command, *more = words.split()
    result = solvent(command, file, *more, cwd=tmp_path)
    assert result.code == 0 or (result.code == 2 and "a value of type Odd" in result.err), result.err


@pytest.mark.parametrize("words", ["run", "explore"])
def test_result_that_cannot_be_shown(tmp_path: Path, words: str) -> None:
    """A result whose `__repr__` raises is no fault in Solvent."""
    file = tmp_path / "flow.py"
    odd = "class Odd:\n    def __repr__(self):\n        raise KeyError('mine')\n"
    file.write_text(f"{HEAD}{odd}@service\ndef t():\n    return Odd()\n@workflow\ndef f():\n    return s(t())\n")
    command, *more = words.split()
    result = solvent(command, file, *more, cwd=tmp_path)
    assert (result.code, "H999" in result.err) == (0, False), result.err


def test_exception_in_a_workflow_that_a_file_names(tmp_path: Path) -> None:
    """A workflow in Python that is the service of another file shows its exception too."""
    (tmp_path / "inner_flow.py").write_text(f"{HEAD}@workflow\ndef f():\n    return s(unknown_name)\n")
    file = tmp_path / "flow.yaml"
    file.write_text("services: {w: {workflow: inner_flow.py}}\ntasks: {A: {service: w}}\n")
    for command in ("check", "run"):
        assert _is_users(solvent(command, file), "W205", "NameError: name 'unknown_name' is not defined")


@pytest.mark.parametrize("raises", [*ON_IMPORT, "def __getattr__(name): raise KeyError(name)"])
def test_exception_in_the_module_of_a_service(tmp_path: Path, raises: str) -> None:
    """A module that raises when it is imported, or asked for a function, is refused before the run."""
    (tmp_path / "own_services.py").write_text(f"\n{raises}\n")
    file = tmp_path / "flow.yaml"
    file.write_text("services: {s: {python: 'own_services:s'}}\ntasks: {A: {service: s}}\n")
    for command in ("check", "run"):
        result = solvent(command, file)
        assert (result.code, result.out) == (2, "")
        assert re.match("error.W17[12].: service `s`", result.err)


@pytest.mark.parametrize("raises", ON_IMPORT)
def test_exception_in_the_module_of_functions(tmp_path: Path, raises: str) -> None:
    """The module of `--functions` that raises is shown with its line."""
    functions, program = tmp_path / "own_functions.py", tmp_path / "own.hocl"
    functions.write_text(f"\n{raises}\n")
    program.write_text("<1, replace x by f(x)>")
    result = solvent("run", program, "--functions", functions)
    assert _is_users(result, "H307", "cannot be imported"), result.err
    assert f'File "{functions}", line 2' in result.err


WHERE = {
    "service": "raise KeyError('mine')",
    "text": "class E(Exception):\n        def __str__(self):\n            raise ValueError\n    raise E",
    "surrogate": "raise ValueError('a\\ud800')",
    "exit": "raise SystemExit(3)",
    "base": "raise BaseException('mine')",
}


@pytest.mark.parametrize("what", WHERE)
def test_exception_in_a_condition(tmp_path: Path, what: str) -> None:
    """A condition that raises is a result that is rejected, and the stand-in takes over."""
    file = tmp_path / "flow.py"
    condition = f"def judge(x):\n    {WHERE[what]}\n"
    file.write_text(f"{HEAD}{condition}@workflow\ndef f():\n    return attempt(s(1), otherwise=s(2), when=judge)\n")
    result = solvent("run", file)
    assert (result.code, "H999" in result.err) == (0, False), result.err


@pytest.mark.parametrize("what", WHERE)
def test_exception_in_a_choice(tmp_path: Path, what: str) -> None:
    """A condition of a choice that raises does not hold."""
    file = tmp_path / "flow.py"
    condition = f"def judge(x):\n    {WHERE[what]}\n"
    flow = (
        "@workflow\ndef f():\n    a = s(1)\n    return choose(a, (judge, s.named('B')(a)), otherwise=s.named('C')(a))\n"
    )
    file.write_text(f"{HEAD}{condition}{flow}")
    result = solvent("run", file)
    assert (result.code, "✓ C  done" in result.err) == (0, True), result.err


@pytest.mark.parametrize("what", WHERE)
def test_exception_in_a_service(tmp_path: Path, what: str) -> None:
    """A service that raises fails its task, and the run ends with exit code 1."""
    file = tmp_path / "flow.py"
    file.write_text(f"{HEAD}@service\ndef t(x):\n    {WHERE[what]}\n@workflow\ndef f():\n    return t(1)\n")
    result = solvent("run", file)
    assert (result.code, "H999" in result.err) == (1, False), result.err


@pytest.mark.parametrize("what", ["service", "text", "surrogate"])
def test_exception_in_a_function_of_a_program(tmp_path: Path, what: str) -> None:
    """A function that a program calls and that raises fails the reaction, and the command has exit code 1."""
    functions, program = tmp_path / "own_functions.py", tmp_path / "own.hocl"
    functions.write_text(f"def f(x):\n    {WHERE[what]}\n")
    program.write_text("<1, replace x::int by f(x)>")
    for command in ("run", "trace", "explore"):
        result = solvent(command, program, "--functions", functions)
        assert (result.code, "H999" in result.err) == (1, False), result.err


@pytest.mark.parametrize("words", [(), ("--processes",), ("--agents", "1", "--store", "runs.db")], ids=" ".join)
def test_traceback_of_a_service_begins_at_the_users_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A failed call is shown with the frames of the user's files and their lines, wherever it ran."""
    file = tmp_path / "flow.py"
    file.write_text(f"{HEAD}@service\ndef odd(x):\n    return x['a']\n@workflow\ndef f():\n    return odd({{}})\n")
    result = solvent("run", file, *words, cwd=tmp_path)
    said = result.err[result.err.index("task `odd` failed") :].splitlines()
    assert said[:5] == [
        "task `odd` failed: KeyError: 'a'",
        "  traceback:",
        f'  │   File "{file}", line 7, in odd',
        "  │     return x['a']",
        "  │ KeyError: 'a'",
    ]
