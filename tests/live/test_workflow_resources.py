"""Resources of a workflow that go from one worker process to the next."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent.services import Processes
from tests.unit.runs.resources import solving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.report import Report

pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """Give worker processes that serve all tests, one run after the other."""
    kept = Processes(jobs=3)
    yield kept
    kept.close()


def run(flow: Any, inputs: dict[str, Any] | None = None, **options: Any) -> Report:
    """Run a workflow that must succeed."""
    report = solvent.run(flow, inputs, **options)
    assert report.error is None, report.error
    assert report.succeeded, report.failures
    return report


def test_an_array_goes_from_process_to_process(processes: Processes) -> None:
    """Several processes change the same array in turn, and no change is lost."""
    report = run(solving.sums, {"rows": 4000}, processes=processes)
    assert report.results["total"] == 4000 * 5 * 16
    assert (report.resources["grid"] == 16.0).all()
    assert os.getpid() not in report.results.values()


def test_a_failure_in_a_process_has_changed_nothing(processes: Processes) -> None:
    """What takes the place of a failed call finds the array as it was before that, in another process."""
    assert run(solving.diverging, processes=processes).results == {"spoil": 100.0}


def test_a_killed_worker_has_changed_nothing(tmp_path: Path, processes: Processes) -> None:
    """A worker that is killed in the middle of a change takes the lock with it; the retry gets both, whole."""
    report = run(solving.dying, {"mark": str(tmp_path / "mark")}, processes=processes)
    assert report.results == {"die_once": 300.0 * 300.0}
    assert report.timings["die_once"].attempts == 2
    assert (report.resources["grid"] == 7.0).all()


def test_without_undo_a_killed_worker_takes_the_data_along(tmp_path: Path, processes: Processes) -> None:
    """Where nothing is kept of the version before, the retry is told that the data is lost, and so is who ran it."""
    report = solvent.run(solving.dying_in_place, {"mark": str(tmp_path / "mark")}, processes=processes, check=False)
    assert report.states["die_once"] == "failed"
    assert "the resource `grid` is lost" in report.failures[0].cause
    assert report.error is not None
    assert (report.error.code, report.resources) == ("W163", {})


def test_a_call_that_takes_too_long_is_killed_and_has_changed_nothing(tmp_path: Path, processes: Processes) -> None:
    """A time-out kills the worker, and the retry finds what was there before it."""
    report = run(solving.hanging, {"mark": str(tmp_path / "mark")}, processes=processes)
    assert report.results == {"hang_once": 100.0}
    assert report.timings["hang_once"].attempts == 2


def test_processes_claim_two_resources_in_both_orders(processes: Processes) -> None:
    """Calls in different processes that claim the same resources do not wait for each other for ever."""
    assert list(run(solving.swapping, processes=processes).results.values()) == [1000.0, 2000.0]


def test_nothing_is_left_behind() -> None:
    """When a run and its workers have ended, their memory is gone."""
    folders = run(solving.mapping, processes=True, jobs=1).results["mapped"]
    assert len(folders) == 1
    assert not Path(folders[0]).exists()
