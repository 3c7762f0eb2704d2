"""The examples of patterns: what their headers say, their workflows, and all orders in which they can happen.

The header of an example is its first comment:

    # 4 Exclusive Choice: one of several ways is taken, by what the task found.
    # Small claims are paid at once, others are looked at.
    # holds: Settle once          a statement that holds in every order (see `solvent.runs.causality`)
    # open: Settle before File    a statement that holds in some orders only: what the pattern leaves open
    # with: amount=9000           what follows is about these inputs
    # inside: Blood once          what holds in every order of the workflow that is a service of this one
    # calls: Review 3             how often a task calls its service in a run
    # ends: done                  how every order ends

An example outside the catalogue has no number.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from solvent.runs.embedded import run_workflow
from solvent.runs.exploration import explore_workflow
from solvent.runs.kinds import workflow_of
from solvent.services.python import function_of
from solvent.workflows.checks import check
from solvent.workflows.formats.files import load
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from solvent.runs.exploration import Orders
    from solvent.workflows.model import Service, Workflow

FOLDER = ROOT / "examples" / "patterns"
NUMBERS = range(1, 44)
"""The control-flow patterns of the revised catalogue."""

_TITLE = re.compile(r"(?:(?P<number>\d+) )?(?P<title>[^:]+): (?P<meaning>.+)")
_LINE = re.compile(r"(?P<key>holds|open|with|inside|calls|ends): (?P<text>.+)")


@dataclass
class Case:
    """What holds with some inputs, and what is left open."""

    inputs: dict[str, Any] = field(default_factory=dict)
    holds: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


@dataclass
class Example:
    """An example of a pattern."""

    file: Path
    title: str
    number: int | None
    meaning: str
    story: str = ""
    cases: list[Case] = field(default_factory=lambda: [Case()])
    inside: list[str] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    ends: str = ""

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.file.stem

    @property
    def heading(self) -> str:
        """Its number in the catalogue and its title."""
        return self.title if self.number is None else f"{self.number} {self.title}"

    @property
    def code(self) -> int:
        """What `solvent run` exits with: a case that is cancelled has not succeeded."""
        return 1 if self.ends == "cancelled" else 0

    @property
    def text(self) -> str:
        """The file without its header."""
        lines = self.file.read_text(encoding="utf-8").splitlines()
        return "\n".join(line for line in lines if not line.startswith("#")) + "\n"


def read_example(file: Path) -> Example:
    """Read the header of an example."""
    lines = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            break
        lines.append(line.removeprefix("# "))
    title = _TITLE.fullmatch(lines[0])
    if title is None:
        raise ValueError(f"{file.name} does not begin with `# 4 Name: what it means.`")
    number = int(title["number"]) if title["number"] else None
    found = Example(file, title["title"], number, title["meaning"])
    for line in lines[1:]:
        _take(found, line)
    return found


def _take(example: Example, line: str) -> None:
    """Take what a line of the header says."""
    match = _LINE.fullmatch(line)
    if match is None:
        example.story = f"{example.story} {line}".strip()
        return
    text = match["text"]
    match match["key"]:
        case "ends":
            example.ends = text
        case "inside":
            example.inside.append(text)
        case "calls":
            task, count = text.split()
            example.calls[task] = int(count)
        case "with":
            given = (one.split("=") for one in text.split(", "))
            example.cases.append(Case({name: json.loads(value) for name, value in given}))
        case key:
            getattr(example.cases[-1], key).append(text)


@cache
def examples() -> tuple[Example, ...]:
    """Give all examples: those of the catalogue by number, then the others by name."""
    found = [read_example(file) for file in FOLDER.glob("*.yaml")]
    return tuple(sorted(found, key=lambda one: (one.number is None, one.number, one.name)))


def workflow_in(file: Path) -> Workflow:
    """Load the workflow of an example, which must be sound."""
    loaded = load(str(file))
    problems = check(loaded.workflow, loaded.places)
    if problems:
        raise problems[0]
    return loaded.workflow


def orders_of(workflow: Workflow, inputs: dict[str, Any]) -> Orders:
    """Explore all orders of a workflow of the folder; none may be left out."""
    services = {service.name: function_of_service(service) for service in workflow.services}
    orders = explore_workflow(workflow, inputs, services=services, folder=FOLDER)
    if not orders.is_complete:
        raise ValueError(f"`{workflow.name}` has more than {len(orders.states)} states")
    return orders


_ORDERS: dict[tuple[str, str], Orders] = {}


def orders_in(example: Example, case: Case) -> Orders:
    """Explore all orders of a case of an example, once."""
    key = example.name, repr(case.inputs)
    if key not in _ORDERS:
        _ORDERS[key] = orders_of(workflow_in(example.file), case.inputs)
    return _ORDERS[key]


def statements_of(example: Example, case: Case) -> list[str]:
    """Give what holds of a case: its statements, and how it ends."""
    return [*case.holds, f"ends {example.ends}"]


def inner_of(example: Example) -> Workflow:
    """Give the workflow that is a service of an example's."""
    services = workflow_in(example.file).services
    return next(workflow_of(service, FOLDER)[0] for service in services if service.kind == "workflow")


def function_of_service(service: Service) -> Callable[..., Any]:
    """Give a service as a function; one that is a workflow is run."""
    if service.kind == "python":
        return function_of(service, FOLDER)
    inner, folder = workflow_of(service, FOLDER)

    def call(*values: Any) -> Any:
        report = run_workflow(inner, dict(zip(inner.inputs, values, strict=False)), folder=folder)
        if not report.succeeded:
            raise ValueError(f"`{inner.name}` did not succeed")
        results = [report.results[task] for task in inner.outcomes if task in report.results]
        return results[0] if len(results) == 1 else results

    def call_in_thread(*values: Any) -> Any:
        # Rules find the run they belong to by their thread, which here has one already.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(call, *values).result()

    return call_in_thread
