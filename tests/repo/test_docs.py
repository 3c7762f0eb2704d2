"""Every snippet of the README and of `docs/` holds: commands print what is shown, code runs, programs parse.

Each snippet is a test of its own, named after its page and line. The Python blocks of a page build on each
other; testing one runs those above it first, so that any test can be run alone and in any order. The commands of the
tutorial are typed in by `test_newcomer`.
"""

from __future__ import annotations

import difflib
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.repo.console import exchanges_of, is_as_expected, prepare_folder, run_commands
from tests.repo.project import ROOT, name_in_project, pages
from tests.repo.snippets import Block, blocks_of
from tests.repo.test_newcomer import PAGES as TUTORIAL

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.mark import ParameterSet

_BLOCKS = {page: blocks_of(page.read_text(encoding="utf-8")) for page in pages()}
_LINK = re.compile(r"\[[^\]\n]*\]\((?P<target>[^)#\s]+)(?:#[^)\s]*)?\)")
_FENCED = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1", re.MULTILINE | re.DOTALL)


def _snippets(language: str) -> list[ParameterSet]:
    return [
        pytest.param(page, block, id=f"{name_in_project(page)}:{block.line}")
        for page, blocks in _BLOCKS.items()
        for block in blocks
        if block.language == language and "no-check" not in block.remarks
    ]


def _files_of(page: Path) -> dict[str, str]:
    return {block.file: block.text for block in _BLOCKS[page] if block.file}


@pytest.mark.parametrize("page,block", [one for one in _snippets("console") if one.values[0] not in TUTORIAL])
def test_commands_print_what_the_page_shows(page: Path, block: Block, tmp_path: Path) -> None:
    """A command of the documentation prints what the documentation says."""
    exchanges = [exchange for exchange in exchanges_of(block.text) if exchange.is_run]
    if not exchanges:
        return
    prepare_folder(tmp_path, _files_of(page), text=block.text)
    outputs = run_commands([exchange.command for exchange in exchanges], tmp_path)
    for exchange, seen in zip(exchanges, outputs, strict=True):
        if not is_as_expected(exchange.expected, seen):
            changes = difflib.unified_diff(exchange.expected, seen, "shown", "printed", lineterm="")
            pytest.fail("\n".join([f"$ {exchange.command}", *changes]), pytrace=False)


@pytest.mark.parametrize("page,block", _snippets("python"))
def test_python_of_the_page_runs(page: Path, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python code of the documentation runs and its assertions hold."""
    prepare_folder(tmp_path, _files_of(page), text=page.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    # A real module, since dataclasses look their module up by name.
    module = ModuleType("documented")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for above in _BLOCKS[page]:
        if above.language == "python" and "no-check" not in above.remarks and above.line <= block.line:
            # Empty lines before the code give its errors the page's line numbers.
            code = compile("\n" * (above.line - 1) + above.text, str(page), "exec", dont_inherit=True)
            exec(code, module.__dict__)


@pytest.mark.parametrize("page,block", _snippets("hocl"))
def test_program_of_the_page_parses(page: Path, block: Block) -> None:
    """A HOCL program of the documentation is one that the parser accepts."""
    import solvent

    solvent.hocl.parse(block.text)


@pytest.mark.parametrize("page", [pytest.param(page, id=name_in_project(page)) for page in pages()])
def test_links_of_the_page_lead_to_files(page: Path) -> None:
    """A link of the documentation to a file of the project leads to one."""
    prose = _FENCED.sub("", page.read_text(encoding="utf-8"))
    targets = [link["target"] for link in _LINK.finditer(prose)]
    inside = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in inside if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("name,max_lines", [("README.md", 150), ("CONTRIBUTING.md", 150)])
def test_first_pages_are_short(name: str, max_lines: int) -> None:
    """The pages a newcomer reads first are short."""
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= max_lines
