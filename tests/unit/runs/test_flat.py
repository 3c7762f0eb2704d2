"""Runs of flat tasks: what they give, what they leave, and how their work grows with their number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.runs.embedded import EmbeddedRun, run_workflow
from solvent.runs.journal import StoredJournal
from solvent.runs.registry import new_record
from solvent.runs.replay import Replay
from solvent.workflows.model import Each, Result, Service, Task, Value, Workflow
from tests.growth import executed_lines
from tests.unit.runs.agents.flows import add, broken, store_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


SERVICES = (Service("add", function=add), Service("broken", function=broken))


def test_a_run_that_is_stopped_leaves_every_task_waiting() -> None:
    """What was out is put back, so that the solution tells of every task."""
    each = Task("C", "add", (Value([1]),), each=Each("dot", (0,)))
    tasks = (Task("A", "add"), Task("B", "add", (Result("A"),)), each)
    report = run_workflow(Workflow("w", tasks, SERVICES), should_stop=lambda: True)
    assert report.states == {"A": "waiting", "B": "waiting", "C": "waiting"}


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
