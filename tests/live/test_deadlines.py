"""The deadline of a run: past it, what is open is cancelled and the run has failed, whoever executes it."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent import service, shell, signal_value, workflow
from solvent.errors import Misuse, WorkflowProblem
from solvent.runs.registry import existing, set_deadline
from solvent.store import open_store
from tests.live.agents_world import until
from tests.live.store_servers import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from solvent.runs.report import Report, TaskEvent

PATIENCE = 200.0
HOURS = 3600.0
quick: Any = service(name="quick")(abs)
nap: Any = shell("sleep 1000 {0}", name="nap")


@workflow(deadline="2h")
def late() -> Any:
    """Take longer than it may."""
    return nap(quick(-3))


@workflow
def waiting() -> Any:
    """Wait for people."""
    return signal_value("approved")


@workflow(deadline="2h")
def prompt() -> Any:
    """Wait for people, not for long."""
    return signal_value("approved")


@pytest.fixture(params=["SQLite", "NATS"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the address of a store of each kind."""
    if request.param == "SQLite":
        yield str(tmp_path / "runs.db")
    else:
        with served() as url:
            yield url


@pytest.fixture
def pass_hours(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let hours pass on the clock of this process."""
    now, passed = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: now() + passed[0])

    def let_pass(hours: float) -> None:
        passed[0] += hours * HOURS

    return let_pass


def assert_late(report: Report) -> None:
    """Check how a run is reported whose deadline has passed while `nap` ran."""
    assert report.error is not None
    assert (report.error.code, report.error.exit_code) == ("W211", 1)
    assert report.error.message == "the deadline of 2h has passed while `nap` was open"
    assert report.states == {"quick": "done", "nap": "cancelled"}
    assert not report.succeeded


@pytest.mark.parametrize("is_recorded", [False, True])
def test_deadline_ends_a_run_of_this_process(
    tmp_path: Path, pass_hours: Callable[[float], None], *, is_recorded: bool
) -> None:
    """What is open is cancelled, and the run fails with a word that names it."""

    def watch(event: TaskEvent) -> None:
        if (event.kind, event.task) == ("started", "nap"):
            pass_hours(3)

    url = str(tmp_path / "runs.db") if is_recorded else None
    with pytest.raises(solvent.RunFailed, match="the deadline of 2h has passed while `nap` was open") as caught:
        solvent.run(late, store=url, watch=watch)
    assert_late(caught.value.report)
    if url is not None:
        with open_store(url) as opened:
            (name,) = (key.removeprefix("runs/") for key in opened.keys("runs/") if key.count("/") == 1)
        with solvent.attach(name, store=url) as found:
            assert found.state == "failed"
            assert_late(found.report())


def test_deadline_ends_a_run_of_agents(store: str) -> None:
    """Agents end a run whose deadline has passed; it can be tried again, and has its time anew."""
    with solvent.submit(late, store=store, agents=2, name="slow") as run:
        with open_store(store) as opened:
            until(lambda: run.status().tasks["nap"] == "running", lambda: str(run.status()))
            assert existing(opened, "slow").deadline == existing(opened, "slow").created + 2 * HOURS
            set_deadline(opened, "slow", 0.001)
        with pytest.raises(solvent.RunFailed, match="has passed while `nap` was open"):
            run.wait(PATIENCE)
        assert run.report().states == {"quick": "done", "nap": "cancelled"}
        run.resume(late, retry_failed=True, agents=1, deadline="1h")
        until(lambda: run.status().tasks["nap"] == "running", lambda: str(run.status()))
        assert run.status().calls == {"quick": 1, "nap": 1}
        with open_store(store) as opened:
            assert existing(opened, "slow").deadline > time.time()
        run.cancel()


def test_time_passes_while_nobody_has_the_run(tmp_path: Path, pass_hours: Callable[[float], None]) -> None:
    """A run that was left is late when it is resumed after its deadline, and calls nothing any more."""
    url = str(tmp_path / "runs.db")
    with solvent.submit(waiting, store=url, name="left", deadline="30m") as run:
        until(lambda: run.state == "waiting", lambda: run.state)
        run._stop()  # As Ctrl-C does.
        run.wait(check=False)
        assert run.state == "stopped"
        pass_hours(1)
        with pytest.raises(solvent.RunFailed, match="the deadline of 30m has passed"):
            run.resume(waiting).wait()
        assert run.state == "failed"


@pytest.mark.parametrize("agents", [None, 1])
def test_updated_run_has_the_deadline_of_its_workflow(
    tmp_path: Path, pass_hours: Callable[[float], None], agents: int | None
) -> None:
    """One that the run was given counts for longer."""
    url = str(tmp_path / "runs.db")
    with solvent.submit(waiting, store=url, agents=agents, name="changed") as run, open_store(url) as opened:
        until(lambda: run.state == "waiting", lambda: run.state)
        run.update(prompt)
        created = existing(opened, "changed").created
        assert existing(opened, "changed").deadline == pytest.approx(created + 2 * HOURS, abs=1)
        given = set_deadline(opened, "changed", 3 * HOURS).deadline
        run.update(prompt, since="value")
        assert existing(opened, "changed").deadline == given
        if agents is None:
            pass_hours(4)
        else:
            set_deadline(opened, "changed", 0.001)
        with pytest.raises(solvent.RunFailed, match=" has passed while `value` was open"):
            run.wait(PATIENCE)


def test_deadline_that_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    """A run that ends in time ends as without a deadline."""
    url = str(tmp_path / "runs.db")
    for options in ({}, {"store": url}, {"store": url, "agents": 1}):
        with solvent.submit(waiting, deadline="1h", **options) as run:
            run.signal("approved", "yes")
            assert run.wait(PATIENCE).value == "yes"


def test_command_line_takes_a_deadline(tmp_path: Path) -> None:
    """`--deadline` of the command wins over that of the file; a late run ends with 1 and says so in its record."""
    (tmp_path / "flow.yaml").write_text(
        "deadline: 1h\nservices: {nap: {shell: sleep 1000}}\ntasks: {nap: {service: nap}}\n", encoding="utf-8"
    )
    words = [sys.executable, "-m", "solvent"]

    def call(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*words, *more], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    done = call("run", "flow.yaml", "--deadline", "1s", "--name", "slow")
    assert done.returncode == 1
    assert "error[W211]: the deadline of 1s has passed" in done.stderr
    said = call("status", "slow").stdout
    assert "slow: failed: the deadline of 1s has passed" in said
    assert call("replay", "slow").returncode == 1
    assert call("run", "flow.yaml", "--deadline", "soon").returncode == 2


def test_deadline_that_is_none_is_refused() -> None:
    """What is no duration above zero is no deadline."""
    with pytest.raises(Misuse, match="'soon' is no deadline"):
        solvent.run(waiting, deadline="soon")
    with pytest.raises(WorkflowProblem, match="0 is no deadline"):
        workflow(deadline=0)
