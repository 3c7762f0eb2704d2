"""Finding the function of a service."""

from __future__ import annotations

import functools
import os.path
import sys
from typing import TYPE_CHECKING

import pytest

from solvent.errors import WorkflowProblem
from solvent.services.python import function_of, is_asynchronous
from solvent.workflows.model import Service

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("target, found", [("os.path:join", os.path.join), ("os:path.join", os.path.join)])
def test_a_function_is_found_by_its_name(target: str, found: object) -> None:
    """A target is a module and a function, which may be dotted."""
    assert function_of(Service("s", target=target)) is found


@pytest.mark.parametrize(
    "target, code, text",
    [
        ("", "W170", "service `s` names no function"),
        ("join", "W170", "service `s` names no function"),
        ("no_such_module:f", "W171", "service `s`: module `no_such_module` cannot be imported: ModuleNotFoundError"),
        ("os:no_such", "W172", "service `s`: module `os` has no `no_such`"),
        ("os:sep", "W173", "service `s`: `os:sep` is a str, not a function"),
    ],
)
def test_a_wrong_target_is_a_problem_of_the_workflow(target: str, code: str, text: str) -> None:
    """A target that leads nowhere is told with service and reason."""
    with pytest.raises(WorkflowProblem) as caught:
        function_of(Service("s", target=target))
    assert caught.value.code == code
    assert caught.value.message.startswith(text)


def test_a_module_that_raises_is_a_problem_of_the_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that fails when it is imported is told with what it raised."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "raising_module.py").write_text("1 / 0\n")
    with pytest.raises(WorkflowProblem, match="ZeroDivisionError: division by zero"):
        function_of(Service("s", target="raising_module:f"), tmp_path)


def test_modules_beside_the_workflow_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in the workflow's folder needs no installation, and may import its neighbours when it runs."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "neighbour_module.py").write_text("VALUE = 7\n")
    (tmp_path / "beside_module.py").write_text(
        "def f():\n    import neighbour_module\n    return neighbour_module.VALUE\n"
    )
    assert function_of(Service("s", target="beside_module:f"), tmp_path)() == 7


def test_a_namesake_from_elsewhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a module beside the workflow is hidden by one of the same name, this is told instead of taking the other."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "namesake_module.py").write_text(f"def f(): return {name!r}\n")
    assert function_of(Service("s", target="namesake_module:f"), tmp_path / "one")() == "one"
    with pytest.raises(WorkflowProblem, match="another module `namesake_module` is already imported"):
        function_of(Service("s", target="namesake_module:f"), tmp_path / "two")


def test_which_functions_are_awaited() -> None:
    """Asynchronous are `async def` functions, partial ones of them, and objects with such a `__call__`."""

    async def asynchronous() -> None: ...

    assert is_asynchronous(asynchronous)
    assert is_asynchronous(functools.partial(functools.partial(asynchronous)))
    assert not is_asynchronous(len)
