"""Two hundred interrupted runs of workflows, by hand: `make soak`."""

from __future__ import annotations

import random
from itertools import cycle, islice, product
from statistics import median
from typing import TYPE_CHECKING

import pytest

from tests.live.interrupting import HOWS, KINDS, command, interrupt, is_in_order, put_files
from tests.soak_size import scaled

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.soak

INTERRUPTS = scaled(200)


def test_every_interrupted_run_ends(tmp_path: Path) -> None:
    """Whenever a run is interrupted, of whatever kind, once is enough, and it says that it was."""
    put_files(tmp_path)
    chance = random.Random()
    seconds = []
    for kind, how, processes in islice(cycle(product(KINDS, (*HOWS, "script"), (False, True))), INTERRUPTS):
        end = interrupt(tmp_path, command(tmp_path, kind, how, processes=processes), chance)
        assert end.code == 130, (kind, how, processes, end)
        seconds.append(end.seconds)
    late = sum(one > 5 for one in seconds)
    print(
        f"{len(seconds)} runs ended after {median(seconds):.2f} s, at most {max(seconds):.2f} s; {late} took over 5 s"
    )


def test_every_run_that_is_interrupted_while_it_starts_ends(tmp_path: Path) -> None:
    """A run that is interrupted at any moment of its first second ends, with 130 as soon as Python has started."""
    put_files(tmp_path)
    chance = random.Random()
    codes = []
    for kind, how, processes in islice(cycle(product(KINDS, HOWS, (False, True))), INTERRUPTS):
        words = command(tmp_path, kind, how, processes=processes)
        end = interrupt(tmp_path, words, chance, while_starting=True)
        assert is_in_order(end), (kind, how, processes, end)
        codes.append(end.code)
    print(f"{codes.count(130)} of {len(codes)} runs ended with 130; Python had not started in the others")
