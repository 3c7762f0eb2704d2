"""Signals from outside reach tasks inside sub-workflows, whoever executes the run and whatever was killed meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent import service, signal_value, waits_for, workflow
from solvent.errors import Misuse
from solvent.runs.projection import waits_of
from solvent.runs.registry import existing, workflow_of
from solvent.runs.replay import Replay
from solvent.store import open_store
from tests.live.agents_world import until
from tests.live.store_servers import served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 200.0


@service
def sign(what: Any, by: Any) -> str:
    """Say who has approved something."""
    return f"{what} approved by {by}"


@service
def draft(number: int) -> int:
    """Return a number."""
    return number


@workflow
def approval(number: int) -> Any:
    """Wait for people."""
    return sign(draft(number), signal_value("approved"))


@workflow
def one() -> Any:
    """Have one thing approved."""
    return approval(7)


@workflow
def several() -> Any:
    """Have several things approved, each by itself."""
    return approval.each([1, 2])


@workflow
def later() -> Any:
    """Have something approved when somebody has said so."""
    return approval(waits_for(draft(3), "go"))


@workflow
def deep() -> Any:
    """Have something approved two levels below."""
    return one()


@pytest.fixture(params=["SQLite", "NATS"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the address of a store of each kind."""
    if request.param == "SQLite":
        yield str(tmp_path / "runs.db")
    else:
        with served() as url:
            yield url


def waits(store: str, run: str) -> list[tuple[str, str]]:
    """Return the tasks of a run that wait for people, each with its signal."""
    with open_store(store) as opened:
        return sorted((one.task, one.signal) for one in waits_of(opened, existing(opened, run)))


def assert_replayed(store: str, run: str) -> None:
    """Check that a replay of a run comes to the same."""
    with open_store(store) as opened:
        record = existing(opened, run)
        report = Replay(opened, record, workflow_of(opened, record)).run()
        assert report.error is None
        with solvent.attach(run, store=store) as found:
            assert report.results == found.report().results


@pytest.mark.parametrize("agents", [None, 2])
def test_signal_reaches_a_task_of_a_sub_workflow(store: str, agents: int | None) -> None:
    """It is listed with its path, the run waits, and goes on when the signal comes, by its name."""
    with solvent.submit(one, store=store, agents=agents, name="r") as run:
        until(lambda: waits(store, "r") == [("approval/sign", "approval/approved")], lambda: str(run.status()))
        assert run.state == "waiting"
        run.signal("approved", "Ann")
        assert run.wait(PATIENCE).value == "7 approved by Ann"
        assert waits(store, "r") == []
    assert_replayed(store, "r")


@pytest.mark.parametrize("agents", [None, 2])
def test_signal_reaches_the_sub_workflow_at_a_path(store: str, agents: int | None) -> None:
    """With the path before its name only the sub-workflow there hears it; the name alone is for all that wait."""
    with solvent.submit(several, store=store, agents=agents, name="r") as run:
        until(lambda: len(waits(store, "r")) == 2, lambda: str(run.status()))
        (_, first), (_, second) = waits(store, "r")
        run.signal(second, "Bob")
        until(lambda: len(waits(store, "r")) == 1, lambda: str(run.status()))
        assert waits(store, "r")[0][1] == first
        run.signal("approved", "Ann")
        assert run.wait(PATIENCE).value == ["1 approved by Ann", "2 approved by Bob"]
    assert_replayed(store, "r")


@pytest.mark.parametrize("agents", [None, 2])
def test_early_signal_is_kept_for_the_sub_workflow_that_comes(store: str, agents: int | None) -> None:
    """One that comes before its sub-workflow is begun is heard by it."""
    with solvent.submit(later, store=store, agents=agents, name="r") as run:
        run.signal("approved", "Ann")
        until(lambda: bool(waits(store, "r")), lambda: str(run.status()))
        run.signal("go")
        assert run.wait(PATIENCE).value == "3 approved by Ann"
    assert_replayed(store, "r")


def test_waiting_sub_workflow_goes_on_after_its_process_left(tmp_path: Path) -> None:
    """A run that was left while a sub-workflow two levels below waited hears the signal that came meanwhile."""
    store = str(tmp_path / "runs.db")
    with solvent.submit(deep, store=store, name="r") as run:
        until(lambda: waits(store, "r") == [("one/approval/sign", "one/approval/approved")], lambda: run.state)
        run._stop()  # As Ctrl-C does.
        run.wait(check=False)
        assert run.state == "stopped"
        run.signal("one/approval/approved", "Ann")
        assert run.resume(deep).wait(PATIENCE).value == "7 approved by Ann"
        assert run.status().calls == {"one": 1}
    assert_replayed(store, "r")


def test_unrecorded_run_hears_signals_that_it_was_given() -> None:
    """Without a store a signal comes at its time; where none comes any more, the sub-workflow is stuck."""
    assert solvent.run(one, signals=[(0.1, "approved", "Ann")]).value == "7 approved by Ann"
    with pytest.raises(solvent.RunFailed, match=r"\[W203\] it is stuck"):
        solvent.run(one)


def test_wrong_paths_and_names_are_refused(tmp_path: Path) -> None:
    """A signal that nobody waits for is refused, and so is a path at which nothing is open."""
    store = str(tmp_path / "runs.db")
    with solvent.submit(one, store=store, name="r") as run:
        until(lambda: bool(waits(store, "r")), lambda: run.state)
        with pytest.raises(Misuse, match="waits for the signal `aproved`"):
            run.signal("aproved")
        with pytest.raises(Misuse, match="no sub-workflow of `r` is open at `other`"):
            run.signal("other/approved")
        run.signal("approved", "Ann")
        run.wait(PATIENCE)
