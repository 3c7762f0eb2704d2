"""A newcomer's path: Solvent is installed into an empty environment, and the tutorial typed in, page by page.

The pages share one folder, as they would for a person, so a page may not stumble over what another has left there. What
is run is what was installed, not the sources beside this file. `test_docs` leaves these commands to this test.

Nothing is fetched, since that may fail or take long: what Solvent says it depends on is copied from here, and pip
checks that this is enough.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.repo.console import exchanges_of, is_as_expected, run_commands, write_files
from tests.repo.project import ROOT, name_in_project
from tests.repo.snippets import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
_MAX_SECONDS = 400
_NAME = re.compile(r"[\w.-]+")


@pytest.mark.timeout(_MAX_SECONDS + 200)
def test_the_tutorial_works_in_a_fresh_environment(tmp_path: Path) -> None:
    """From the first page to the last, every command prints what is shown, with nothing there but Solvent."""
    programs = _installed(tmp_path / "environment")
    folder = tmp_path / "work"
    folder.mkdir()
    (where,) = run_commands(['python -c "import solvent; print(solvent.__file__)"'], folder, programs=programs)
    assert where[0].startswith(str(programs.parent)), where
    # What the playground offers comes with what is installed.
    offered = "from solvent.web.playground.editor import examples; print(examples()[0].name)"
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
    _copy_dependencies(Path(sysconfig.get_path("purelib", vars={"base": str(environment)})))
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    packed = environment / "packed"
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(packed)]
    subprocess.run(build, cwd=ROOT, env=plain, check=True, capture_output=True, timeout=_MAX_SECONDS)
    install = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", "--no-index"]
    # What is imported is compiled then, and most is not.
    install += ["--no-compile", *map(str, packed.iterdir())]
    done = subprocess.run(install, capture_output=True, check=False, encoding="utf-8", env=plain, timeout=_MAX_SECONDS)
    assert done.returncode == 0, done.stderr
    return programs


def _copy_dependencies(to: Path) -> None:
    """Copy what Solvent depends on, and what that depends on, from the packages of this environment."""
    waiting, seen = ["solvent"], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            # It is for other systems or versions of Python; pip complains if it is not.
            continue
        waiting += [_NAME.match(one)[0] for one in found.requires or () if "extra ==" not in one]  # type: ignore[index]
        for file in (found.files or ()) if name != "solvent" else ():
            # Its commands are nothing that Solvent needs, and what was compiled is for another place.
            if ".." not in file.parts and file.suffix != ".pyc":
                (to / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.locate(), to / file)


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
