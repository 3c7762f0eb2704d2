"""Users find their own mistakes: the debugger in a run and after it, and what `check` finds before."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

FLOW = """\
from solvent import service, shell, workflow

@service
def clean(text):
    found = text.strip()
    return found[3]

@service
async def later(text, *, by):
    return text[by]

say = shell("false")

@workflow
def flow(texts: list = ["abcd", "ab"]):
    return clean.each(texts), later("x", by=2), say()
"""


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """Return the folder of a run whose tasks have failed."""
    (tmp_path / "flow.py").write_text(FLOW)
    assert solvent("run", "flow.py", "--store", "runs.db", "--name", "r", cwd=tmp_path).code == 1
    return tmp_path


def test_a_failed_call_is_made_under_the_debugger(failed: Path) -> None:
    """It begins at its first line, and where it raises the user's frame is open, with its variables."""
    before = solvent("status", "r", "--store", "runs.db", "--format", "json", cwd=failed).json
    typed = "p 'given', text\nc\np 'has', found\nq\n"
    done = solvent("resume", "r", "--store", "runs.db", "--debug", "clean", typed=typed, cwd=failed)
    assert done.code == 1
    assert "clean[1]('ab') failed: IndexError: string index out of range" in done.err
    assert "('given', 'ab')" in done.out
    assert "('has', 'ab')" in done.out
    assert "bdb.py" not in done.out
    assert solvent("status", "r", "--store", "runs.db", "--format", "json", cwd=failed).json == before


def test_asynchronous_functions_are_debugged_too(failed: Path) -> None:
    """With their named arguments."""
    done = solvent("resume", "r", "--store", "runs.db", "--debug", "later", typed="c\np by\nq\n", cwd=failed)
    assert "later('x', by=2) failed: IndexError" in done.err
    assert "(Pdb) 2\n" in done.out


def test_a_function_that_was_mended_returns(failed: Path) -> None:
    """What it returns is shown, and the record stays as it is."""
    (failed / "flow.py").write_text(FLOW.replace("found[3]", "found[-1]"))
    done = solvent("resume", "r", "--store", "runs.db", "--debug", "clean[1]", typed="c\n", cwd=failed)
    assert (done.code, "it returned 'b'; the record of the run is as it was" in done.err) == (0, True)


@pytest.mark.parametrize(
    "task, says",
    [
        ("clean[0]", "no call of `clean[0]` has failed in the run `r`"),
        ("other", "no call of `other` has failed in the run `r`"),
        ("false", "`false` is a shell service and is no Python function"),
    ],
)
def test_what_cannot_be_debugged_is_said(failed: Path, task: str, says: str) -> None:
    """What has not failed, and what is no Python function."""
    done = solvent("resume", "r", "--store", "runs.db", "--debug", task, cwd=failed)
    assert done.code == 1
    assert "error[R413]" in done.err
    assert says in done.err


def test_breakpoint_stops_a_call(tmp_path: Path) -> None:
    """The debugger is in the user's function, and the run goes on behind it."""
    (tmp_path / "flow.py").write_text(FLOW.replace("return found[3]", "breakpoint(); return found"))
    done = solvent("run", "flow.py:flow", "--input", 'texts=[" a "]', typed="p found\nc\n", cwd=tmp_path)
    assert "(Pdb) 'a'" in done.err
    assert "✓ clean" in done.err


def test_the_outer_workflow_is_named(tmp_path: Path) -> None:
    """Of two workflows in a file, of which one calls the other, that one is what is meant."""
    (tmp_path / "flow.py").write_text(
        textwrap.dedent("""\
        from solvent import service, workflow
        size = service(len)
        @workflow
        def inner(text="a"):
            return size(text)
        @workflow
        def outer(text="a"):
            return inner(text)
        """)
    )
    done = solvent("check", "flow.py", cwd=tmp_path)
    assert "has several workflows: `inner`, `outer`" in done.err
    assert "name one of them: `flow.py:outer`" in done.err


MISSING = """\
from solvent import service, workflow

@service
def words(text):
    {body}

@service
def size(word):
    return len(word)

@workflow
def flow(text="to be"):
    return size.each(words(text))
"""


@pytest.mark.parametrize(
    "body, is_found",
    [
        ("text.split()", True),
        ("if not text:\n        return\n    found = lambda: 5", True),
        ("return text.split()", False),
        ("for one in text:\n        return [one]", False),
        ("raise NotImplementedError", False),
        ('"""Say nothing."""', False),
        ("yield text", False),
    ],
)
def test_a_forgotten_return_is_found(tmp_path: Path, body: str, *, is_found: bool) -> None:
    """Before `each`, where the run could only fail."""
    (tmp_path / "flow.py").write_text(MISSING.format(body=body))
    done = solvent("check", "flow.py", cwd=tmp_path)
    assert (done.code, "error[W213]" in done.err) == (2 if is_found else 0, is_found), done.err
    if is_found:
        assert "`size` is called for each item of what `words` returns, which is nothing" in done.err
        assert "hint: a `return` is missing in `words`" in done.err
