"""Running workflows from Python."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import solvent
from solvent import service, workflow
from solvent.errors import Misuse, WorkflowProblem
from solvent.workflows.model import Task, Workflow


@service
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@workflow
def twice(number: int = 1) -> int:
    """Double a number twice."""
    return double(double(number))


@pytest.mark.parametrize("given", [twice, twice.definition()])
def test_decorated_functions_and_models_run(given: Any) -> None:
    """What `@workflow` makes runs, and so does the model that it defines."""
    assert [solvent.run(given, inputs).results for inputs in (None, {"number": 5})] == [
        {"double_2": 4},
        {"double_2": 20},
    ]


def test_executor_is_used_and_left_open() -> None:
    """An executor may serve several runs."""
    with ThreadPoolExecutor(1) as executor:
        found = [solvent.run(twice, {"number": n}, executor=executor).results for n in (1, 2)]
    assert found == [{"double_2": 4}, {"double_2": 8}]


def test_events_are_watched() -> None:
    """Whoever watches is told of every task."""
    seen: list[tuple[str, str]] = []
    solvent.run(twice, watch=lambda event: seen.append((event.kind, event.task)))
    assert seen == [("started", "double"), ("done", "double"), ("started", "double_2"), ("done", "double_2")]


def test_wrong_workflow_is_refused() -> None:
    """A workflow that is wrong is refused before anything is called."""
    with pytest.raises(WorkflowProblem, match="calls `s`, which is not a service"):
        solvent.run(Workflow("w", (Task("A", "s"),)))


@pytest.mark.parametrize("wrong", [3, double, twice.function])
def test_other_things_are_refused(wrong: Any) -> None:
    """What is no workflow is refused with what to give instead."""
    with pytest.raises(Misuse, match=r"`solvent\.run` runs workflows"):
        solvent.run(wrong)
