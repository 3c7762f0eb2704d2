"""Runs of flat tasks: what they give, what they leave, and how their work grows with their number."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from solvent.lang.molecule import Symbol
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.embedded import EmbeddedRun, run_workflow
from solvent.runs.journal import StoredJournal
from solvent.runs.outcome import has_waiting
from solvent.runs.registry import new_record
from solvent.runs.replay import Replay
from solvent.workflows.model import Alternative, Each, Result, Service, Task, Value, Workflow
from tests.growth import executed_lines
from tests.unit.runs.agents.flows import add, broken, run_by_agents, store_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from solvent.engine.reaction import Reaction

SERVICES = (Service("add", function=add), Service("broken", function=broken))


def test_every_task_is_called_once_with_its_arguments() -> None:
    """A random graph gives what plain evaluation gives, and what is behind a failure waits."""
    chance = random.Random(7)
    sources = {at: sorted(chance.sample(range(at), min(at, chance.randrange(4)))) for at in range(80)}
    sources[80] = list(range(60))
    tasks = [Task(f"T{at}", "add", (Value(at), *[Result(f"T{one}") for one in sources[at]])) for at in sources]
    tasks += [Task("bad", "broken"), Task("behind", "add", (Result("bad"), Result("T3")))]
    report = run_workflow(Workflow("w", tuple(tasks), SERVICES), max_seconds=60)
    expected: dict[int, int] = {}
    for at, needed in sources.items():
        expected[at] = at + sum(expected[one] for one in needed)
    used = {one for needed in sources.values() for one in needed} | {3}
    assert report.results == {f"T{at}": value for at, value in expected.items() if at not in used}
    assert report.calls == {**{f"T{at}": 1 for at in sources}, "bad": 1}
    assert (report.states["bad"], report.states["behind"]) == ("failed", "waiting")


def test_a_failed_task_shows_what_it_was_called_with() -> None:
    """Its molecule has the kind and the text of the failure, and the values of its arguments."""
    tasks = (Task("A", "add", (Value(3),)), Task("B", "broken", (Result("A"), Value(4))))
    (failed,) = run_workflow(Workflow("w", tasks, SERVICES)).failures
    assert failed.molecules == '<ERR:B:FAILED:"ValueError: no such column":(3, 4)>'


def test_a_run_that_is_stopped_leaves_every_task_waiting() -> None:
    """What was out is put back, so that the solution tells of every task."""
    each = Task("C", "add", (Value([1]),), each=Each("dot", (0,)))
    tasks = (Task("A", "add"), Task("B", "add", (Result("A"),)), each)
    report = run_workflow(Workflow("w", tasks, SERVICES), should_stop=lambda: True)
    assert report.states == {"A": "waiting", "B": "waiting", "C": "waiting"}


def test_a_solution_tells_whether_a_flat_task_waits() -> None:
    """A shard at which none does has nothing more to do; one behind a failure waits for ever."""
    good = EmbeddedRun(Workflow("w", (Task("A", "add"), Task("B", "add", (Result("A"),))), SERVICES))
    bad = EmbeddedRun(Workflow("w", (Task("A", "broken"), Task("B", "add", (Result("A"),))), SERVICES))
    good.run()
    bad.run()
    assert (has_waiting(good.solution), has_waiting(bad.solution)) == (False, True)


def test_tasks_of_both_forms_pass_results_to_each_other() -> None:
    """A flat task takes the result of a replaceable one, and a replaceable one that of a flat one."""
    tasks = (
        Task("first", "add", (Value(1),)),
        Task("bad", "broken", (Result("first"), Result("flat"))),
        Task("spare", "add", (Result("first"), Result("flat"))),
        Task("last", "add", (Result("bad"),)),
        Task("flat", "add", (Value(10),)),
        Task("other", "add", (Result("first"), Value(100))),
    )
    workflow = Workflow("w", tasks, SERVICES, (Alternative("instead", {"bad": "spare"}),))
    run = EmbeddedRun(workflow)
    heads = {one[0] for one in run.solution if type(one) is tuple}
    report = run.run()
    assert Symbol("WAIT") in heads
    assert "first" in heads
    assert report.results == {"last": 11, "other": 101}
    assert report.states == {
        "first": "done", "bad": "replaced", "spare": "done", "last": "done", "flat": "done", "other": "done",
    }  # fmt: skip


def crowded() -> Workflow:
    """Make a workflow in which many tasks wait for the same one, and for each other."""
    tasks = [Task("first", "add", (Value(1),))]
    tasks += [Task(f"join{at}", "add", (Result("first"), Result(f"side{at}"))) for at in range(12)]
    tasks += [Task(f"side{at}", "add", (Result("first"), Value(at))) for at in range(12)]
    return Workflow("crowded", tuple(tasks), SERVICES[:1])


def test_a_record_is_done_again_without_any_call(tmp_path: Path) -> None:
    """Every answer of the record finds the call that it is of."""
    with store_at(tmp_path) as store:
        journal = StoredJournal(store, "runs/r/shard/0", "me")
        journal.open()
        had = EmbeddedRun(crowded(), None, journal=journal, max_seconds=60).run()
        report = Replay(store, new_record(store, "r", crowded()), crowded()).run()
        assert (had.error, report.error) == (None, None)
        assert report.results == had.results == {f"join{at}": at + 2 for at in range(12)}


def test_shards_are_done_again_from_their_journals(tmp_path: Path) -> None:
    """Whoever takes over a shard finds every task that was called there."""
    with store_at(tmp_path) as store:
        plan, offers = submit(store, "r1", crowded(), {}, max_shards=2), offers_of([crowded()])
        assert run_by_agents(store, "r1", offers).state == "done"
        assert plan.shards > 1
        assert {*Replay(store, plan, crowded()).run().states.values()} == {"done"}


# --- Growth.


def chain(count: int) -> list[tuple[int, ...]]:
    """Make tasks in a row."""
    return [(at - 1,) if at else () for at in range(count)]


def fan(count: int) -> list[tuple[int, ...]]:
    """Make one task, many that take its result, and one that takes theirs."""
    return [(), *[(0,)] * (count - 2), tuple(range(1, count - 1))]


def layers(count: int) -> list[tuple[int, ...]]:
    """Make layers of ten tasks, each of which takes three results of the layer before."""
    before = [at - at % 10 - 10 for at in range(count)]
    return [tuple(one + (at + step) % 10 for step in (0, 3, 7) if one >= 0) for at, one in enumerate(before)]


def graph(sources: list[tuple[int, ...]]) -> Workflow:
    """Make a workflow whose tasks do nothing."""
    tasks = [Task(f"T{at}", "count", tuple(Result(f"T{one}") for one in needed)) for at, needed in enumerate(sources)]
    return Workflow("w", tuple(tasks), (Service("count", function=lambda *given: len(given)),))


@pytest.mark.parametrize("shape", [chain, fan, layers])
def test_the_work_of_a_run_grows_with_its_tasks(shape: Callable[[int], list[tuple[int, ...]]]) -> None:
    """Ten times the tasks make ten times the work of reacting, also where thousands meet at one."""

    def work(count: int) -> int:
        # The reactions only, not the threads that make the calls: those wait for each other, more or less often.
        run = EmbeddedRun(graph(shape(count)))
        lines = 0

        def reacting(solution: object, react: Callable[[object], None] = run.execution.reactor.go_on) -> None:
            nonlocal lines
            lines += executed_lines(lambda: react(solution))

        run.execution.reactor.go_on = reacting  # type: ignore[assignment, method-assign]
        assert run.run().succeeded
        return lines

    work(100)
    few, many = work(300), work(3_000)
    assert many < 12 * few


def test_each_result_is_taken_by_one_reaction() -> None:
    """A task makes a reaction for its call, and for each result it takes one that passes it and one that takes it."""
    found: list[str] = []

    def observe(reaction: Reaction) -> None:
        found.append(str(reaction.rule.name))

    assert run_workflow(graph(layers(30)), observe=observe).succeeded
    edges = sum(map(len, layers(30)))
    assert {rule: found.count(rule) for rule in found} == {
        "ft_call": 30, "ft_pass": edges, "ft_last": 20, "ft_take": edges - 20,
    }  # fmt: skip
