"""A run that goes on from its record ends as one that was never stopped, and calls nobody twice who has answered."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, note
from hypothesis import strategies as st

import solvent
from solvent.errors import RecordProblem, StoreError
from solvent.runs.embedded import EmbeddedRun
from solvent.runs.events import CallAnswered, CallFailed, CallStarted, WaitBegan
from solvent.runs.journal import StoredJournal, read_journal
from solvent.runs.kept import MIN_BLOB_BYTES
from solvent.runs.registry import KeptOptions, new_record
from solvent.runs.replay import Replay
from solvent.services import cancelled
from solvent.store import Store, open_store
from solvent.values import codec
from solvent.workflows.formats.files import load_text
from solvent.workflows.model import Alternative, Control, Policy, Result, Service, Task, Value, Workflow
from tests.patterns.catalogue import FOLDER, Example, workflow_in
from tests.patterns.catalogue import examples as patterns
from tests.property.amounts import examples
from tests.property.plain_workflows import disagreements
from tests.property.test_workflows import describe
from tests.property.workflows import Scenario, scenarios

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.runs.report import Report, TaskEvent

MAX_SECONDS = 200
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Give a store for all runs of these tests."""
    with open_store(str(tmp_path_factory.mktemp("records") / "store.db"), is_durable=False) as store:
        yield store


class Calls(list[tuple[str, list[Any]]]):
    """The calls that were made, and which they were."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: dict[int, str] = {}

    def append(self, one: tuple[str, list[Any]]) -> None:
        """Note a call."""
        known = solvent.call()
        assert known is not None
        self.keys[id(one)] = known.key.partition("/")[2]
        super().append(one)


def run(store: Store, log: str, workflow: Workflow, **options: Any) -> Report:
    """Run a workflow with a journal, from where that ends."""
    journal = StoredJournal(store, log, "me")
    journal.open()
    made = EmbeddedRun(workflow, options.pop("inputs", None), journal=journal, max_seconds=MAX_SECONDS, **options)
    threads = set(threading.enumerate())
    report = made.run()
    for thread in set(threading.enumerate()) - threads:
        thread.join(MAX_SECONDS)
    return report


def replay(store: Store, log: str, workflow: Workflow, **options: Any) -> Report:
    """Do what a journal has again."""
    signals = KeptOptions(signals=codec.encode([list(one) for one in options.pop("signals", ())]))
    record = new_record(store, log.split("/")[1], workflow, options.pop("inputs", None), options=signals)
    return Replay(store, record, workflow, **options).run()


def copied(store: Store, log: str, to: str, share: float) -> set[str]:
    """Copy the beginning of a journal, as if the rest had never been written; give the calls that have answers."""
    records = store.read(log, 0, 10**6)
    kept = records[: round(share * len(records))]
    answered = set[str]()
    for record in kept:
        store.append(to, record.data)
    for one in _past(store, to):
        if isinstance(one, CallAnswered | CallFailed):
            answered.add(one.call)
    return answered


def _past(store: Store, log: str) -> list[Any]:
    journal = StoredJournal(store, log, "me", is_read_only=True)
    journal.open()
    return list(journal.past)


_COUNT = iter(range(10**9))


@examples(30, phases=PHASES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scenarios(with_late=True), st.floats(0, 1), st.integers(1, 4))
def test_a_run_goes_on_from_any_part_of_its_record(store: Store, scenario: Scenario, share: float, jobs: int) -> None:
    """With failures, time-outs and alternatives the results are those of a plain evaluation, with no call too many."""
    note(describe(scenario))
    number = next(_COUNT)
    before, after = Calls(), Calls()
    run(store, f"runs/whole{number}/shard/0", scenario.workflow(before), jobs=jobs)
    answered = copied(store, f"runs/whole{number}/shard/0", f"runs/part{number}/shard/0", share)
    report = run(store, f"runs/part{number}/shard/0", scenario.workflow(after), jobs=jobs)
    assert answered.isdisjoint(after.keys.values())
    calls = [one for one in before if before.keys[id(one)] in answered] + after
    assert disagreements(scenario, report, calls) == []


@pytest.mark.parametrize("example", patterns(), ids=lambda one: one.name)
def test_patterns_are_replayed(store: Store, example: Example) -> None:
    """Every workflow of the patterns, done again from its record, comes to the same, and nobody is called."""
    workflow = workflow_in(example.file)
    for case, one in enumerate(example.cases):
        log = f"runs/{example.name}-{case}/shard/0"
        signals = {task.control.signal for task in workflow.tasks if task.control is not None and task.control.signal}
        options: dict[str, Any] = {"folder": FOLDER, "inputs": one.inputs}
        if signals:
            options["signals"] = [(0.01 * at, name, at) for at, name in enumerate(sorted(signals))]
        had = run(store, log, workflow, **options)
        found = replay(store, log, workflow, **options)
        for name in ("results", "states", "adaptations", "stuck", "ended_by", "is_cancelled", "error"):
            assert _untimed(getattr(found, name)) == _untimed(getattr(had, name)), name
        assert [(one.kind, one.task) for one in found.trace or ()] == [(one.kind, one.task) for one in had.trace or ()]


def _untimed(value: Any) -> Any:
    """Leave out when something happened."""
    return [{**one, "seconds": 0} if isinstance(one, dict) else one for one in value] if type(value) is list else value


def chain(*functions: Callable[..., Any], **policy: Any) -> Workflow:
    """Give a workflow whose tasks take each other's results in a row."""
    services = tuple(Service(f"s{at}", function=one, policy=Policy(**policy)) for at, one in enumerate(functions))
    tasks = tuple(Task(f"t{at}", f"s{at}", (Result(f"t{at - 1}"),) if at else ()) for at in range(len(functions)))
    return Workflow("chain", tasks, services)


