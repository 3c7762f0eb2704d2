"""Results that are used again, on the command line: why a call is made, what is kept, and how it is removed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

FLOW = """\
from solvent import service, workflow

@service(cache=True)
def clean(text):
    return text.strip()

@service
def count(text):
    return len(text)

@workflow
def flow(texts: list = ["a", " b "]):
    return count.each(clean.each(texts))
"""


def test_a_run_explains_what_is_reused(tmp_path: Path) -> None:
    """One step is edited: only it and what follows are called again."""
    (tmp_path / "flow.py").write_text(FLOW)
    words = ("run", "flow.py", "--cache", "--explain", "--store", "runs.db")

    def said(name: str) -> list[str]:
        done = solvent(*words, "--name", name, cwd=tmp_path)
        assert done.code == 0, done.err
        return sorted(re.findall(r"[≡≢] (.*)", done.err))

    new = "it was not called before"
    assert said("one") == [f"{task}[{at}]: {new}" for task in ("clean", "count") for at in range(2)]
    assert said("two") == [f"{task}[{at}]: reused from one" for task in ("clean", "count") for at in range(2)]
    (tmp_path / "flow.py").write_text(FLOW.replace("strip()", "strip() * 2"))
    changed = "its code has changed"
    assert said("three")[:2] == [f"clean[{at}]: {changed}" for at in range(2)]
    done = solvent("run", "flow.py", "--store", "runs.db", "--format", "json", cwd=tmp_path)
    assert done.json["reused"] == {"clean": 2}


def test_the_cache_is_listed_and_removed(tmp_path: Path) -> None:
    """By service; runs stay."""
    (tmp_path / "flow.py").write_text(FLOW)
    store = ("--store", "runs.db")
    assert solvent("run", "flow.py", *store, "--name", "one", cwd=tmp_path).code == 0
    listed = solvent("status", "--cache", *store, cwd=tmp_path).out
    assert re.fullmatch(r"clean  2 results, 4 bytes; the last .*, by one\n", listed), listed
    assert solvent("status", "--cache", *store, "--format", "json", cwd=tmp_path).json["clean"]["results"] == 2
    assert solvent("prune", "--cache", "--older-than", "1h", *store, cwd=tmp_path).out == "0 results removed\n"
    assert solvent("prune", "--cache", "--dry-run", *store, cwd=tmp_path).out == "2 results would be removed\n"
    assert solvent("prune", "--cache", *store, cwd=tmp_path).out == "2 results removed\n"
    assert solvent("status", "--cache", *store, cwd=tmp_path).out == "the cache is empty\n"
    assert solvent("status", "one", *store, cwd=tmp_path).code == 0
    assert "H313" in solvent("prune", "one", "--cache", *store, cwd=tmp_path).err
