"""Tasks that come into the solution late and leave it early change nothing about a run."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from solvent.runs import execution, lean
from solvent.runs.agents.case import Case
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.embedded import EmbeddedRun, run_workflow
from solvent.runs.journal import Journal
from solvent.workflows.model import Result, Service, Task, Value, Workflow
from tests.unit.runs.agents.flows import add, run_by_agents, store_at

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("max_awake", [1, 2, 1_000])
def test_every_task_is_called_once_however_few_are_awake(max_awake: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one task let in at a time a random graph gives what plain evaluation gives, and failures wait behind."""
    monkeypatch.setattr(lean, "MAX_AWAKE", max_awake)
    monkeypatch.setattr(execution, "MAX_AWAKE", max_awake)
    chance = random.Random(7)
    sources = {at: sorted(chance.sample(range(at), min(at, chance.randrange(4)))) for at in range(80)}
    tasks = [Task(f"T{at}", "add", (Value(at), *[Result(f"T{one}") for one in sources[at]])) for at in sources]
    tasks += [Task("bad", "fail"), Task("behind", "add", (Result("bad"), Result("T3")))]

    def fail() -> int:
        raise ValueError("on purpose")

    services = (Service("add", function=lambda *numbers: sum(numbers)), Service("fail", function=fail))
    report = run_workflow(Workflow("w", tuple(tasks), services), max_seconds=60)
    expected: dict[int, int] = {}
    for at, needed in sources.items():
        expected[at] = at + sum(expected[one] for one in needed)
    used = {one for needed in sources.values() for one in needed} | {3}
    assert report.results == {f"T{at}": value for at, value in expected.items() if at not in used}
    assert report.calls == {**{f"T{at}": 1 for at in sources}, "bad": 1}
    assert (report.states["bad"], report.states["behind"]) == ("failed", "waiting")


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> Workflow:
    """Give a workflow whose first tasks that are let in wait for others, which are let in when nothing is out."""
    monkeypatch.setattr(lean, "MAX_AWAKE", 2)
    monkeypatch.setattr(execution, "MAX_AWAKE", 2)
    tasks = [Task("first", "add", (Value(1),))]
    tasks += [Task(f"join{at}", "add", (Result("first"), Result(f"side{at}"))) for at in range(12)]
    tasks += [Task(f"side{at}", "add", (Result("first"), Value(at))) for at in range(12)]
    return Workflow("crowded", tuple(tasks), (Service("add", function=add),))


def test_what_was_let_in_while_nothing_was_out_is_there_when_a_record_is_done_again(
    crowded: Workflow, tmp_path: Path
) -> None:
    """A run that has more tasks waiting than are let in is done again from its record, without any call."""
    with store_at(tmp_path) as store:
        for is_read_only in (False, True):
            journal = Journal(store, "runs/r/journal", "me", is_read_only=is_read_only)
            journal.open()
            report = EmbeddedRun(crowded, None, journal=journal, max_seconds=60).run()
            assert report.error is None
            assert report.results == {f"join{at}": at + 2 for at in range(12)}


def test_places_let_in_the_same_tasks_when_their_journals_are_done_again(crowded: Workflow, tmp_path: Path) -> None:
    """Whoever takes over a place with more tasks waiting than are let in finds every task that was called there."""
    with store_at(tmp_path) as store:
        plan, offers = submit(store, "r1", crowded, {}, max_shards=2), offers_of([crowded])
        assert run_by_agents(store, "r1", offers).state == "done"
        case = Case(store, "looks", plan, offers, jobs=None)
        parts = [case.closed(case.again(number), store) for number in range(case.record.shards)]
        assert {state for part in parts for state in part.states.values()} == {"done"}