def test_an_answer_that_cannot_be_kept_fails_its_task_at_once(store: Store) -> None:
    """An alternative takes over, in the run and in what is done again from its record; the cause names the place."""
    calls: list[str] = []

    def handle() -> Any:
        calls.append("handle")
        return {"rows": [1, threading.Lock()]}

    def spare() -> Any:
        calls.append("spare")
        return {"rows": [1]}

    tasks = Task("a", "handle"), Task("b", "spare"), Task("c", "size", (Result("a"),))
    functions = {"handle": handle, "spare": spare, "size": lambda found: len(found["rows"])}
    services = tuple(Service(name, function=one) for name, one in functions.items())
    workflow = Workflow("w", tasks, services, (Alternative("other", {"a": "b"}),))
    for do in (run, run, replay):
        report = do(store, "runs/unkept/shard/0", workflow)
        assert report.results == {"c": 1}
        assert report.adaptations[0]["cause"] == (
            "FAILED: its result cannot be kept: ['rows'][1]: a value of the type `_thread.lock` is no data that can be "
            "kept; return data or the path of a file, use `@service(pickle=True)`, or register a codec for the type"
        )
    assert calls == ["handle", "spare"]
    assert solvent.run(chain(threading.Lock, lambda one: one.locked())).results == {"t1": False}


def test_a_record_of_another_workflow_is_refused(store: Store) -> None:
    """An answer of a call that the workflow does not make is no answer."""
    run(store, "runs/other/shard/0", chain(lambda: 1, lambda one: one))
    other = Workflow("other", (Task("x", "s", (Value(1),)),), (Service("s", function=lambda one: one),))
    with pytest.raises(RecordProblem, match="does not fit the workflow `other`") as problem:
        run(store, "runs/other/shard/0", other)
    assert problem.value.code == "R404"


def test_a_replay_of_a_part_ends_where_the_record_does(store: Store) -> None:
    """What has no answer in the record is not called, and the report says so."""
    run(store, "runs/long/shard/0", chain(lambda: 1, lambda one: one, lambda one: one))
    copied(store, "runs/long/shard/0", "runs/short/shard/0", 0.7)
    report = replay(store, "runs/short/shard/0", chain(lambda: 1, lambda one: one, _never))
    assert report.error is not None
    assert report.error.code == "R407"
    assert report.states["t0"] == "done"
    assert report.states["t2"] == "waiting"


def _never(*_: Any) -> Any:
    raise AssertionError("it was called")


@pytest.mark.parametrize("processes", [False, True])
@pytest.mark.parametrize("policy", [{}, {"retries": 1}])
def test_a_service_knows_its_call(store: Store, policy: dict[str, Any], *, processes: bool) -> None:
    """Run, task and key are told to functions in threads and in processes, also under a policy."""
    name = f"known{processes}{len(policy)}"
    workflow = chain(_identity, **policy)
    report = run(store, f"runs/{name}/shard/0", workflow, processes=processes)
    assert report.results == {"t0": [name, "t0", f"{name}/t0", False]}
    assert solvent.run(workflow, processes=processes).results == {"t0": None}


def _identity() -> list[Any] | None:
    found = solvent.call()
    return None if found is None else list(found[:4])


def test_a_further_attempt_repeats_the_call(store: Store) -> None:
    """The key stays, and the service is told that it may have done the work before."""
    seen: list[list[Any] | None] = []

    def fails_once() -> int:
        seen.append(_identity())
        if len(seen) == 1:
            raise ValueError("once")
        return 5

    report = run(store, "runs/retried/shard/0", chain(fails_once, retries=1, backoff=0.0))
    assert report.results == {"t0": 5}
    assert seen == [["retried", "t0", "retried/t0", False], ["retried", "t0", "retried/t0", True]]


