"""Shards with tasks of both forms, some of which are replaced: what they pass to each other arrives."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.closed_shards import report_of
from solvent.runs.embedded import run_workflow
from solvent.runs.replay import Replay
from solvent.workflows.forms import forms_of
from solvent.workflows.model import Alternative, Each, Result, Service, Task, Value, Workflow
from tests.unit.runs.agents.flows import broken, run_by_agents, store_at

if TYPE_CHECKING:
    from pathlib import Path


def total(*values: Any) -> int:
    """Add numbers and lists of numbers."""
    return sum(sum(one) if isinstance(one, list) else one for one in values)


SERVICES = (Service("total", function=total), Service("broken", function=broken))


def mixed(seed: int) -> Workflow:
    """Make a random workflow: some tasks fail and are replaced, others have nothing to do with them."""
    chance = random.Random(seed)
    tasks: list[Task] = []
    spares: list[Task] = []
    for at in range(20):
        sources = [Result(one.name) for one in chance.sample(tasks, min(len(tasks), chance.randrange(4)))]
        dice = chance.random()
        if dice < 0.15:
            tasks.append(Task(f"t{at}", "total", (Value([at, 1]), *sources), each=Each("dot", (0,))))
        elif dice < 0.3 and len(spares) < 3:
            tasks.append(Task(f"t{at}", "broken", (Value(at), *sources)))
            spares.append(Task(f"instead_of_t{at}", "total", (Value(100), *sources)))
        else:
            tasks.append(Task(f"t{at}", "total", (Value(at), *sources)))
    alternatives = (Alternative(one.name, {one.name.removeprefix("instead_of_"): one.name}) for one in spares)
    return Workflow("mixed", (*tasks, *spares), SERVICES, tuple(alternatives))


@pytest.mark.parametrize("seed", range(12))
def test_shards_come_to_the_same_as_one_process(seed: int, tmp_path: Path) -> None:
    """Results and states are those of a run in one process, and are found again from the journals."""
    workflow = mixed(seed)
    expected = run_workflow(workflow, max_seconds=60)
    with store_at(tmp_path) as store:
        offers = offers_of([workflow])
        record = submit(store, "r1", workflow, None, max_shards=5)
        run_by_agents(store, "r1", offers, many=2)
        found = report_of(store, record, workflow)
        again = Replay(store, record, workflow).run()
    assert record.shards > 1
    assert found is not None
    assert (found.results, found.states) == (expected.results, expected.states)
    assert (again.results, again.states) == (expected.results, expected.states)


def test_the_workflows_have_tasks_of_both_forms() -> None:
    """Otherwise the other test would be about nothing."""
    workflows = [mixed(seed) for seed in range(12)]
    assert sum(0 < len(forms_of(one).replaceable) < len(one.tasks) for one in workflows) > 6
