"""Runs that Python code starts, looks at, stops and continues: recorded, by agents, from a script, in an event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent import service, signal_value, workflow
from solvent.errors import AgentProblem, Misuse, RecordProblem
from solvent.runs.projection import CallChanged, Over
from tests.live.store_servers import served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.report import TaskEvent

PATIENCE = 200.0


@service
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@service
def count_call(mark: str, number: int) -> int:
    """Write down that it was called."""
    with Path(mark).open("a", encoding="ascii") as file:
        file.write(f"{number}\n")
    return number


@service
def wait_for(file: str, number: int) -> int:
    """Wait until a file is there."""
    until = threading.Event()
    while not Path(file).exists():
        until.wait(0.01)
    return number


@service
def refuse(number: int) -> int:
    """Fail."""
    raise LookupError(f"no {number}")


@workflow
def doubling(number: int = 1) -> int:
    """Double a number twice."""
    return double(double(number))


@workflow
def refusing(number: int = 7) -> int:
    """Fail."""
    return refuse(number)


@workflow
def gated(mark: str, gate: str) -> int:
    """Count a call, and wait for a file."""
    return wait_for(gate, count_call(mark, 3))


@service
async def hang() -> None:
    """Never end."""
    await asyncio.Event().wait()


@workflow
def hanging() -> None:
    """Never end."""
    return hang()


@workflow
def approved() -> Any:
    """Return what comes with a signal."""
    return signal_value("approved")


@workflow
def pair(number: int = 2) -> tuple[int, int]:
    """Return a tuple."""
    return double(number), double(double(number))


@workflow
def alone(number: int = 2) -> list[int]:
    """Return a list of one."""
    return [double(number)]


@workflow
def named(number: int = 2) -> dict[str, int]:
    """Return a dictionary."""
    return {"twice": double(number)}


@workflow
def silent(number: int = 2) -> None:
    """Return nothing."""
    double(number)


@workflow
def plain(number: int = 2) -> int:
    """Return a result."""
    return double(number)


@pytest.fixture(params=["SQLite", "NATS"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the address of a store of each kind."""
    if request.param == "SQLite":
        yield str(tmp_path / "runs.db")
    else:
        with served() as url:
            yield url


def test_recorded_run_is_found_by_its_name(store: str) -> None:
    """A run with a store is recorded, and its name is taken."""
    report = solvent.run(doubling, {"number": 5}, store=store, name="first")
    with solvent.attach("fir", store=store) as found:
        assert (found.name, found.state, found.report().results) == ("first", "done", report.results)
        assert found.wait().results == {"double_2": 20}
        assert isinstance([*found.events()][-1], Over)
        found.cancel()
        assert found.resume().state == "done"
    with pytest.raises(RecordProblem, match="there is a run `first` already"):
        solvent.run(doubling, store=store, name="first")


def test_default_store_is_that_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`store=True` is the store of the current folder, where commands find the run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOLVENT_STORE", raising=False)
    solvent.run(doubling, store=True, name="first")
    words = [sys.executable, "-m", "solvent", "status", "first"]
    said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
    assert "first: done" in said
    with pytest.raises(RecordProblem, match="no run `second`"):
        solvent.attach("second")


