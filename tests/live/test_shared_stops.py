"""A count that goes on while those who count are stopped, taken for dead, and continue: none counts twice."""

from __future__ import annotations

import os
import random
import signal
import time
from typing import TYPE_CHECKING

import pytest

import solvent
from tests.live.shared_processes import MAX_SECONDS, Scene, until
from tests.soak_size import fresh_seeds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SIZE, HOSTS, ROUNDS = 40_000, ("two", "two", "three", "three"), 12


def _count(place: Scene, host: str, address: str, journal: Path, end: Path) -> Callable[[Callable[[str], None]], None]:
    """Give what a process does: take part, count some times, leave; and note what it released, and what was taken."""

    def work(say: Callable[[str], None]) -> None:
        say("counts")
        with journal.open("a", buffering=1) as notes:
            while not end.exists():
                last = None
                try:
                    with place.space(host, join=address) as space, space.handle("m") as handle:
                        for _ in range(ROUNDS):
                            view = handle.acquire(timeout=MAX_SECONDS)
                            if last is not None:
                                # Nobody is granted anything after a release that came too late.
                                notes.write(f"{last}\n")
                            found = bytes(view)
                            if found != found[:4] * (SIZE // 4):
                                notes.write("torn\n")
                            last = int.from_bytes(found[:4], "little") + 1
                            view[:] = last.to_bytes(4, "little") * (SIZE // 4)
                            handle.release()
                    notes.write(f"{last}\n")
                except solvent.SpaceProblem as problem:
                    notes.write(f"{problem.code}\n")
        say("done")

    return work


def _stops(place: Scene, folder: Path, seed: int, times: int) -> None:
    """Stop one after the other until the others have gone on, and compare what was released with what is there."""
    chance, end = random.Random(seed), folder / "end"
    with place.space("one") as space, space.handle("m", size=SIZE) as handle:
        for _ in range(3):
            place.serve("one", join=space.address)
        handle.acquire(timeout=MAX_SECONDS)
        handle.release()
        journals = [folder / f"{number}" for number in range(len(HOSTS))]
        workers = [
            place.start(_count(place, host, space.address, journal, end))
            for host, journal in zip(HOSTS, journals, strict=True)
        ]
        assert {one.hear() for one in workers} == {"counts"}
        seen = 0
        for _ in range(times):
            worker = chance.choice(workers)
            time.sleep(chance.random() / 5)
            os.kill(worker.number, signal.SIGSTOP)
            for _ in range(2):
                content = bytes(handle.acquire("read", timeout=MAX_SECONDS))
                handle.release()
                number = int.from_bytes(content[:4], "little")
                assert content == content[:4] * (SIZE // 4)
                assert number >= seen
                seen = number
                until(lambda: _counter(handle) > seen + 3)  # noqa: B023
            os.kill(worker.number, signal.SIGCONT)
        end.touch()
        assert {one.hear() for one in workers} == {"done"}
        taken = [line for journal in journals for line in journal.read_text().splitlines()]
        numbers = [int(line) for line in taken if line.isdecimal()]
        # Some were taken for dead and heard so, and nothing else was wrong.
        assert {line for line in taken if not line.isdecimal()} == {"S203"}
        assert len(set(numbers)) == len(numbers)
        assert max(numbers) <= _counter(handle)


def _counter(handle: solvent.shared.BlockingHandle) -> int:
    number = int.from_bytes(handle.acquire("read", timeout=MAX_SECONDS)[:4], "little")
    handle.release()
    return number


@pytest.mark.soak
@pytest.mark.parametrize("seed", fresh_seeds(6))
def test_nothing_is_counted_twice_by_who_was_stopped(place: Scene, tmp_path: Path, seed: int) -> None:
    """Every count that was taken is another one, readers see whole versions, and what they see only grows."""
    _stops(place, tmp_path, seed, times=20)
