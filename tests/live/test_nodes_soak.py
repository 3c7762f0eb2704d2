"""Runs over nodes whose processes are killed again and again; left out unless asked for."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

import solvent
from tests.cli.command import arguments, environment

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 12


def sorting(chance: random.Random) -> str:
    """Write a program that sorts by exchange: nearly every reaction is between two nodes."""
    values = list(range(40))
    chance.shuffle(values)
    pairs = ", ".join(f"{at}:{value}" for at, value in enumerate(values))
    return f"let exchange = replace i : x, j : y by i : y, j : x if i < j && x > y in <{pairs}, exchange>"


def counting(chance: random.Random) -> str:
    """Write a program that counts words: what is joined by a value is gathered at its home."""
    lines = [" ".join(f"w{chance.randrange(200)}" for _ in range(300)) for _ in range(12)]
    texts = ", ".join(f'TEXT : "{line}"' for line in lines)
    return (
        'let read = replace TEXT : text by WORDS : split(text, " ") in '
        "let scatter = replace WORDS : (word, ?others) by word : 1, WORDS : list(others) in "
        "let finish = replace WORDS : () by in "
        "let count = replace word::string : m, word : n by word : m + n in "
        f"<{texts}, read, scatter, finish, count>"
    )


def children(process: subprocess.Popen[str]) -> list[int]:
    """Give the processes that a process has started."""
    found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False)
    return [int(number) for number in found.stdout.split()]


@pytest.mark.soak
@pytest.mark.parametrize("protocol", ["better", "adaptive"])
@pytest.mark.parametrize("write", [sorting, counting])
@pytest.mark.parametrize("seed", range(8))
def test_many_kills_change_nothing(seed: int, write: object, protocol: str, tmp_path: Path) -> None:
    """Whichever processes are killed, and whenever, the run ends as it does in one process."""
    chance = random.Random(seed)
    assert callable(write)
    program = tmp_path / "program.hocl"
    program.write_text(write(chance), encoding="utf-8")
    solvent.hocl.react(expected := solvent.hocl.load(program).solution())
    words = ["run", program, "--nodes", "5", "--protocol", protocol, "--state", tmp_path / "run", "--format", "json"]
    running = subprocess.Popen(
        arguments(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    )
    kills = 0
    time.sleep(0.4)
    while running.poll() is None and kills < KILLS:
        for number in chance.sample(found := children(running), min(1, len(found))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
                kills += 1
        time.sleep(chance.uniform(0.05, 0.4))
    out, err = running.communicate(timeout=200)
    assert running.returncode == 0, err
    assert json.loads(out)["solution"] == solvent.hocl.show(expected)
