"""A run is continued with another workflow, or from some task on: what is unchanged keeps its answer, the rest runs."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.errors import RecordProblem
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.closed_shards import report_of
from solvent.runs.embedded import EmbeddedRun
from solvent.runs.events import CallAnswered, CallFailed, CallStarted
from solvent.runs.projection import JournalReader
from solvent.runs.recorded_run import new_run, resume
from solvent.runs.registry import KeptOptions, existing, key_of
from solvent.runs.replay import Replay
from solvent.runs.versions import apply, plan_update, tasks_from
from solvent.store import open_store
from solvent.values import codec
from solvent.values.encoding import encode_msgpack
from solvent.workflows.model import Each, Result, Service, Task, Value, Workflow
from tests.patterns.catalogue import FOLDER, Example, workflow_in
from tests.patterns.catalogue import examples as patterns
from tests.property.amounts import examples
from tests.property.plain_workflows import disagreements
from tests.property.test_workflows import describe
from tests.property.workflows import Scenario, scenarios
from tests.unit.runs.agents.flows import AgentsHere, end_of, run_by_agents
from tests.unit.runs.agents.test_both_forms import mixed
from tests.unit.runs.test_recorded import Calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.registry import RunRecord
    from solvent.runs.report import Report
    from solvent.runs.versions import Update
    from solvent.store import Store

MAX_SECONDS = 200
_COUNT = iter(range(10**9))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give a store in a file."""
    with open_store(str(tmp_path / "store.db"), is_durable=False) as opened:
        yield opened


def run(store: Store, workflow: Workflow, name: str = "r1", *, jobs: int | None = 2) -> Report:
    """Run a workflow in this process, recorded, to its end."""
    held = new_run(store, workflow)
    held.name(name)
    made = EmbeddedRun(workflow, journal=held.journal, jobs=jobs, max_seconds=MAX_SECONDS)
    held.open()
    report = made.run()
    held.end(report)
    return report


def go_on(store: Store, workflow: Workflow, name: str = "r1") -> Report:
    """Continue a run in this process, as its record has it, to its end."""
    held = resume(store, existing(store, name))
    made = EmbeddedRun(workflow, journal=held.journal, jobs=2, max_seconds=MAX_SECONDS)
    held.open()
    report = made.run()
    held.end(report)
    return report


def updated(store: Store, workflow: Workflow, *reopened: str, name: str = "r1") -> Update:
    """Plan a version, and make it the one that counts."""
    update = plan_update(store, existing(store, name), workflow, reopened=reopened)
    apply(store, update)
    return update


@contextmanager
def cut(store: Store, folder: Path, record: RunRecord, share: float) -> Iterator[Store]:
    """Give another store that has the beginning of all that was written, as if everybody had been killed then."""
    found = store.read("", 0, 10**6)
    with open_store(str(folder / f"cut{next(_COUNT)}.db"), is_durable=False) as other:
        for one in found[: round(share * len(found))]:
            assert other.append(one.log, one.data) == one.position
        if record.document:
            other.put_blob(store.get_blob(record.document))
        other.put(key_of(record.run), encode_msgpack(replace(record, state="running", ended=0.0)))
        yield other


def calls_with_answers(store: Store, record: RunRecord) -> set[str]:
    """Give the calls that were made and have answers."""
    begun, ended = set[str](), set[str]()
    for _, event in JournalReader(store, record.prefix).news():
        if isinstance(event, CallStarted):
            begun.add(event.call)
        elif isinstance(event, CallAnswered) or (isinstance(event, CallFailed) and event.is_last):
            ended.add(event.call)
    return begun & ended