def test_an_answer_that_does_not_fit_takes_no_others_with_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room for some results, those that fit are kept, and only the others are called again."""
    calls, all_are_there = list[int](), threading.Barrier(4, timeout=MAX_SECONDS)

    def large(number: int) -> str:
        calls.append(number)
        if len(calls) <= 4:
            all_are_there.wait()
        return str(number) * MIN_BLOB_BYTES

    put, kept = store.put_blob, list[str]()

    def put_some(data: bytes) -> str:
        if kept:
            raise StoreError("E403", "there is no room")
        kept.append(put(data))
        return kept[0]

    workflow = Workflow(
        "w", tuple(Task(f"T{n}", "large", (Value(n),)) for n in range(4)), (Service("large", function=large),)
    )
    with monkeypatch.context() as patch:
        patch.setattr(store, "put_blob", put_some)
        with pytest.raises(StoreError, match="no room"):
            run(store, "runs/full/shard/0", workflow, jobs=4)
    report = run(store, "runs/full/shard/0", workflow)
    assert report.results == {f"T{n}": str(n) * MIN_BLOB_BYTES for n in range(4)}
    assert len(calls) == 4 + 3


def test_only_calls_that_can_run_are_noted_told_and_counted(store: Store) -> None:
    """Of many calls that wait for two threads the record, whoever watches and the report have those that began."""
    begun: list[str] = []
    repeated: list[bool] = []
    told: list[TaskEvent] = []
    is_first = True

    def work(name: str) -> int:
        known = solvent.call()
        assert known is not None
        begun.append(name)
        repeated.append(known.repeated)
        while is_first and not cancelled():
            threading.Event().wait(0.01)
        return 1

    names = [f"t{at}" for at in range(100)]
    flow = Workflow("w", tuple(Task(one, "work", (Value(one),)) for one in names), (Service("work", function=work),))
    log = "runs/few/shard/0"
    report = run(store, log, flow, jobs=2, watch=told.append, should_stop=lambda: len(begun) == 2)
    assert report.error is not None
    noted = [one.task for _, one in read_journal(store, log) if isinstance(one, CallStarted)]
    assert 2 <= len(noted) <= 3
    assert [one.task for one in told if one.kind == "started"] == noted
    assert report.calls == dict.fromkeys(noted, 1)
    is_first = False
    begun.clear()
    repeated.clear()
    for told in ([], []):
        report = run(store, log, flow, jobs=2, watch=told.append)
        assert sorted(one.task for one in told if one.kind == "started") == sorted(names)
        assert report.calls == dict.fromkeys(names, 1)
    assert (len(begun), sum(repeated)) == (100, len(noted))


def test_a_replay_does_not_wait_for_signals(store: Store) -> None:
    """A run was stopped while it waited for a signal: its replay ends where the record does, and says so."""
    flow = Workflow(
        "w",
        (Task("a", "one"), Task("b", "one", after=("a",), control=Control(signal="go"))),
        (Service("one", function=lambda: 1),),
    )
    log, signals = "runs/signals/shard/0", [(1e6, "go", None)]
    done = threading.Event()
    stopped = run(store, log, flow, signals=signals, watch=lambda _: done.set(), should_stop=done.is_set)
    assert stopped.error is not None
    replayed = replay(store, log, flow, signals=signals)
    assert replayed.error is not None
    assert replayed.error.code == "R407"


def test_of_a_delay_only_the_rest_is_waited_for(store: Store) -> None:
    """One that began an hour ago, in another life of the run, is over at once."""
    flow = load_text("tasks: {a: {delay: 1h, in: [7]}}\n", name="w.yaml").workflow
    journal = StoredJournal(store, "runs/late/shard/0", "another")
    journal.open()
    journal.note(CallStarted("a", "a", time.time() - 3600, is_delay=True))
    journal.commit()
    report = run(store, "runs/late/shard/0", flow)
    assert (report.error, report.results) == (None, {"a": 7})


def test_of_a_wait_only_the_rest_is_left(store: Store) -> None:
    """A signal that should have come by now, while nobody had the run, has not come in time; a replay says the same."""
    late = Task("a", "one", control=Control(signal="go", timeout=3600.0))
    flow = Workflow("w", (late,), (Service("one", function=lambda: 1),))
    journal = StoredJournal(store, "runs/waited/shard/0", "another")
    journal.open()
    journal.note(WaitBegan("a", (0, 0), time.time() - 1))
    journal.commit()
    for report in (run(store, "runs/waited/shard/0", flow), replay(store, "runs/waited/shard/0", flow)):
        assert [one.kind for one in report.failures] == ["TIMEOUT"]


def test_who_asks_once_to_stop_stops_the_run(store: Store) -> None:
    """It is remembered why a run was stopped, though `should_stop` says something else when asked again."""
    polls = iter([True])
    flow = Workflow("w", (Task("a", "one"),), (Service("one", function=lambda: 1),))
    report = run(store, "runs/once/shard/0", flow, should_stop=lambda: next(polls, False))
    assert report.error is not None
    assert report.error.code == "H504"
