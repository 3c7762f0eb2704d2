"""Python files that hold workflows are loaded, or refused with the line at fault."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from solvent import load_python
from solvent.errors import WorkflowProblem
from solvent.workflows.formats.python.files import read_python

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONE = """
from solvent import service, workflow

@service
def fetch(url: str) -> str:
    return url

@workflow
def first(url: str = "a") -> str:
    return fetch(url)
"""
TWO = f"""{ONE}
@workflow
def second(url: str = "b") -> str:
    return fetch(first(url))
"""


@pytest.fixture(autouse=True)
def _clean_modules() -> Iterator[None]:
    """Forget the modules and folders that a test has added."""
    modules, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def _write(folder: Path, text: str, name: str = "flows_of_a_test.py") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def _refused(path: Path, name: str | None = None) -> WorkflowProblem:
    with pytest.raises(WorkflowProblem) as caught:
        load_python(path, name)
    return caught.value


def test_the_only_workflow_of_a_file(tmp_path: Path) -> None:
    """A file with one workflow needs no name, and worker processes can import its services."""
    made = load_python(_write(tmp_path, ONE))
    assert made.name == "first"
    assert made.services[0].target == "flows_of_a_test:fetch"
    assert sys.modules["flows_of_a_test"].fetch is made.services[0].function


def test_one_of_several_workflows(tmp_path: Path) -> None:
    """Of several workflows one is named, as an argument or behind a colon; the hint has the outer one."""
    path = _write(tmp_path, TWO)
    assert load_python(path, "second").name == "second"
    assert load_python(f"{path}:first").name == "first"
    problem = _refused(path)
    assert (problem.code, problem.hint) == ("W159", f"name one of them: `{path}:second`")
    assert _refused(path, "third").hint == "it has `first`, `second`"


def test_places_of_tasks(tmp_path: Path) -> None:
    """A reader is told on which line each task is called."""
    loaded = read_python(_write(tmp_path, TWO), "second")
    assert {name: span.line for (_, name), span in loaded.places.items()} == {"first": 14, "fetch": 14}


def test_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    """No file, no Python, no workflow and an error on the way are told apart, with the line where there is one."""
    assert _refused(tmp_path / "missing.py").code == "W100"
    assert _refused(_write(tmp_path, "x = 1\n")).code == "W159"
    syntax = _refused(_write(tmp_path, "x = 1\ndef (:\n"))
    assert (syntax.code, syntax.span and syntax.span.line) == ("W158", 2)
    failing = _refused(_write(tmp_path, "\nimport no_such_module_at_all\n", "other_flows.py"))
    assert (failing.code, failing.span and failing.span.line) == ("W158", 2)


HEAD = "from solvent import service, workflow\nfetch = service(str.upper)\n"
WHOLE = {
    "a generator": ("def flow(url):\n    yield fetch(url)", "W153", "`flow` has a `yield`"),
    "a coroutine": ("async def flow(url):\n    return fetch(url)", "W153", "`flow` is an `async def`"),
    "both": ("async def flow(url):\n    yield fetch(url)", "W153", "`flow` is an `async def`"),
    "no step": ("def flow(url):\n    return 3", "W153", "`flow` returns a value of type int"),
    "a step of another": (
        "def flow(url):\n    kept.append(fetch(url))\n    return kept[0]\nkept = []\nflow.definition()",
        "W151",
        "the result of `upper` belongs to the workflow `flow`",
    ),
    "inputs without names": ("def flow(*urls):\n    return fetch(urls)", "W154", "`flow` takes `*urls`"),
}


@pytest.mark.parametrize("text, code, message", WHOLE.values(), ids=WHOLE)
@pytest.mark.filterwarnings("error")
def test_a_function_that_is_wrong_as_a_whole(tmp_path: Path, text: str, code: str, message: str) -> None:
    """What is wrong with all of a function is told at its own line, below its decorators."""
    problem = _refused(_write(tmp_path, f"{HEAD}@workflow\n{text}\n"))
    assert problem.span is not None
    assert (problem.code, problem.message[: len(message)]) == (code, message)
    assert problem.span.text == text.splitlines()[0]


def test_a_file_named_like_a_module(tmp_path: Path) -> None:
    """A file that is called like a module in use does not take its place."""
    import json

    made = load_python(_write(tmp_path, ONE, "json.py"))
    assert sys.modules["json"] is json
    assert made.services[0].target == "json_workflow:fetch"
