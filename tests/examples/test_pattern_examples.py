"""Each example under `examples/patterns` runs to the end that its header says, in an order that its header allows."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from solvent.runs.causality import violations
from solvent.runs.exploration import Counts, Orders
from tests.cli.command import solvent
from tests.patterns.catalogue import FOLDER, Example, examples, statements_of, workflow_in

if TYPE_CHECKING:
    from solvent.workflows.model import Workflow

MAX_LINES = 60


def _orders_of(report: dict[str, Any], workflow: Workflow) -> Orders:
    """Make the one order that a run has taken out of its trace; instances of a task and its calls are one run."""
    several = {task.name for task in workflow.tasks if task.each or (task.control and task.control.many)}
    started, done, over = Counter[str](), Counter[str](), Counter[str]()
    orders = Orders()

    def add() -> None:
        counts = [{one.name: number[one.name] for one in workflow.tasks} for number in (started, done, over)]
        running = {name: counts[0][name] - counts[2][name] for name in counts[0]}
        orders.states.append(Counts(counts[0], running, counts[1]))
        if len(orders.states) > 1:
            orders.edges.add((len(orders.states) - 2, len(orders.states) - 1))
        orders.came_from.append(len(orders.states) - 2 if len(orders.states) > 1 else None)

    add()
    for event in report["trace"]:
        name, kind = event["task"], event["event"]
        is_first = name not in several or not started[name]
        if kind == "started" and is_first:
            started[name] += 1
        elif kind in ("done", "cancelled", "failed") and (name not in several or not over[name]):
            over[name] += 1
            done[name] += kind == "done"
        add()
    last = orders.states[-1]
    last.is_final, last.stuck = True, report["stuck"]
    last.is_ended, last.is_cancelled = bool(report["ended_by"]), report["cancelled"]
    return orders


@pytest.mark.parametrize("example", examples(), ids=lambda one: one.name)
def test_run_is_one_of_the_orders_that_are_right(example: Example) -> None:
    """A run ends by itself, with the code that its header says, and its statements hold of what happened."""
    done = solvent("run", example.file, "--format", "json")
    assert done.code == example.code, done.err
    report = done.json
    assert {task: report["calls"][task] for task in example.calls} == example.calls
    if "trace" in report:
        workflow = workflow_in(example.file)
        # What is completed may go on before any of its instances is done.
        completed = [f"{name} before" for one in workflow.tasks if one.control for name in one.control.completes]
        said = [one for one in statements_of(example, example.cases[0]) if not one.startswith(tuple(completed))]
        assert violations(_orders_of(report, workflow), said) == []
    else:
        # A workflow without control flow calls every task, in the order that its data asks for.
        assert all(state == "done" for state in report["states"].values())


@pytest.mark.parametrize("example", examples(), ids=lambda one: one.name)
def test_example_is_short(example: Example) -> None:
    """An example is one idea: a screen long, with at most seven tasks, whose names are words."""
    assert len(example.file.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    names = [task.name for task in workflow_in(example.file).tasks]
    assert len(names) <= 7
    assert [name for name in names if not re.fullmatch(r"[A-Z][a-z]+", name)] == []


def test_other_inputs_run_too() -> None:
    """The cases of a header with inputs of their own end as they should."""
    for example in examples():
        for case in example.cases[1:]:
            given = [f"--input={name}={value}" for name, value in case.inputs.items()]
            report = solvent("run", example.file, "--format", "json", *given)
            assert report.code == example.code, report.err
            assert violations(_orders_of(report.json, workflow_in(example.file)), case.holds) == []


def test_services_are_all_used() -> None:
    """Every function of the examples is a service of one of them."""
    text = "".join(file.read_text(encoding="utf-8") for file in FOLDER.iterdir() if file.suffix in (".yaml", ".hocl"))
    functions = re.findall(r"^def (\w+)", (FOLDER / "services.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in functions if f'"services:{name}"' not in text] == []
