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
from solvent.workflows.formats.files import load_text
from solvent.workflows.formats.yaml.writer import write_yaml
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


@workflow
def several(number: int = 1) -> tuple[int, int]:
    """Return two steps."""
    return double(number), double(number)


@workflow
def listed(number: int = 1) -> list[int]:
    """Return a list of one step."""
    return [double(number)]


@workflow
def labelled(number: int = 1) -> dict[str, int]:
    """Return steps by labels."""
    return {"once": (once := double(number)), "again": double(once)}


@workflow
def nothing(number: int = 1) -> None:
    """Return nothing."""
    double(number)


@workflow
def of_labels(number: int = 1) -> int:
    """Take a result by its label."""
    return double(labelled(number)["again"])


@pytest.mark.parametrize(
    "flow, value",
    [
        (twice, 12),
        (several, (6, 6)),
        (listed, [6]),
        (labelled, {"once": 6, "again": 12}),
        (nothing, None),
        (of_labels, 24),
    ],
)
def test_value_is_what_the_function_returns(flow: Any, value: Any) -> None:
    """`report.value`, and a call outside a workflow, have the form of what the function returns."""
    assert (solvent.run(flow, {"number": 3}).value, flow(3), flow(number=3)) == (value, value, value)


def test_value_of_a_dictionary_survives_a_file() -> None:
    """The labels of results are written to a file and read again."""
    again = load_text(write_yaml(labelled.definition()), name="flow.yaml").workflow
    assert solvent.run(again, {"number": 3}).value == {"once": 6, "again": 12}


def test_call_of_a_failing_workflow_raises() -> None:
    """A workflow that is called raises as `run` does, and takes what its function takes."""
    with pytest.raises(solvent.RunFailed):
        refusing(3)
    with pytest.raises(WorkflowProblem, match="cannot be called like this"):
        twice(1, 2)  # type: ignore[call-arg]


def test_dictionary_without_texts_is_refused() -> None:
    """Keys of results are texts."""

    @workflow
    def flow() -> dict[int, int]:
        return {1: double(1)}

    with pytest.raises(WorkflowProblem, match="the key 1, which is no text"):
        flow.definition()


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
