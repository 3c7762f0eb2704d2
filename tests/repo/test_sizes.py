"""Files and functions stay small, modules and tests say what they are for, packages say what they offer."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from tests.repo.project import name_in_project, python_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

# A module with such a name says nothing about what it holds.
EMPTY_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "base", "misc"}


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def _functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _lines_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def _names_assigned(file: Path) -> set[str]:
    """Collect the names that a module assigns at its top."""
    names = set[str]()
    for node in _tree(file).body:
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def test_no_file_is_long() -> None:
    """No file of the sources or the tests has over 400 lines."""
    lengths = {
        name_in_project(file): len(file.read_text(encoding="utf-8").splitlines())
        for file in python_files("src", "tests")
    }
    assert {name: length for name, length in lengths.items() if length > FILE_LINES_MAX} == {}


def test_no_function_is_long() -> None:
    """No function of the sources has over 60 lines."""
    lengths = {
        f"{name_in_project(file)}:{function.lineno} {function.name}": _lines_count(function)
        for file in python_files("src")
        for function in _functions(file)
    }
    assert {name: length for name, length in lengths.items() if length > FUNCTION_LINES_MAX} == {}


def test_every_module_has_a_docstring() -> None:
    """Every module of the sources and the tests says what it is for."""
    files = python_files("src", "tests")
    assert [name_in_project(file) for file in files if not ast.get_docstring(_tree(file))] == []


def test_every_test_states_its_fact() -> None:
    """Every test has a docstring: the fact that it shows."""
    silent = [
        f"{name_in_project(file)}:{function.lineno} {function.name}"
        for file in python_files("tests")
        for function in _functions(file)
        if function.name.startswith("test_") and not ast.get_docstring(function)
    ]
    assert silent == []


def test_every_package_lists_what_it_offers() -> None:
    """Every package of the sources has an `__all__`."""
    packages = [file for file in python_files("src") if file.name == "__init__.py"]
    assert [name_in_project(file) for file in packages if "__all__" not in _names_assigned(file)] == []


def test_every_folder_of_the_sources_is_a_package() -> None:
    """No folder of the sources lacks its `__init__.py`."""
    folders = sorted({file.parent for file in python_files("src")})
    assert [name_in_project(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_module_names_say_something() -> None:
    """No module of the sources has a name that would fit any other."""
    files = python_files("src")
    assert [name_in_project(file) for file in files if EMPTY_NAMES & {file.stem, file.parent.name}] == []
