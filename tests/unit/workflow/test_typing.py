"""A type checker sees through workflows written in Python."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
from solvent.workflow import attempt, service, workflow

@service(timeout=5)
def fetch(url: str) -> str: return url

@service
async def clean(text: str, language: str = "en") -> list[str]: return [text]

@service
def resize(text: str, width: int) -> int: return width

@workflow
def pipeline(url: str = "x") -> list[int]:
    raw = fetch(url)
    words = attempt(clean(raw), otherwise=[], when=lambda found: len(found) < 3)
    sizes = resize.each(words, width=3)
    resize.each(words, sizes)
    resize.cross(words, sizes)
    fetch.named("T1").after(raw).otherwise(fetch)(url)
    return sizes

@workflow
def outer(url: str) -> int:
    return pipeline(url)[0]

def wrong(url: str) -> None:
    fetch(3)                            # error: arg-type
    clean(fetch(url), lang="de")        # error: call-arg
    resize.each([1], width=3)           # error: list-item
    resize.cross(["a"], ["b"])          # error: list-item
    resize(clean(url), 3)               # error: arg-type
    fetch.otherwise(clean)              # error: arg-type
    service(timeout="soon")             # error: call-overload
    pipeline(3)                         # error: arg-type
"""


@pytest.mark.timeout(300)
def test_mypy_checks_the_arguments_of_steps(tmp_path: Path) -> None:
    """Right calls pass under `mypy --strict`, and every wrong one is found on its line."""
    pytest.importorskip("mypy")
    file = tmp_path / "flow.py"
    file.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", str(file)]
    seen = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    found = {(int(line), code) for line, code in re.findall(r"flow\.py:(\d+): error: .*\[([\w-]+)\]", seen)}
    lines = enumerate(PROGRAM.splitlines(), 1)
    assert found == {(number, line.rpartition("error: ")[2]) for number, line in lines if "# error: " in line}
