"""Where memory runs out while a result is recorded, the task fails; the process neither crashes nor loses the run."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import MAX_SECONDS, Result, arguments, environment

if TYPE_CHECKING:
    from pathlib import Path

KILOBYTES = 600_000
BYTES = 200_000_000
FLOW = f"""\
import os

from solvent import attempt, service, workflow


@service
def data(kind: str) -> bytes | str:
    return b"a" * {BYTES} if kind == "bytes" else "a" * {BYTES}


@service
def size(value: bytes | str) -> int:
    return len(value)


@service
def all_there_is() -> list[bytearray]:
    with open("calls", "a") as file:
        file.write("called\\n")
    kept = []
    try:
        while True:
            kept.append(bytearray(1 << 20))
    except MemoryError:
        del kept[-8:]
    return kept


@service
def again(before: int) -> int:
    return before + 1


@workflow
def large(kind: str) -> int:
    return again(size(data(kind)))


@workflow
def full() -> int:
    return size(all_there_is())


@service
def little() -> list[bytearray]:
    return []


@service
def wait(length: int) -> int:
    if not os.path.exists("go"):
        os.kill(os.getpid(), 9)
    return length


@workflow
def repaired() -> int:
    return wait(size(attempt(all_there_is(), otherwise=little())))
"""


def limited(folder: Path, *words: str) -> Result:
    """Run the command with little memory."""
    (folder / "flow.py").write_text(FLOW, encoding="utf-8")
    done = subprocess.run(
        ["sh", "-c", f'ulimit -v {KILOBYTES} && exec "$@"', "sh", *arguments(*words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=folder,
        env={**environment(), "SOLVENT_STORE": str(folder / "runs.db")},
        timeout=MAX_SECONDS,
        check=False,
    )
    result = Result(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in result.err
    return result


@pytest.mark.parametrize("how", [(), ("--processes",), ("--agents", "1")], ids=["threads", "processes", "agents"])
@pytest.mark.parametrize("kind", ["bytes", "text"])
def test_a_large_result_is_recorded_or_its_task_fails(tmp_path: Path, kind: str, how: tuple[str, ...]) -> None:
    """A result of a third of the memory is recorded, or its task fails by a `MemoryError`; no process crashes."""
    result = limited(tmp_path, "run", "flow.py:large", "--input", f"kind={kind}", "--name", "r", "--no-sync", *how)
    if result.code == 1:
        assert "MemoryError" in result.err
    else:
        assert (result.code, result.out) == (0, f"again: {BYTES + 1}\n")


def test_a_large_result_is_written_without_a_copy(tmp_path: Path) -> None:
    """A result of a third of the memory is recorded, and found again in as much memory."""
    for words in (("run", "flow.py:large", "--input", "kind=bytes", "--name", "r"), ("replay", "r")):
        result = limited(tmp_path, *words)
        assert (result.code, result.out) == (0, f"again: {BYTES + 1}\n"), result.err


def test_a_run_that_lacked_memory_can_be_resumed(tmp_path: Path) -> None:
    """An alternative repairs the failure; when the process is killed after that, the call is not made again."""
    assert limited(tmp_path, "run", "flow.py:repaired", "--name", "r").code == -signal.SIGKILL
    (tmp_path / "go").touch()
    result = limited(tmp_path, "resume", "r")
    assert (result.code, result.out) == (0, "wait: 0\n")
    assert (tmp_path / "calls").read_text(encoding="utf-8") == "called\n"


@pytest.mark.parametrize("how", [(), ("--agents", "1")], ids=["threads", "agents"])
def test_a_result_that_memory_does_not_hold_twice_fails_its_task(tmp_path: Path, how: tuple[str, ...]) -> None:
    """The failure is an ordinary one: it is recorded, and replaying the run finds it there."""
    for words in (("run", "flow.py:full", "--name", "r", "--no-sync", *how), ("replay", "r")):
        result = limited(tmp_path, *words)
        assert (result.code, result.out) == (1, "")
        assert "task `all_there_is` failed: MemoryError" in result.err
        assert "  `size` waits for `all_there_is`, which failed\n" in result.err
