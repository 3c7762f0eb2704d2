"""HOCL programs and workflows as services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import WorkflowProblem
from solvent.runs.embedded import run_workflow
from solvent.workflows.model import Input, Policy, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from pathlib import Path

INNER = Workflow(
    "inner",
    (Task("S", "add", (Input("a"), Input("b"))), Task("N", "negative", (Input("a"),))),
    (Service("add", target="operator:add"), Service("negative", target="operator:neg")),
    inputs={"a": 1, "b": 10},
    results=("S",),
)


def outcome(service: Service, *arguments: Any, folder: Path | None = None, **keywords: Any) -> Any:
    """Call a service as the only task of a workflow; give its result, or why it failed."""
    values = {name: Value(value) for name, value in keywords.items()}
    task = Task("T", service.name, tuple(map(Value, arguments)), values)
    report = run_workflow(Workflow("outer", (task,), (service,)), folder=folder)
    return report.results["T"] if report.succeeded else report.failures[0].cause


def program(folder: Path, text: str, **options: Any) -> Service:
    """Give the service of a program."""
    (folder / "program.hocl").write_text(text)
    return Service("program", "hocl", "program.hocl", options=options)


def test_items_of_a_list_are_molecules_of_the_program(tmp_path: Path) -> None:
    """A list is poured into the solution, and one molecule that is left is the result."""
    service = program(tmp_path, "let max = replace x::int, y::int by x if x >= y in <max, 1>")
    assert outcome(service, [3, 9, 4], 7, folder=tmp_path) == 9


def test_several_molecules_are_a_list(tmp_path: Path) -> None:
    """What is left of a program besides its rules is a list, in the order in which solutions are printed."""
    assert outcome(program(tmp_path, "<3, replace-one 4 by 5>"), [2, "a"], folder=tmp_path) == [2, 3, "a"]


def test_keywords_are_tuples_and_a_symbol_names_the_result(tmp_path: Path) -> None:
    """A keyword is a tuple with its name as a symbol; the option `result` chooses one by its symbol."""
    service = program(tmp_path, "<replace N : x by SUM : x + 1, OTHER : 2>", result="SUM")
    assert outcome(service, n=4, folder=tmp_path) == 5


def test_program_without_its_result_fails(tmp_path: Path) -> None:
    """A program that ends without the molecule asked for fails its task."""
    cause = outcome(program(tmp_path, "<1>", result="SUM"), folder=tmp_path)
    assert "[W202] the program came to its end without a molecule `SUM : ...`" in cause


def test_program_that_fails_fails_its_task(tmp_path: Path) -> None:
    """A product that cannot be computed is the cause of the failure."""
    assert "[H401] division by zero" in outcome(program(tmp_path, "<1, replace-one x by x / 0>"), folder=tmp_path)


def test_program_that_never_ends_is_stopped_by_its_timeout(tmp_path: Path) -> None:
    """A program that never ends is given up like any other service."""
    (tmp_path / "program.hocl").write_text("<1, replace x::int by x + 1>")
    service = Service("program", "hocl", "program.hocl", policy=Policy(timeout=0.2))
    assert outcome(service, folder=tmp_path) == "no result after 0.2 s"


@pytest.mark.parametrize(
    "arguments,keywords,total", [((), {}, 11), ((5,), {}, 15), ((5, 6), {}, 11), ((), {"b": 2}, 3)]
)
def test_arguments_are_inputs(arguments: tuple[int, ...], keywords: dict[str, int], total: int) -> None:
    """The arguments of a workflow are its inputs, by position and by name."""
    assert outcome(Service("inner", "workflow", function=INNER), *arguments, **keywords) == total


def test_several_results_are_a_list() -> None:
    """A workflow of several results gives a list of them."""
    inner = Workflow(INNER.name, INNER.tasks, INNER.services, inputs=INNER.inputs, results=("S", "N"))
    assert outcome(Service("inner", "workflow", function=inner)) == [11, -1]


def test_failed_task_inside_is_the_cause() -> None:
    """A workflow that fails names the task that did."""
    cause = outcome(Service("inner", "workflow", function=INNER), "text")
    assert cause.startswith("[W201] its task `S` failed: TypeError: ")


def test_output_of_a_failure_inside_is_that_of_the_service() -> None:
    """What is shown as the output is that of the service that failed, and nothing of ours."""
    inner = Workflow("inner", (Task("S", "loud"),), (Service("loud", "shell", "echo oh no >&2; exit 3"),))
    service = Service("inner", "workflow", function=inner)
    (failure,) = run_workflow(Workflow("outer", (Task("T", "inner"),), (service,))).failures
    assert (failure.cause, failure.output) == ("[W201] its task `S` failed: exit code 3: oh no", "oh no")


def test_too_many_arguments_fail() -> None:
    """A workflow takes no more arguments than it has inputs."""
    assert "`inner` has 2 inputs, not 3" in outcome(Service("inner", "workflow", function=INNER), 1, 2, 3)


def test_workflows_that_call_each_other_are_refused(tmp_path: Path) -> None:
    """Two files that are services of each other would never end."""
    for one, other in (("a", "b"), ("b", "a")):
        text = f"services: {{s: {{workflow: {other}.yaml}}}}\ntasks: {{T: {{service: s}}}}\n"
        (tmp_path / f"{one}.yaml").write_text(text)
    with pytest.raises(WorkflowProblem, match="calls itself"):
        outcome(Service("s", "workflow", "a.yaml"), folder=tmp_path)


def test_wrong_option_is_refused(tmp_path: Path) -> None:
    """An option that programs do not have is refused before anything runs."""
    with pytest.raises(WorkflowProblem, match="there is no option `results`"):
        outcome(program(tmp_path, "<1>", results="SUM"), folder=tmp_path)
