"""The programs under `examples/hocl` run and end as their folders say.

A folder holds `NAME.hocl`, its legal final states in `NAME.final.hocl` (each as `solvent.hocl.show` writes it,
with `// or` between two), and where these are too many `check.py`, whose `is_final` decides; the file then
has one sample. `functions.py` holds the Python functions a program calls.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import solvent

if TYPE_CHECKING:
    from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "hocl"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir())
NAMES_CHECKED = [name for name in NAMES if (EXAMPLES / name / "check.py").exists()]
SEEDS = range(5)
MAX_SECONDS = 200
MAX_LINES = 100


def _module(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{file.parent.name}_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _functions(folder: Path) -> solvent.hocl.Functions:
    functions = solvent.hocl.Functions()
    if (folder / "functions.py").exists():
        module = _module(folder / "functions.py")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if not name.startswith("_") and function.__module__ == module.__name__:
                functions.register(function, name)
    return functions


def _program(name: str) -> solvent.hocl.Program:
    folder = EXAMPLES / name
    return solvent.hocl.load(folder / f"{name}.hocl", functions=_functions(folder))


def _final_states(name: str) -> list[str]:
    lines = (EXAMPLES / name / f"{name}.final.hocl").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("//")]


def _assert_legal(name: str, solution: solvent.hocl.Solution) -> None:
    if name in NAMES_CHECKED:
        assert _module(EXAMPLES / name / "check.py").is_final(solution), solvent.hocl.show(solution)
    else:
        assert solvent.hocl.show(solution) in _final_states(name)


@pytest.mark.parametrize("name", NAMES)
def test_example_ends_legally(name: str) -> None:
    """A run by the default strategy ends inert and in a legal final state."""
    solution = _program(name).solution()
    assert solvent.hocl.react(solution, max_seconds=MAX_SECONDS).inert
    _assert_legal(name, solution)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_example_ends_legally_by_chance(name: str, seed: int) -> None:
    """A random run ends inert and in a legal final state."""
    solution = _program(name).solution()
    assert solvent.hocl.react(solution, seed=seed, max_seconds=MAX_SECONDS).inert
    _assert_legal(name, solution)


@pytest.mark.parametrize("name", NAMES)
def test_example_has_its_files(name: str) -> None:
    """A folder has a program and its final states, and nothing the tests do not know."""
    known = {f"{name}.hocl", f"{name}.final.hocl", "check.py", "functions.py"}
    found = {file.name for file in (EXAMPLES / name).iterdir()} - {"__pycache__"}
    assert {f"{name}.hocl", f"{name}.final.hocl"} <= found <= known


@pytest.mark.parametrize("name", NAMES)
def test_example_says_what_it_shows(name: str) -> None:
    """A program begins with a comment, its final states with another, and it fits on a page."""
    for file in (EXAMPLES / name).glob("*.hocl"):
        text = file.read_text(encoding="utf-8")
        assert re.match(r"// [A-Z`0-9]", text), file.name
        assert len(text.splitlines()) <= MAX_LINES, file.name


@pytest.mark.parametrize("name", NAMES)
def test_final_states_differ(name: str) -> None:
    """No final state is given twice, and there is at least one; of a checked program, one sample."""
    states = _final_states(name)
    assert states
    assert len(set(states)) == len(states)
    if name in NAMES_CHECKED:
        assert len(states) == 1


@pytest.mark.parametrize("name", NAMES_CHECKED)
def test_sample_is_legal(name: str) -> None:
    """The sample of a checked program is legal, and the state before the run is not."""
    is_final = _module(EXAMPLES / name / "check.py").is_final
    without_rules = re.sub(r", [a-z_]+(?=[,>])", "", _final_states(name)[0])
    assert is_final(solvent.hocl.parse(without_rules).solution())
    assert not is_final(_program(name).solution())


def test_page_lists_every_example() -> None:
    """The page of the examples has one row for each folder, in order."""
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[([a-z-]+)\]\(\1/\1\.hocl\) \|", page, flags=re.MULTILINE) == NAMES