@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scenarios(with_late=True), st.floats(0, 1), st.integers(1, 2))
def test_an_unchanged_workflow_keeps_every_answer_wherever_it_is_cut(
    tmp_path: Path, scenario: Scenario, share: float, times: int
) -> None:
    """It is where it was, and goes on to what a plain evaluation comes to, with no call too many."""
    note(describe(scenario))
    before, after = Calls(), Calls()
    with open_store(str(tmp_path / f"whole{next(_COUNT)}.db"), is_durable=False) as whole:
        run(whole, scenario.workflow(before))
        with cut(whole, tmp_path, existing(whole, "r1"), share) as store:
            answered = calls_with_answers(store, existing(store, "r1"))
            for _ in range(times):
                update = updated(store, scenario.workflow(after))
                assert (update.is_changed, update.kept, update.new, update.gone) == (False, len(answered), 0, 0)
            report = go_on(store, scenario.workflow(after))
    assert answered.isdisjoint(after.keys.values())
    assert disagreements(scenario, report, [one for one in before if before.keys[id(one)] in answered] + after) == []


@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scenarios(with_late=True), st.floats(0, 1), st.integers(1, 2))
def test_answers_that_a_version_has_no_use_for_are_kept_for_those_after_it(
    tmp_path: Path, scenario: Scenario, share: float, times: int
) -> None:
    """Whoever goes back to the workflow that it was makes no call again that had succeeded."""
    note(describe(scenario))
    before, after = Calls(), Calls()
    with open_store(str(tmp_path / f"whole{next(_COUNT)}.db"), is_durable=False) as whole:
        run(whole, scenario.workflow(before))
        with cut(whole, tmp_path, existing(whole, "r1"), share) as store:
            record = existing(store, "r1")
            noted = [event for _, event in JournalReader(store, record.prefix).news()]
            begun = {one.call for one in noted if isinstance(one, CallStarted)}
            answered = {one.call for one in noted if isinstance(one, CallAnswered)} & begun
            whole_workflow = scenario.workflow(after)
            for _ in range(times):
                assert updated(store, replace(whole_workflow, **OTHER)).kept == 0
            kept = updated(store, whole_workflow).kept
            if all(fate.kind == "answers" for fate in scenario.fates.values()):
                # What rests on a call that has failed is not planned before this has failed again.
                assert kept == len(answered)
            go_on(store, whole_workflow)
    assert answered.isdisjoint(after.keys.values())


OTHER: dict[str, Any] = {
    "tasks": (Task("quite-another", "nothing"),),
    "services": (Service("nothing", function=list),),
    "alternatives": (),
    "patterns": {},
}


def test_an_answer_of_an_earlier_version_is_used_once(tmp_path: Path) -> None:
    """Of two calls that are equal to one of before, one is made, wherever the run is cut in between."""
    calls = Calls()

    def double(number: int) -> int:
        calls.append(("double", [number]))
        return 2 * number

    def doubled(numbers: list[int], *first: Task) -> Workflow:
        many = Task("many", "double", (Value(numbers),), each=Each("dot", (0,)), after=tuple(one.name for one in first))
        return Workflow(
            "doubled", (*first, many), (Service("double", function=double), Service("first", function=list))
        )

    before, after = doubled([5]), doubled([5, 5], Task("first", "first"))
    with open_store(str(tmp_path / "whole.db"), is_durable=False) as whole:
        run(whole, before)
        updated(whole, after)
        record = existing(whole, "r1")
        calls.clear()
        assert go_on(whole, after).results == {"many": [10, 10]}
        assert len(calls) == 1
        written = len(whole.read("", 0, 10**6))
        for share in (number / written for number in range(written + 1)):
            with cut(whole, tmp_path, record, share) as store:
                store.put_blob(whole.get_blob(record.pool))
                for key, entry in whole.keys(key_of(record.prefix, "lease/")).items():
                    store.put(key, entry.value)
                noted = [event for _, event in JournalReader(store, record.prefix).news()]
                answers = {one.call: one.kept for one in noted if isinstance(one, CallAnswered)}
                is_made = 0 in (kept for call, kept in answers.items() if call != "first")
                calls.clear()
                assert plan_update(store, record, after).kept == bool(answers) * 2 + is_made
                assert go_on(store, after).results == {"many": [10, 10]}
                assert len(calls) == (not is_made)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_by_agents_too_an_unchanged_workflow_keeps_every_answer(tmp_path: Path, seed: int, share: float) -> None:
    """With several shards, whose messages are heard as they were."""
    workflow = mixed(seed)
    offers = offers_of([workflow])
    with open_store(str(tmp_path / "whole.db"), is_durable=False) as whole:
        submit(whole, "r1", workflow, None, max_shards=5)
        run_by_agents(whole, "r1", offers, many=2)
        whole_record = existing(whole, "r1")
        expected = report_of(whole, whole_record, workflow)
        with cut(whole, tmp_path, whole_record, share) as store:
            record = existing(store, "r1")
            update = updated(store, workflow)
            assert (update.is_changed, update.kept, update.new, update.gone) == (
                False,
                len(calls_with_answers(store, record)),
                0,
                0,
            )
            again = Replay(store, existing(store, "r1"), workflow).run()
            was = Replay(store, record, workflow).run()
            assert (again.results, again.states) == (was.results, was.states)
            run_by_agents(store, "r1", offers, many=2)
            found = report_of(store, existing(store, "r1"), workflow)
    assert expected is not None
    assert found is not None
    assert (found.results, found.states) == (expected.results, expected.states)


