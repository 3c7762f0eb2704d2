"""Random workflows run as molecules, and give what a plain evaluation of them gives, with no call too many."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from hypothesis import Phase, given, note
from hypothesis import strategies as st

from solvent.runs.embedded import run_workflow
from tests.property.amounts import examples
from tests.property.plain_workflows import disagreements
from tests.property.workflows import Scenario, scenarios

if TYPE_CHECKING:
    from solvent.runs.report import TaskEvent

MAX_SECONDS = 200
# No shrinking: what threads do differs from run to run, and hypothesis would search for minutes.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


def complaints(scenario: Scenario, *, jobs: int = 2) -> list[str]:
    """Run a scenario and say what is wrong with the run."""
    calls: list[tuple[str, list[Any]]] = []
    workflow = scenario.workflow(calls)
    replaced: set[str] = set()
    found: list[str] = []

    def watch(event: TaskEvent) -> None:
        if event.kind == "adapted":
            replaced.update(next(one for one in workflow.alternatives if one.name == event.text).replaced)
        elif event.kind == "started" and event.task in replaced:
            found.append(f"{event.task} was called after it had been replaced")

    note(describe(scenario))
    threads = set(threading.enumerate())
    report = run_workflow(workflow, jobs=jobs, max_seconds=MAX_SECONDS, watch=watch)
    # A call that was given up may not have been noted yet.
    for thread in set(threading.enumerate()) - threads:
        thread.join(MAX_SECONDS)
    return [*found, *disagreements(scenario, report, calls)]


def describe(scenario: Scenario) -> str:
    """Write a scenario down, so that a failure can be understood."""
    lines = [f"{task.name}: {task.slots} each {task.each} after {task.after}" for task in scenario.tasks]
    lines += [
        f"{one.name}: {one.exits} also {one.also} on {one.on} watch {one.watched}" for one in scenario.alternatives
    ]
    return "\n".join([*lines, *(f"{name}: {fate}" for name, fate in scenario.fates.items() if fate.kind != "answers")])


@examples(80, phases=PHASES)
@given(scenarios())
def test_failures_are_replaced_as_in_a_plain_evaluation(scenario: Scenario) -> None:
    """With alternatives for tasks that fail, all results and calls are those of the plain evaluation."""
    assert complaints(scenario) == []


@examples(80, phases=PHASES)
@given(scenarios(with_late=True), st.integers(1, 4))
def test_late_faults_reach_back_as_in_a_plain_evaluation(scenario: Scenario, jobs: int) -> None:
    """When results that were used already are replaced, the end is the plain one too, with no wasted call."""
    assert complaints(scenario, jobs=jobs) == []
