"""A newcomer's path: Solvent is installed into an empty environment, and the tutorial typed in, page by page.

The pages share one folder, as they would for a person, so a page may not stumble over what another has left there. What
is run is what was installed, not the sources beside this file. `test_docs` leaves these commands to this test.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.repo.console import exchanges_of, is_as_expected, run_commands, write_files
from tests.repo.project import ROOT, name_in_project
from tests.repo.snippets import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
_SECONDS_MAX = 400
# What pip says where it finds no packages at all.
_NO_PACKAGES = re.compile(r"No matching distribution|Could not find a version|Failed to establish|Name or service")


@pytest.mark.timeout(_SECONDS_MAX + 200)
def test_the_tutorial_works_in_a_fresh_environment(tmp_path: Path) -> None:
    """From the first page to the last, every command prints what is shown, with nothing there but Solvent."""
    programs = _installed(tmp_path / "environment")
    folder = tmp_path / "work"
    folder.mkdir()
    (where,) = run_commands(['python -c "import solvent; print(solvent.__file__)"'], folder, programs=programs)
    assert where[0].startswith(str(programs.parent)), where
    # What the playground offers comes with what is installed.
    offered = "from solvent.running.playing.examples import examples; print(examples()[0].name)"
    assert run_commands([f'python -c "{offered}"'], folder, programs=programs) == [("maximum",)]
    wrong = [line for page in PAGES for line in _differences(page, folder, programs)]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_the_tutorial_is_numbered_and_leads_on() -> None:
    """Pages are numbered without a gap, and each but the last ends with a link to the next."""
    assert [page.name[:2] for page in PAGES] == [f"{number:02}" for number in range(1, len(PAGES) + 1)]
    ends = [page.read_text(encoding="utf-8").rstrip().splitlines()[-1] for page in PAGES[:-1]]
    assert [end for end, after in zip(ends, PAGES[1:], strict=True) if f"]({after.name})." not in end] == []


def _installed(environment: Path) -> Path:
    """Make an environment, install Solvent as users do, and give the folder of its commands."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    programs = environment / "bin"
    install = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet"]
    # What is imported is compiled then, and most is not.
    install += ["--no-compile", str(ROOT)]
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(install, capture_output=True, check=False, encoding="utf-8", env=plain, timeout=_SECONDS_MAX)
    if done.returncode and _NO_PACKAGES.search(done.stderr):
        pytest.skip("no packages can be had here, so nothing can be installed")
    assert done.returncode == 0, done.stderr
    return programs


def _differences(page: Path, folder: Path, programs: Path) -> Iterator[str]:
    """Type in what a page says, and give what is printed otherwise than it shows."""
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    write_files(folder, {block.file: block.text for block in blocks if block.file})
    for block in blocks:
        if block.language != "console" or "no-check" in block.remarks:
            continue
        exchanges = exchanges_of(block.text)
        outputs = run_commands([exchange.command for exchange in exchanges], folder, programs=programs)
        for exchange, seen in zip(exchanges, outputs, strict=True):
            if not is_as_expected(exchange.expected, seen):
                yield f"{name_in_project(page)}:{block.line}: $ {exchange.command}"
                yield from difflib.unified_diff(exchange.expected, seen, "shown", "printed", lineterm="")
