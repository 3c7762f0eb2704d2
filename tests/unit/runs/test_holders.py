"""Whether the process that has a run is there; also one that is numbered among others."""

from __future__ import annotations

import shutil
import subprocess
import sys

import msgspec
import pytest

from solvent.runs.holders import Holder, is_there, this_process

IN_A_CONTAINER = ["unshare", "--user", "--map-root-user", "--fork", "--pid", "--mount-proc"]
TELL = (
    "import sys, msgspec; from solvent.runs.holders import this_process;"
    "sys.stdout.buffer.write(msgspec.json.encode(this_process())); sys.stdout.flush(); sys.stdin.read()"
)


def _can_unshare() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*IN_A_CONTAINER, "true"], check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not _can_unshare(), reason="this system lets nobody make a namespace of processes")
def test_a_process_of_another_container_is_not_taken_for_dead() -> None:
    """It is alive, though no process here has its number: whether it is cannot be known, so nobody takes its run."""
    words = [*IN_A_CONTAINER, sys.executable, "-c", TELL]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        text = b""
        while not text.endswith(b"}"):
            text += process.stdout.read(1) or b"}"
        found = msgspec.json.decode(text, type=Holder)
        assert found.host == this_process().host
        assert is_there(found) is None
        process.stdin.close()


def test_a_machine_that_was_started_anew_has_no_process_of_before() -> None:
    """Whichever container a process was in, it did not survive that."""
    me = this_process()
    assert is_there(Holder(me.host, me.process, "7@another-boot", "pid:[1]")) is False
