"""Many runs from one seed, in other processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from solvent_lab.simulator.many import Gathered, ProcessGone, processors, run_many, seeds_from
from solvent_lab.simulator.world import InvariantBroken

if TYPE_CHECKING:
    from pathlib import Path


def uneven(seed: int) -> int:
    """Take longer for some seeds than for others."""
    time.sleep(seed % 5 / 100)
    return seed


def place(_seed: int) -> int:
    """Say where it runs; take long enough that nobody gets all of the work."""
    time.sleep(0.1)
    return os.getpid()


def failing(seed: int) -> int:
    """Fail for a third of the seeds, soon or late."""
    time.sleep(seed % 5 / 100)
    if seed % 3 == 0:
        raise InvariantBroken("all is well", "it is not", at_ms=1.0, events=2, seed=seed, replay=f"--seed {seed}")
    return seed


def stuck(folder: Path, seed: int) -> int:
    """End at once for the first run, and never for the others."""
    try:
        (folder / "first").touch(exist_ok=False)
    except FileExistsError:
        time.sleep(600)
    return seed


def vanishing(_seed: int) -> int:
    """End the process."""
    os._exit(3)


def test_every_run_has_its_own_seed() -> None:
    """Seeds are drawn from the one given; more runs begin like fewer; a single run keeps the seed."""
    seeds = seeds_from(7, 100)
    assert len(set(seeds)) == 100
    assert seeds[:10] == seeds_from(7, 10)
    assert seeds != seeds_from(8, 100)
    assert seeds_from(7, 1) == (7,)


@pytest.mark.parametrize("processes", [None, 0, 1, 3])
def test_results_are_in_order_whoever_is_first(processes: int | None) -> None:
    """However many processes there are, the results are the same, in the order of the seeds."""
    gathered = run_many(uneven, seed=5, runs=12, processes=processes)
    assert gathered == Gathered(seeds_from(5, 12), 12)
    assert gathered.is_complete


def test_runs_are_spread_over_processes() -> None:
    """Two processes share the work, and neither of them is this one."""
    found = set(run_many(place, seed=1, runs=8, processes=2).results)
    assert len(found) == 2
    assert os.getpid() not in found
    assert set(run_many(place, seed=1, runs=2, processes=0).results) == {os.getpid()}
    assert processors() >= 1


@pytest.mark.parametrize("processes", [0, 1, 3])
def test_the_first_failure_is_told(processes: int) -> None:
    """The error is that of the first failing run in the order of seeds, whole, whichever fails first."""
    first = next(seed for seed in seeds_from(1, 30) if seed % 3 == 0)
    with pytest.raises(InvariantBroken) as caught:
        run_many(failing, seed=1, runs=30, processes=processes)
    assert caught.value.show().endswith(f"the same run again: --seed {first}")


@pytest.mark.parametrize("processes", [0, 2])
def test_progress_is_told(processes: int) -> None:
    """Whoever wants to know hears how many are done, from none to all."""
    heard: list[tuple[int, int]] = []
    run_many(uneven, seed=1, runs=6, processes=processes, progress=lambda *so_far: heard.append(so_far))
    assert (heard[0], heard[-1]) == ((0, 6), (6, 6))
    assert heard == sorted(heard)


def test_whoever_stops_gets_what_is_done(tmp_path: Path) -> None:
    """Runs that are not done are broken off, and the results of the others are kept."""
    done = 0

    def progress(so_far: int, _runs: int) -> None:
        nonlocal done
        done = so_far

    gathered = run_many(
        partial(stuck, tmp_path), seed=1, runs=9, processes=2, progress=progress, should_stop=lambda: done > 0
    )
    assert (len(gathered.results), gathered.runs, gathered.is_complete) == (1, 9, False)


def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    """An interrupt ends the waiting, not the results."""

    def interrupt_soon(so_far: int, _runs: int) -> None:
        if so_far and not interrupted:
            interrupted.append(True)
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    interrupted: list[bool] = []
    gathered = run_many(partial(stuck, tmp_path), seed=1, runs=9, processes=2, progress=interrupt_soon)
    assert (len(gathered.results), gathered.is_complete) == (1, False)


def test_stopping_in_one_process() -> None:
    """Without other processes a stop comes between two runs."""
    stops = iter([False, False, True])
    gathered = run_many(uneven, seed=1, runs=5, processes=0, should_stop=lambda: next(stops))
    assert gathered == Gathered(seeds_from(1, 5)[:2], 5)


def test_a_process_that_ends_by_itself_is_told() -> None:
    """A run whose process is gone is an error, not a hang."""
    with pytest.raises(ProcessGone, match="ended by itself"):
        run_many(vanishing, seed=1, runs=3, processes=2)
