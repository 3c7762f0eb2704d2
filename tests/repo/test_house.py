"""The rules of the house: modules import one way, are named by what they hold, and say in plain words what they do."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tests.repo.project import ROOT, name_in_project, python_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

REBUILT = frozenset({"handover", "net", "protocols", "ring", "runs"})
"""Packages that are to be rebuilt: only moved to their places until then."""
UNSHAPED = frozenset[str]()
"""Packages that do not keep the rules yet. One that does leaves this list: a test says so."""
VAGUE_NAMES = frozenset({"base", "common", "helper", "helpers", "manager", "misc", "util", "utils"})
VAGUE_VERBS = ("Give ", "Tell ", "Say ")
NOUNS = frozenset({"encoding", "ring", "string"})
"""Words in -ing that are no gerunds."""
MAX_DEPTH = 2
"""How many files a class and its bases may be in, beside its own."""


class Module(NamedTuple):
    """What is asked about a file; its tree is not kept, since all trees together are large."""

    name: str
    has_docstring: bool
    #: Functions whose docstring begins with a verb that says nothing.
    vague: list[str]
    #: Functions without a docstring.
    silent: list[str]
    assigned: frozenset[str]
    #: Modules that it imports, for types too, and by each of them the names.
    imported: dict[str, dict[str, str]]
    #: The bases of its classes, as they are written.
    bases: dict[str, list[str]]

    @property
    def package(self) -> str:
        """The room that it is in."""
        first, _, rest = self.name.partition(".")
        return first if first == "solvent_lab" else rest.partition(".")[0]


@cache
def _module(file: Path) -> Module:
    tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
    assigned, imported, bases = set[str](), dict[str, dict[str, str]](), dict[str, list[str]]()
    for node in tree.body:
        if isinstance(node, ast.Assign):
            assigned |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            assigned.add(node.target.id)
        elif isinstance(node, ast.ClassDef):
            bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
    functions = list[ast.FunctionDef | ast.AsyncFunctionDef]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported.setdefault(node.module, {}).update({one.asname or one.name: one.name for one in node.names})
        elif isinstance(node, ast.Import):
            imported |= {one.name: imported.get(one.name, {}) for one in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(node)
    said = {f"{one.lineno} {one.name}": ast.get_docstring(one) or "" for one in functions}
    return Module(
        _name_of(file),
        bool(ast.get_docstring(tree)),
        [name for name, text in said.items() if text.startswith(VAGUE_VERBS)],
        [name for name, text in said.items() if not text],
        frozenset(assigned),
        imported,
        bases,
    )


def _name_of(file: Path) -> str:
    path = file.relative_to(ROOT)
    for root in ("src", "lab/src"):
        if path.is_relative_to(root):
            path = path.relative_to(root)
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _product() -> Mapping[str, Module]:
    """Return the modules of the product and the lab, by name."""
    return {(module := _module(file)).name: module for file in python_files("src", "lab/src")}


def _imports_of(module: Module) -> Iterator[str]:
    """Yield the modules of ours that a module imports."""
    known = _product()
    for name, names in module.imported.items():
        inside = {f"{name}.{one}" for one in names.values()}
        yield from inside & known.keys()
        if name in known and not names.keys() <= {one.rpartition(".")[2] for one in inside & known.keys()}:
            yield name


def _reached_from(name: str) -> set[str]:
    """Return what a module imports, and what that imports, within its package."""
    known, found, waiting = _product(), set[str](), [name]
    while waiting:
        for other in _imports_of(known[waiting.pop()]):
            if other not in found and known[other].package == known[name].package:
                found.add(other)
                waiting.append(other)
    return found


def _depth_of(module: Module, name: str) -> int:
    """Return in how many other files the bases of a class are, one behind the other."""
    known, found = _product(), 0
    for base in module.bases.get(name, ()):
        if base in module.bases:
            found = max(found, _depth_of(module, base))
        for source, names in module.imported.items():
            if base in names and source in known:
                # A machine that is to be rebuilt is taken as it is.
                behind = 0 if known[source].package in REBUILT else _depth_of(known[source], names[base])
                found = max(found, 1 + behind)
    return found


def _faults(module: Module) -> list[str]:
    """Return what a module of a package in its final shape must not be."""
    stem = module.name.rpartition(".")[2]
    found = [f"{module.name}: {one} begins with {VAGUE_VERBS}" for one in module.vague]
    if stem.endswith("ing") and "_" not in stem and stem not in NOUNS:
        found.append(f"{module.name}: a bare gerund")
    if module.name in _reached_from(module.name):
        found.append(f"{module.name}: imports itself by way of others")
    return found + [
        f"{module.name}: {name} is in too many files" for name in module.bases if _depth_of(module, name) > MAX_DEPTH
    ]


def test_packages_keep_the_rules() -> None:
    """No module imports itself by way of others, is named by a gerund, or begins a docstring with Give, Tell or Say."""
    kept = [one for one in _product().values() if one.package not in REBUILT | UNSHAPED]
    assert [fault for module in kept for fault in _faults(module)] == []


def test_packages_that_keep_the_rules_are_no_exceptions() -> None:
    """Each package that is not in its final shape yet has something that shows it."""
    wrong = {module.package for module in _product().values() if module.package in UNSHAPED and _faults(module)}
    assert wrong == UNSHAPED


def test_every_module_has_a_docstring() -> None:
    """Every module of the sources and the tests says what it is for."""
    files = python_files("src", "lab", "tests")
    assert [name_in_project(file) for file in files if not _module(file).has_docstring] == []


def test_every_test_states_its_fact() -> None:
    """Every test has a docstring: the fact that it shows."""
    silent = [
        f"{name_in_project(file)}:{one}"
        for file in python_files("tests")
        for one in _module(file).silent
        if one.partition(" ")[2].startswith("test_")
    ]
    assert silent == []


def test_every_folder_of_the_sources_is_a_package() -> None:
    """No folder of the sources lacks its `__init__.py`, which lists what the package offers."""
    folders = sorted({file.parent for file in python_files("src", "lab/src")} - {ROOT / "src", ROOT / "lab" / "src"})
    assert [name_in_project(folder) for folder in folders if not (folder / "__init__.py").exists()] == []
    files = [folder / "__init__.py" for folder in folders]
    assert [name_in_project(file) for file in files if "__all__" not in _module(file).assigned] == []


def test_module_names_say_something() -> None:
    """No module of the sources has a name that would fit any other."""
    files = python_files("src", "lab")
    assert [name_in_project(file) for file in files if VAGUE_NAMES & {file.stem, file.parent.name}] == []


def test_reading_orders_name_every_module() -> None:
    """The "Reading order" of a package, if it has one, names all of its modules in backticks, and no others."""
    wrong = list[str]()
    for file in python_files("src"):
        text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        _, found, order = text.partition("Reading order")
        if file.stem != "__init__" or not found:
            continue
        modules = {one.stem for one in file.parent.glob("[!_]*.py")}
        modules |= {one.parent.name for one in file.parent.glob("*/__init__.py")}
        named = re.findall(r"`([a-z0-9_]+(?:/[a-z0-9_]+)*|[*]_[a-z]+)`", order.partition("\n\n")[0])
        # One of another package has its path, and several of one kind a pattern.
        paths = {one for one in named if "/" in one}
        missing = {one for one in modules if not any(fnmatch(one, name) for name in named)}
        unknown = {one for one in set(named) - paths if not any(fnmatch(module, one) for module in modules)}
        unknown |= {one for one in paths if not (ROOT / "src" / "solvent" / f"{one}.py").exists()}
        wrong += [f"{name_in_project(file)}: {one}" for one in sorted(missing | unknown)]
    assert wrong == []


def test_the_page_on_the_architecture_names_files_that_are_there() -> None:
    """Each file of the product that the page on the architecture names, below `src/solvent`, exists."""
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_*]+(?:\.hocl)?)`", text)
    # Logs of a store have names like paths.
    files = {one for one in named if not one.startswith(("messages/", "src/"))}
    folder = ROOT / "src" / "solvent"
    assert [one for one in sorted(files) if not [*folder.glob(one), *folder.glob(f"{one}.py")]] == []
    assert files