@pytest.mark.parametrize("example", patterns(), ids=lambda one: one.name)
def test_every_pattern_keeps_its_answers_wherever_it_is_cut(tmp_path: Path, example: Example) -> None:
    """Also those that were cancelled, and signals."""
    workflow, one = workflow_in(example.file), example.cases[0]
    signals = {task.control.signal for task in workflow.tasks if task.control is not None and task.control.signal}
    coming = [(0.01 * at, name, at) for at, name in enumerate(sorted(signals))]
    options = KeptOptions(signals=codec.encode([list(one) for one in coming]))
    with open_store(str(tmp_path / "whole.db"), is_durable=False) as whole:
        held = new_run(whole, workflow, one.inputs, options=options)
        held.name("r1")
        made = EmbeddedRun(
            workflow, one.inputs, journal=held.journal, folder=FOLDER, signals=coming, max_seconds=MAX_SECONDS
        )
        held.open()
        held.end(made.run())
        for share in (0.3, 0.6, 0.8, 1.0):
            with cut(whole, tmp_path, held.record, share) as store:
                record = existing(store, "r1")
                update = plan_update(store, record, workflow, folder=FOLDER)
                assert (update.is_changed, update.kept) == (False, len(calls_with_answers(store, record)))
                apply(store, update)
                was = Replay(store, record, workflow, folder=FOLDER).run()
                found = Replay(store, existing(store, "r1"), workflow, folder=FOLDER).run()
                assert (found.results, found.states, found.stuck) == (was.results, was.states, was.stuck)


SERVICES = ("fetch", "clean", "check", "send")


def pipeline(calls: Calls, *, broken: str = "", changed: str = "", more: str = "", less: str = "") -> Workflow:
    """Make a chain of tasks, of which one may fail, one may have other code, one be new, and one be gone."""

    def service(name: str) -> Service:
        def work(*values: Any) -> Any:
            calls.append((name, [*values]))
            return f"{name}({', '.join(map(str, values))})"

        def fail(*values: Any) -> Any:
            calls.append((name, [*values]))
            raise ValueError("no such column")

        def differently(*values: Any) -> Any:
            calls.append((name, [*values]))
            return f"{name}!({', '.join(map(str, values))})"

        return Service(name, function=differently if name == changed else fail if name == broken else work)

    names = [name for name in (*SERVICES, more) if name and name != less]
    tasks = [Task(name, name, (Result(names[at - 1]),) if at else (Value(1),)) for at, name in enumerate(names)]
    beside = Task("beside", "fetch", (Value(2),))
    return Workflow("pipeline", (*tasks, beside), tuple(service(one) for one in (*SERVICES, "more")))


def counts(update: Update) -> tuple[int, ...]:
    """Give what becomes of the calls."""
    return update.kept, update.again, update.new, update.gone, update.waiting


