"""Everything public is typed and documented, its examples run, and the pages of the API reference say the same."""

from __future__ import annotations

import difflib
import doctest
import inspect
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.repo.api import PAGES, Page, entries, made, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.repo.api import Entry

_FOUND = {
    f"{page.module}.{entry.name}": entry
    for page in PAGES
    for _, listed in entries(page)
    for entry in listed
    if not inspect.ismodule(entry.value)
}
_ENTRIES = [pytest.param(entry, id=name) for name, entry in _FOUND.items()]
_EXAMPLES = [
    *(pytest.param(inspect.getdoc(import_module(page.module)), id=page.module) for page in PAGES),
    *(pytest.param(entry.text, id=name) for name, entry in _FOUND.items()),
]
_PAGES = [pytest.param(page, id=page.module) for page in PAGES]


@pytest.mark.parametrize("page", _PAGES)
def test_page_is_up_to_date(page: Page) -> None:
    """The page is the one that `make reference` would write."""
    seen, text = written(page).read_text(encoding="utf-8"), made(page)
    changes = difflib.unified_diff(seen.splitlines(), text.splitlines(), "written", "would be", lineterm="", n=0)
    assert seen == text, "run `make reference`\n" + "\n".join([*changes][:20])


@pytest.mark.parametrize("page", _PAGES)
def test_page_lists_every_public_name(page: Page) -> None:
    """The page, `from module import *` and, where the module decides it, `dir` name the same."""
    module, imported = import_module(page.module), dict[str, Any]()
    exec(f"from {page.module} import *", imported)
    listed = [name for names in page.groups.values() for name in names.split()]
    assert sorted(listed) == sorted(module.__all__) == sorted(imported.keys() - {"__builtins__"})
    if "__dir__" in vars(module):
        assert [name for name in dir(module) if not name.startswith("__")] == sorted(listed)


@pytest.mark.parametrize("entry", _ENTRIES)
def test_public_name_is_documented(entry: Entry) -> None:
    """Every public name has an example; a function says what it raises, and each member of a class what it is."""
    assert ">>> " in entry.text
    if inspect.isfunction(entry.value):
        assert "Raises" in entry.text
    assert [one.name for one in entry.members if one.function is not None and not one.text] == []


@pytest.mark.parametrize("entry", _ENTRIES)
def test_public_callable_is_typed(entry: Entry) -> None:
    """Every parameter of a public function or method has a type, and so has what it returns."""
    assert [what for function in _functions(entry) for what in _untyped(function)] == []


def _functions(entry: Entry) -> Iterator[Callable[..., Any]]:
    if inspect.isfunction(entry.value):
        yield entry.value
    elif inspect.isclass(entry.value):
        yield from (one.function for one in entry.members if one.function is not None)
        yield from (one for name, one in vars(entry.value).items() if name == "__init__" and inspect.isfunction(one))


def _untyped(function: Callable[..., Any]) -> Iterator[str]:
    signature = inspect.signature(function)
    for one in signature.parameters.values():
        if one.annotation is one.empty and one.name not in ("self", "cls"):
            yield f"{function.__qualname__}: {one.name}"
    if signature.return_annotation is signature.empty:
        yield f"{function.__qualname__}: what it returns"


@pytest.mark.parametrize("text", _EXAMPLES)
def test_example_runs(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of a docstring prints what it shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before, said = set(sys.modules), list[str]()
    # As typed at a prompt: functions have no module that a worker process could import.
    example = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, "example", None, 0)
    failed, tried = doctest.DocTestRunner().run(example, out=said.append)
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]
    assert (failed, tried > 0) == (0, True), "".join(said)
