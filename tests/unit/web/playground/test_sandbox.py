"""Processes of the playground are limited, ended and not left behind."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import Misuse
from solvent.web.playground import sandbox as module
from solvent.web.playground.editor import examples
from solvent.web.playground.process import READY
from solvent.web.playground.question import Question
from solvent.web.playground.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENDLESS = "<1, (replace x::int by x + 1)>"
# One reaction that takes many seconds, though each of its values is allowed.
DEAF = f"<A, (replace A by ({', '.join(['pow(7, 370000) % 7'] * 2000)}))>"
# Doubles its numbers' length, and their number.
GREEDY = '<"aaaaaaaa", (replace s::string by s + s, s + s)>'


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox()
    yield made
    made.close()


def _answered(sandbox: Sandbox, **question: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sandbox.ask(Question(**question)).future.result(200))
    return found


def test_a_program_that_never_ends_is_stopped(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program without end stops at its limit of seconds, and tells how far it came."""
    # On a busy machine a process takes seconds to start; it is to stop by itself, and not to be killed.
    monkeypatch.setattr(module, "GRACE_SECONDS", 50.0)
    found = _answered(sandbox, ask="run", program=ENDLESS, max_seconds=0.3, max_reactions=1_000_000)
    assert found["problems"][0]["code"] in ("H501", "H502")
    assert found["outcome"]["inert"] is False


def test_a_program_that_cannot_be_interrupted_is_killed(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single reaction that computes for ever is ended with its process."""
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.7)
    found = _answered(sandbox, ask="run", program=DEAF, max_seconds=0.3)
    assert [one["code"] for one in found["problems"]] == ["H502"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process for certain")
def test_a_program_that_wants_too_much_memory_is_ended(sandbox: Sandbox) -> None:
    """A program that grows without bound meets the limit of memory, or of time, and this process lives on."""
    found = _answered(sandbox, ask="run", program=GREEDY, max_seconds=10.0, max_reactions=1_000_000)
    assert [one["code"] for one in found["problems"]] in (["H505"], ["H502"], ["H371"], ["H503"])


def test_a_process_can_write_no_file(tmp_path: Path) -> None:
    """The process may write to no file, whatever a fault of ours would let a program do."""
    if sys.platform == "win32":
        pytest.skip("Windows has no such limits")
    code = (
        "import signal, sys; from solvent.web.playground import process; process._limit('FSIZE', 0)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "try: open(sys.argv[1], 'wb', buffering=0).write(b'x')\n"
        "except OSError as error: print(error.errno)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "file")]
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    assert int(done.stdout) == errno.EFBIG


def test_too_many_questions_are_refused() -> None:
    """When as many wait as may, the next one is refused with a code, and the others can be ended."""
    made = Sandbox(max_processes=1)
    try:
        jobs = [made.ask(Question("run", DEAF, max_seconds=10.0)) for _ in range(1 + module.MAX_WAITING)]
        with pytest.raises(Misuse) as caught:
            made.ask(Question("check", "<>"))
        assert caught.value.code == "H372"
    finally:
        made.close()
    assert all(job.future.done() for job in jobs)


def test_nothing_is_left_behind() -> None:
    """When a sandbox is closed, its spare process and those at work have ended."""
    made = Sandbox()
    made.warm()
    spare = made._spare
    assert spare is not None
    assert spare.poll() is None
    made.close()
    assert spare.returncode is not None


def test_a_process_without_a_question_ends() -> None:
    """A process whose starter has died reads no question, and ends."""
    command = [sys.executable, "-m", "solvent.web.playground.process"]
    done = subprocess.run(command, input=b"", capture_output=True, check=True, env=os.environ)
    assert done.stdout == READY


def test_every_example_can_be_checked_and_run(sandbox: Sandbox) -> None:
    """All examples that the page offers are without fault there; two are run."""
    for example in examples():
        if example.name in ("maximum", "word-count"):
            assert _answered(sandbox, ask="run", program=example.text)["outcome"]["inert"]
        assert _problems(example.text) == [], example.name


def _problems(text: str) -> list[Any]:
    from solvent.web.playground.answers import answer

    return [one for one in answer(Question("check", text))["problems"] if one["kind"] == "error"]