def test_a_failed_call_is_made_again_by_the_name_that_it_had(store: Store) -> None:
    """What was answered is not; its service is told that it may have been called before."""
    calls = Calls()
    assert not run(store, pipeline(calls, broken="check")).succeeded
    update = updated(store, pipeline(calls), "check")
    assert counts(update) == (3, 1, 0, 0, 0)
    calls.clear()
    assert go_on(store, pipeline(calls)).results["send"] == "send(check(clean(fetch(1))))"
    assert [one for one, _ in calls] == ["check", "send"]
    assert list(calls.keys.values())[-2:] == ["check", "send@2"]
    assert existing(store, "r1").state == "done"


@pytest.mark.parametrize(
    "more,expected,made",
    [
        ({"changed": "clean"}, (2, 1, 0, 0, 2), ["clean", "check", "send"]),
        ({"more": "more"}, (5, 0, 1, 0, 0), ["more"]),
        ({"less": "send"}, (4, 0, 0, 1, 0), []),
        ({"less": "check"}, (3, 1, 0, 1, 0), ["send"]),
    ],
)
def test_only_what_has_changed_and_what_rests_on_it_runs(
    store: Store, more: dict[str, str], expected: tuple[int, ...], made: list[str]
) -> None:
    """A task that is new, gone or has other code is found, before and behind what was done."""
    calls = Calls()
    run(store, pipeline(calls))
    update = updated(store, pipeline(calls, **more))
    assert counts(update) == expected
    calls.clear()
    report = go_on(store, pipeline(calls, **more))
    assert (report.succeeded, [one for one, _ in calls]) == (True, made)


def test_a_task_is_run_again_with_all_after_it(store: Store) -> None:
    """A finished step that is rejected has another name for its service, or that would give the old answer."""
    calls = Calls()
    run(store, pipeline(calls))
    flow = pipeline(calls)
    assert counts(updated(store, flow, *tasks_from(flow, "check"))) == (3, 2, 0, 0, 0)
    calls.clear()
    assert go_on(store, flow).succeeded
    assert list(calls.keys.values())[-2:] == ["check@2", "send@2"]
    with pytest.raises(RecordProblem, match="no task `chekc`") as caught:
        tasks_from(flow, "chekc")
    assert (caught.value.code, "check" in caught.value.hint) == ("R410", True)


def items(calls: Calls, values: list[Any]) -> Workflow:
    """Make a workflow that calls a service for each of these values, and puts the results together."""

    def square(value: int) -> int:
        calls.append(("square", [value]))
        if value == 13:
            raise ValueError("no luck")
        return value * value

    services = Service("square", function=square), Service("put", function=lambda found: found)
    tasks = Task("each", "square", (Value(values),), each=Each("dot", (0,))), Task("all", "put", (Result("each"),))
    return Workflow("items", tasks, services)


@pytest.mark.parametrize(
    "before,after,expected,made",
    [
        ([1, 2, 3], [9, 1, 2, 3], (3, 0, 1, 0, 1), [9]),
        ([1, 2, 3], [3, 2, 1], (3, 1, 0, 0, 0), []),
        ([1, 1, 2], [5, 1, 1, 1], (2, 1, 1, 0, 1), [5, 1]),
        ([1, 2, 3], [1, 3], (2, 1, 0, 1, 0), []),
        ([1, 13, 3], [1, 4, 3], (2, 1, 0, 0, 0), [4]),
    ],
)
def test_items_match_by_their_arguments(
    store: Store, before: list[int], after: list[int], expected: tuple[int, ...], made: list[int]
) -> None:
    """A new item at the front repeats nothing; what puts the results together is called with the new list."""
    calls = Calls()
    run(store, items(calls, before))
    update = updated(store, items(calls, after))
    assert counts(update) == expected
    calls.clear()
    report = go_on(store, items(calls, after))
    assert sorted(one[1][0] for one in calls) == sorted(made)
    assert report.results == {"all": [one * one for one in after]}


