"""Each example under `examples/patterns` runs to the end that its header says, in an order that its header allows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from solvent.runs.causality import violations
from tests.cli.command import solvent
from tests.patterns.catalogue import FOLDER, Example, examples, statements_of, workflow_in
from tests.patterns.run_orders import order_of, statements_about_runs

if TYPE_CHECKING:
    from solvent.runs.exploration import Orders
    from solvent.workflows.model import Workflow

MAX_LINES = 60


def _order_of(report: dict[str, Any], workflow: Workflow) -> Orders:
    """Return the order that a run has taken, out of its trace."""
    happened = [(event["task"], event["event"]) for event in report["trace"]]
    is_ended, is_cancelled = bool(report["ended_by"]), report["cancelled"]
    return order_of(workflow, happened, stuck=report["stuck"], is_ended=is_ended, is_cancelled=is_cancelled)


@pytest.mark.parametrize("example", examples(), ids=lambda one: one.name)
def test_run_is_one_of_the_orders_that_are_right(example: Example) -> None:
    """A run ends by itself, with the code that its header says, and its statements hold of what happened."""
    done = solvent("run", example.file, "--format", "json")
    assert done.code == example.code, done.err
    report = done.json
    assert {task: report["calls"][task] for task in example.calls} == example.calls
    if "trace" in report:
        workflow = workflow_in(example.file)
        said = statements_about_runs(workflow, statements_of(example, example.cases[0]))
        assert violations(_order_of(report, workflow), said) == []
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
            assert violations(_order_of(report.json, workflow_in(example.file)), case.holds) == []


def test_services_are_all_used() -> None:
    """Every function of the examples is a service of one of them."""
    text = "".join(file.read_text(encoding="utf-8") for file in FOLDER.iterdir() if file.suffix in (".yaml", ".hocl"))
    functions = re.findall(r"^def (\w+)", (FOLDER / "services.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in functions if f'"services:{name}"' not in text] == []
