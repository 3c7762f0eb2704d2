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
import solvent
from solvent import active_of, any_of, attempt, choose, first_of, locked, repeat, service, workflow

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

@workflow(locks={"tape": 2}, patterns={"majority": "majority.hocl"})
def controlled(url: str, count: int) -> list[int]:
    raw = locked(fetch(url), "tape")
    words = clean(any_of(raw, fetch(url)))
    choose(raw, (lambda page: page.isdigit(), words), ("result = 1", fetch(raw)), otherwise=resize(raw, 3))
    repeat(words, back_to=raw, when=lambda found: len(found) < 3)
    first: str = first_of(raw, fetch(url))
    two: list[str] = first_of(raw, fetch(url), need=2)
    resize.each(active_of(raw, first), width=count)
    pages: list[str] = fetch.many(count, need=2, more=lambda page: page == "", enough=lambda all: len(all) > 3)(url)
    page: str = fetch.many(3, apart=True)(url)
    resize.many(over=1)(page, [1, 2])
    return resize.many(over=0, need=2, cancel=True)([*pages, *two], 3)

def wrong_control(url: str) -> None:
    raw = fetch(url)
    resize(any_of(raw, url), any_of(raw, url))                      # error: arg-type
    clean(active_of(raw, url))                                      # error: arg-type
    clean(first_of(raw, url, need=2))                               # error: arg-type
    choose(raw, (lambda page: page.sort(), raw))                    # error: attr-defined
    choose(raw, raw)                                                # error: arg-type
    repeat(raw, back_to=raw, when=3)                                # error: arg-type
    locked(raw, 3)                                                  # error: arg-type
    clean(fetch.many(3)(url))                                       # error: arg-type
    fetch.many(3)(3)                                                # error: arg-type
    fetch.many(3, more=lambda page: page.sort())                    # error: attr-defined
    fetch.many("three")                                             # error: call-overload
    fetch.many()                                                    # error: call-overload
    resize.many(over=0)([1], 3)                                     # error: list-item
    resize.many(over=0)(["a"], "b")                                 # error: arg-type

async def running(url: str) -> list[int]:
    report = solvent.run(pipeline, {"url": url}, store=True, agents=2, check=False)
    report = await solvent.run_async(pipeline, {"url": url}, store="runs.db")
    with solvent.submit(pipeline, name="first") as submitted:
        for change in submitted.events():
            print(change)
        report = submitted.wait(timeout=3)
    state: str = solvent.attach("first", store="runs.db").resume(pipeline).state
    ends: dict[str, int] = solvent.explore(pipeline, holds=[state]).ends
    text: str = solvent.show(pipeline, form="svg")
    if not solvent.check(pipeline).ok:
        solvent.run(pipeline, agents="two")             # error: arg-type
        solvent.submit(pipeline).wait(timeout=text)     # error: arg-type
        solvent.show(pipeline, form="gif")              # error: arg-type
        await solvent.run(pipeline)                     # error: misc
    return pipeline(url) if report.succeeded and ends else pipeline()

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