def test_without_a_store_nothing_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without a store leaves nothing behind, and has no name."""
    monkeypatch.chdir(tmp_path)
    solvent.run(doubling)
    with solvent.submit(doubling) as run:
        run.wait()
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(Misuse, match="`name` names a run in a store"):
        solvent.run(doubling, name="first")


def test_submitted_run_is_watched_and_waited_for(store: str) -> None:
    """`events` yields what happens from the beginning; the report is that of the thread, also with what is no data."""
    seen: list[tuple[str, str]] = []
    with solvent.submit(doubling, store=store, watch=lambda event: seen.append((event.kind, event.task))) as run:
        calls = [(one.call.task, one.what) for one in run.events() if isinstance(one, CallChanged)]
        assert run.wait().results == {"double_2": 4}
    assert calls == [("double", "called"), ("double", "done"), ("double_2", "called"), ("double_2", "done")]
    assert seen[0] == ("started", "double")


def test_failed_run_raises_to_those_who_wait(store: str) -> None:
    """`wait` raises from the exception of the service; who attaches later gets its text as a note."""
    with solvent.submit(refusing, store=store, name="bad") as run:
        with pytest.raises(solvent.RunFailed) as caught:
            run.wait()
        assert isinstance(caught.value.__cause__, LookupError)
        assert run.wait(check=False).states == {"refuse": "failed"}
    with solvent.attach("bad", store=store) as found, pytest.raises(solvent.RunFailed) as again:
        found.wait()
    assert 'raise LookupError(f"no {number}")' in again.value.__notes__[0]


def test_stopped_run_is_resumed(tmp_path: Path, store: str) -> None:
    """What was answered before a run was stopped is not called again."""
    inputs = {"mark": str(tmp_path / "mark"), "gate": str(tmp_path / "gate")}
    stop = threading.Event()
    with pytest.raises(solvent.RunFailed, match="was stopped"):
        solvent.run(
            gated, inputs, store=store, name="part", watch=lambda event: event.kind == "done" and stop.set(),
            should_stop=stop.is_set,
        )  # fmt: skip
    (tmp_path / "gate").touch()
    with solvent.attach("part", store=store) as run:
        assert run.state == "stopped"
        with pytest.raises(RecordProblem, match="nobody executes the run `part`"):
            run.wait()
        with pytest.raises(RecordProblem, match="the workflow of `part` is not known here"):
            run.resume()
        assert run.resume(gated).wait().results == {"wait_for": 3}
    assert (tmp_path / "mark").read_text() == "3\n"


@workflow
def mended(number: int = 7) -> int:
    """Do what `refusing` has failed to do."""
    return double.named("refuse")(number)


@pytest.mark.parametrize("agents", [None, 1])
def test_failed_run_is_continued_with_another_workflow(store: str, agents: int | None) -> None:
    """A run that has failed continues when its workflow is mended; without a change it can be tried again."""
    with solvent.submit(refusing, store=store, name="bad", agents=agents) as run:
        assert run.wait(check=False).failures[0].task == "refuse"
    with solvent.attach("bad", store=store) as run:
        assert run.resume(refusing, retry_failed=True, agents=agents).wait(check=False).states == {"refuse": "failed"}
        assert run.resume(mended, agents=agents).wait().results == {"refuse": 14}


@pytest.mark.parametrize("agents", [None, 1])
def test_run_is_updated_while_it_waits(store: str, agents: int | None) -> None:
    """A run that goes on takes another workflow; one that has ended does not."""
    with solvent.submit(approved, store=store, agents=agents) as run:
        assert run.update(approved) != ""
        run.signal("approved", 5)
        assert [*run.wait(PATIENCE).results.values()] == [5]
    with solvent.attach(run.name, store=store) as ended, pytest.raises(RecordProblem, match="has ended"):
        ended.update(approved)


def test_run_of_this_process_goes_on_with_a_workflow_that_no_file_can_say(tmp_path: Path) -> None:
    """A call that is out goes on, and the value is that of the new workflow."""
    gate, mark = tmp_path / "gate", tmp_path / "mark"

    def note(number: int) -> int:
        return wait_for.function(str(gate), count_call.function(str(mark), number))

    held, more = service(note), service(lambda number: number + 1)

    @workflow
    def short(number: int = 3) -> int:
        return held(number)

    @workflow
    def longer(number: int = 3) -> int:
        return more(held(number))

    with solvent.submit(short) as run:
        for change in run.events(PATIENCE):
            if isinstance(change, CallChanged):
                break
        assert run.update(longer) == "1 kept, 0 run again, 1 new, 0 gone"
        gate.touch()
        assert run.wait(PATIENCE).value == 4
    assert mark.read_text() == "3\n"


def test_run_is_cancelled(store: str) -> None:
    """A cancelled run has ended for good; who waits no longer than so long is told of it."""
    with solvent.submit(hanging, store=store) as run:
        with pytest.raises(TimeoutError):
            run.wait(timeout=0)
        assert (run.state, run.status().tasks["hang"]) in {("running", "waiting"), ("running", "running")}
        run.cancel()
        assert (run.state, run.report().is_cancelled) == ("cancelled", True)
        with pytest.raises(solvent.RunFailed, match="was cancelled"):
            run.wait()


@pytest.mark.parametrize("agents", [None, 2])
def test_signal_is_sent(store: str, agents: int | None) -> None:
    """A run that waits for a signal goes on when it is sent, whoever executes it."""
    with solvent.submit(approved, store=store, agents=agents) as run:
        run.signal("approved", {"by": "Ann"})
        assert [*run.wait(PATIENCE).results.values()] == [{"by": "Ann"}]


def test_agents_execute_functions_that_they_can_import(store: str) -> None:
    """Agents that were started for a run import the functions of its workflow; they end with it."""
    seen: list[str] = []
    report = solvent.run(doubling, {"number": 3}, store=store, agents=2, watch=lambda event: seen.append(event.kind))
    assert (report.results, report.calls) == ({"double_2": 12}, {"double": 1, "double_2": 1})
    assert seen == ["started", "done", "started", "done"]


def test_failure_at_agents_is_raised_with_its_text() -> None:
    """The traceback of a service at an agent is a note."""
    with pytest.raises(solvent.RunFailed) as caught:
        solvent.run(refusing, agents=1)
    assert 'raise LookupError(f"no {number}")' in caught.value.__notes__[0]


def test_agents_refuse_functions_that_they_cannot_import() -> None:
    """A function without a name that others can import is refused before anything starts."""
    local = service(name="local")(lambda number: number)

    @workflow
    def flow(number: int = 1) -> int:
        return local(number)

    with pytest.raises(AgentProblem, match="cannot be given to agents") as caught:
        solvent.run(flow, agents=1)
    assert caught.value.code == "A101"
    with pytest.raises(Misuse, match="`processes` cannot be used with agents"):
        solvent.run(doubling, agents=1, processes=True)
    with pytest.raises(Misuse, match="agents that are there have a store"):
        solvent.submit(doubling, agents=0)


SCRIPT = """\
import sys
import solvent
from solvent import service, workflow

