"""Files and functions stay small, modules and tests say what they are for, packages say what they offer."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tests.repo.project import name_in_project, python_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

# A module with such a name says nothing about what it holds.
EMPTY_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "base", "misc"}


class Function(NamedTuple):
    """What is asked about a function."""

    name: str
    line: int
    lines_count: int
    has_docstring: bool


class Module(NamedTuple):
    """What is asked about a file; its tree is not kept, since all trees together are large."""

    has_docstring: bool
    functions: list[Function]
    #: The names that are assigned at its top.
    assigned: set[str]


@cache
def _module(file: Path) -> Module:
    tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
    assigned = set[str]()
    for node in tree.body:
        if isinstance(node, ast.Assign):
            assigned |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            assigned.add(node.target.id)
    return Module(bool(ast.get_docstring(tree)), [*_functions(tree)], assigned)


def _functions(tree: ast.Module) -> Iterator[Function]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield Function(node.name, node.lineno, node.end_lineno - node.lineno + 1, bool(ast.get_docstring(node)))
        # There are no functions in expressions, of which a tree mostly consists.
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(node, field, ())
            waiting += inside if isinstance(inside, list) else ()


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
        f"{name_in_project(file)}:{function.line} {function.name}": function.lines_count
        for file in python_files("src")
        for function in _module(file).functions
    }
    assert {name: length for name, length in lengths.items() if length > FUNCTION_LINES_MAX} == {}


def test_every_module_has_a_docstring() -> None:
    """Every module of the sources and the tests says what it is for."""
    files = python_files("src", "tests")
    assert [name_in_project(file) for file in files if not _module(file).has_docstring] == []


def test_every_test_states_its_fact() -> None:
    """Every test has a docstring: the fact that it shows."""
    silent = [
        f"{name_in_project(file)}:{function.line} {function.name}"
        for file in python_files("tests")
        for function in _module(file).functions
        if function.name.startswith("test_") and not function.has_docstring
    ]
    assert silent == []


def test_every_package_lists_what_it_offers() -> None:
    """Every package of the sources has an `__all__`."""
    packages = [file for file in python_files("src") if file.name == "__init__.py"]
    assert [name_in_project(file) for file in packages if "__all__" not in _module(file).assigned] == []


def test_every_folder_of_the_sources_is_a_package() -> None:
    """No folder of the sources lacks its `__init__.py`."""
    folders = sorted({file.parent for file in python_files("src")})
    assert [name_in_project(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_module_names_say_something() -> None:
    """No module of the sources has a name that would fit any other."""
    files = python_files("src")
    assert [name_in_project(file) for file in files if EMPTY_NAMES & {file.stem, file.parent.name}] == []
