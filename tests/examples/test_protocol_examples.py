"""The machines under `examples/protocols` do what their pages say, and the how-to shows them as they are."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import pytest

from tests.repo.console import exchanges_of, is_as_expected, prepare_folder, run_commands
from tests.repo.project import ROOT
from tests.repo.snippets import blocks_of

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = ROOT / "examples" / "protocols"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir())
MAX_LINES = 100


@pytest.mark.parametrize("name", NAMES)
def test_commands_of_an_example_print_what_its_page_shows(name: str, tmp_path: Path) -> None:
    """The commands on the page of an example print what the page says."""
    page = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    prepare_folder(tmp_path, {}, text=page)
    for block in blocks_of(page):
        exchanges = exchanges_of(block.text)
        outputs = run_commands([exchange.command for exchange in exchanges], tmp_path)
        for exchange, seen in zip(exchanges, outputs, strict=True):
            if not is_as_expected(exchange.expected, seen):
                changes = difflib.unified_diff(exchange.expected, seen, "shown", "printed", lineterm="")
                pytest.fail("\n".join([f"$ {exchange.command}", *changes]), pytrace=False)


@pytest.mark.parametrize("name", NAMES)
def test_example_is_short(name: str) -> None:
    """An example is one idea, so its files are short."""
    files = [file for file in (EXAMPLES / name).iterdir() if file.suffix in {".py", ".md"}]
    lengths = {file.name: len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert {file: length for file, length in lengths.items() if length > MAX_LINES} == {}


def test_the_how_to_shows_the_example_as_it_is() -> None:
    """What the page shows of the example's code stands in the example, line by line."""
    page = (ROOT / "docs" / "how-to" / "own-protocol.md").read_text(encoding="utf-8")
    shown = [block.text for block in blocks_of(page) if block.language == "python"]
    code = [file.read_text(encoding="utf-8") for file in sorted((EXAMPLES / "turns").glob("*.py"))]
    assert shown
    assert [text for text in shown if not any(text in one for one in code)] == []