@service
def double(number: int) -> int:
    return 2 * number

@workflow
def flow(number: int) -> int:
    return double(number)

if __name__ == "__main__":
    agents = int(sys.argv[1]) if sys.argv[1] else None
    print(solvent.run(flow, {"number": 4}, store="runs.db", name="one", agents=agents).results)
"""


@pytest.mark.parametrize("agents", ["", "1"])
def test_script_is_importable_under_its_own_name(tmp_path: Path, agents: str) -> None:
    """The functions of a script are imported by the name of its file, by agents and by `solvent resume`."""
    (tmp_path / "flow.py").write_text(SCRIPT, encoding="ascii")
    words = [sys.executable, "flow.py", agents]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == ("{'double': 8}\n", "")
    words = [sys.executable, "-m", "solvent", "resume", "one", "--store", "runs.db"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "double: 8\n")


def test_failed_script_shows_the_traceback_of_the_user(tmp_path: Path) -> None:
    """A script whose run fails exits with 1 and shows the line of the service."""
    text = SCRIPT.replace("    return 2 * number", '    raise LookupError("nothing")')
    (tmp_path / "flow.py").write_text(text, encoding="ascii")
    words = [sys.executable, "flow.py", ""]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 1
    assert 'raise LookupError("nothing")' in done.stderr
    assert "`flow` failed: double: LookupError: nothing" in done.stderr


def test_event_loop_goes_on_while_a_run_is_awaited(tmp_path: Path, store: str) -> None:
    """Two runs and the loop go on at the same time: the loop lets the calls end."""

    async def main() -> list[dict[str, Any]]:
        loop, counted = asyncio.get_running_loop(), asyncio.Semaphore(0)

        def watch(event: TaskEvent) -> None:
            if event.kind == "done" and event.task == "count_call":
                loop.call_soon_threadsafe(counted.release)

        inputs = [{"mark": str(tmp_path / f"mark-{n}"), "gate": str(tmp_path / "gate")} for n in range(2)]
        runs = [asyncio.ensure_future(solvent.run_async(gated, one, store=store, watch=watch)) for one in inputs]
        for _ in runs:
            await counted.acquire()
        (tmp_path / "gate").touch()
        return [(await one).results for one in runs]

    assert asyncio.run(main()) == [{"wait_for": 3}] * 2


def test_run_whose_task_is_cancelled_is_left(store: str) -> None:
    """When the task that awaits a run is cancelled, its calls are, and it can be resumed."""

    async def main() -> None:
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        watch = partial(loop.call_soon_threadsafe, begun.set)
        task = asyncio.ensure_future(solvent.run_async(hanging, store=store, name="one", watch=lambda _: watch()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    with solvent.attach("one", store=store) as run:
        assert run.state == "stopped"
        run.cancel()
        assert run.state == "cancelled"


def test_an_unknown_option_is_refused_with_the_nearest_one() -> None:
    """An option that a run does not have is refused, and the one that was probably meant is named."""
    options: Any = {"job": 2}
    for start in (solvent.run, solvent.submit):
        with pytest.raises(TypeError, match="a run has no option `job`; did you mean `jobs`"):
            start(doubling, **options)


@pytest.mark.parametrize(
    "flow,value",
    [(pair, (4, 8)), (alone, [4]), (named, {"twice": 4}), (silent, None), (plain, 4)],
    ids=lambda one: one.described.name if hasattr(one, "described") else "",
)
def test_value_has_the_type_that_the_function_returns(store: str, flow: Any, value: Any) -> None:
    """`report.value` is the same from a run here, of this process, of agents, after `attach` and after `resume`."""
    assert solvent.run(flow).value == value
    assert solvent.run(flow, store=store, name="here").value == value
    assert solvent.run(flow, store=store, name="there", agents=1).value == value
    for name in ("here", "there"):
        with solvent.attach(name, store=store) as run:
            assert run.report().value == run.wait().value == value
            assert run.resume(flow, since="double", agents=1 if name == "there" else None).wait().value == value
