"""Running workflows from Python."""

from __future__ import annotations

import pickle
import traceback
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


@service
def refuse(number: int) -> int:
    """Fail."""
    raise LookupError(f"no {number}")


@workflow
def refusing(number: int = 7) -> int:
    """Fail."""
    return double(refuse(number))


@workflow
def around(number: int = 7) -> int:
    """Fail inside."""
    return refusing(number)


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


@pytest.mark.parametrize("flow", [refusing, around])
def test_failed_run_raises_from_the_exception_of_the_user(flow: Any) -> None:
    """A failed run raises, with its report, from the exception of the service, whose traceback is the user's."""
    with pytest.raises(solvent.RunFailed, match=r"failed: .*LookupError: no 7") as caught:
        solvent.run(flow)
    cause = caught.value.__cause__
    assert (type(cause), str(cause)) == (LookupError, "no 7")
    assert [one.name for one in traceback.extract_tb(cause.__traceback__)] == ["refuse"]
    assert pickle.loads(pickle.dumps(caught.value)).report.failures == caught.value.report.failures  # noqa: S301


def test_exception_of_another_process_is_a_note() -> None:
    """Where the service ran in another process, the text of its traceback is a note."""
    with pytest.raises(solvent.RunFailed) as caught:
        solvent.run(refusing, processes=True)
    assert caught.value.__cause__ is None
    (note,) = caught.value.__notes__
    assert 'raise LookupError(f"no {number}")' in note


def test_report_of_a_failed_run_is_returned_to_who_asks() -> None:
    """With `check=False` nothing is raised."""
    report = solvent.run(refusing, check=False)
    assert (report.states, report.succeeded) == ({"refuse": "failed", "double": "waiting"}, False)


def test_stopped_run_raises_from_what_stopped_it() -> None:
    """A run that was stopped raises, too."""
    with pytest.raises(solvent.RunFailed, match="was stopped: interrupted") as caught:
        solvent.run(twice, should_stop=lambda: True)
    assert (type(caught.value.__cause__), caught.value.exit_code) == (solvent.Interrupted, 130)