def test_a_version_that_another_one_has_come_before_changes_nothing(store: Store) -> None:
    """Of two that were planned one counts."""
    calls = Calls()
    run(store, pipeline(calls))
    first, second = (plan_update(store, existing(store, "r1"), pipeline(calls, changed=one)) for one in SERVICES[1:3])
    record = apply(store, first)
    with pytest.raises(RecordProblem, match="another version of `r1` came first") as caught:
        apply(store, second)
    assert caught.value.code == "R412"
    assert existing(store, "r1") == record


def test_whoever_dies_before_the_record_is_switched_has_changed_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journals of a version that does not count are nobody's, and the next one is written elsewhere."""
    calls = Calls()
    run(store, pipeline(calls, broken="check"))
    before = existing(store, "r1")
    with monkeypatch.context() as patch:
        patch.setattr("solvent.runs.versions._switch", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            updated(store, pipeline(calls), "check")
    assert existing(store, "r1") == before
    updated(store, pipeline(calls), "check")
    assert go_on(store, pipeline(calls)).succeeded


def test_agents_go_on_with_a_version_though_they_have_seen_the_run_end(store: Store, tmp_path: Path) -> None:
    """They hear of it as of a run that was submitted."""
    services = Service("fragile", function=fragile), Service("add", function=sum_of)
    tasks = (
        Task("a", "fragile", (Value(str(tmp_path)),)),
        Task("b", "add", (Value(2),)),
        Task("c", "add", (Result("a"), Result("b"))),
    )
    flow = Workflow("w", tasks, services)
    submit(store, "r1", flow, None, max_shards=3)
    with AgentsHere(store, offers_of([flow]), many=2):
        assert end_of(store, "r1").state == "failed"
        updated(store, flow, "a")
        assert end_of(store, "r1").state == "done"
    found = report_of(store, existing(store, "r1"), flow)
    assert found is not None
    assert found.results == {"c": 3}


def fragile(folder: str) -> int:
    """Fail the first time."""
    mark = Path(folder) / "mark"
    if not mark.exists():
        mark.touch()
        raise ValueError("not this time")
    return 1


def sum_of(*numbers: int) -> int:
    """Add numbers."""
    return sum(numbers)


def nested(calls: Calls, *, broken: str = "", changed: str = "") -> Workflow:
    """Make a workflow with the pipeline inside one of its tasks."""
    inner = pipeline(calls, broken=broken, changed=changed)
    services = Service("inner", "workflow", function=inner), Service("put", function=lambda found: found[0])
    return Workflow("outer", (Task("in", "inner"), Task("end", "put", (Result("in"),))), services)


def test_a_sub_workflow_that_has_changed_keeps_what_is_unchanged_inside(store: Store) -> None:
    """Its failed call is made again, or the one that has other code, and what rests on it."""
    calls = Calls()
    assert not run(store, nested(calls, broken="check")).succeeded
    calls.clear()
    update = plan_update(store, existing(store, "r1"), nested(calls), retried={"in", "in/check"})
    apply(store, update)
    assert update.kept == 3
    assert go_on(store, nested(calls)).results == {"end": "send(check(clean(fetch(1))))"}
    assert [one for one, _ in calls] == ["check", "send"]
    calls.clear()
    update = updated(store, nested(calls, changed="send"))
    assert go_on(store, nested(calls, changed="send")).results == {"end": "send!(check(clean(fetch(1))))"}
    assert [one for one, _ in calls] == ["send"]


def test_what_rests_on_a_changed_call_keeps_its_answer_if_it_comes_to_the_same(store: Store) -> None:
    """It waits for its call, whose arguments may be what they were."""
    calls = Calls()
    run(store, pipeline(calls))
    slower = Service("fetch", function=lambda value: f"fetch({value})")
    flow = pipeline(calls)
    flow = replace(flow, services=(slower, *(one for one in flow.services if one.name != "fetch")))
    updated(store, flow)
    calls.clear()
    report = go_on(store, flow)
    assert (report.results["send"], [*calls]) == ("send(check(clean(fetch(1))))", [])
    assert existing(store, "r1").state == "done"
