"""What is wrong with resources and claims is said before anything runs."""

from __future__ import annotations

import pytest

from solvent.workflows.checks import check
from solvent.workflows.formats.files import load_text
from solvent.workflows.model import Claim, Control, Each, Input, Many, Resource, Service, Task, Workflow

SERVICES = (
    Service("p", target="m:f"),
    Service("s", "shell", "sort {0}"),
    Service("h", "http", "http://localhost/"),
    Service("o", "hocl", "o.hocl"),
    Service("w", "workflow", "w.yaml"),
    Service("r", "replay"),
)
GRID = Resource("grid", (10, 10))


def said_of(*tasks: Task, resources: tuple[Resource, ...] = (GRID,), results: tuple[str, ...] = ()) -> list[str]:
    """Give the codes and messages about a workflow of these tasks and resources."""
    workflow = Workflow("w", tasks, SERVICES, inputs={"n": 1}, results=results, resources=resources)
    return [f"{problem.code} {problem.message}" for problem in check(workflow)]


def test_good_claims_have_no_problems() -> None:
    """Functions and commands may have resources, all of them or some rows."""
    assert said_of(
        Task("A", "p", (Claim("grid", "write", 0, 5),)),
        Task("B", "p", (Claim("grid", "read", 5),), {"other": Claim("table")}),
        Task("C", "s", (Claim("grid"),)),
        resources=(GRID, Resource("table", size=Input("n"))),
    ) == []  # fmt: skip


@pytest.mark.parametrize("kind", ["h", "o", "w", "r"])
def test_other_kinds_cannot_have_resources(kind: str) -> None:
    """Addresses, programs, workflows and replays have no memory in common with the run."""
    assert said_of(Task("A", kind, (Claim("grid"),))) == [
        f"W162 `A` calls `{kind}`, which cannot have the resource `grid`"
    ]


@pytest.mark.parametrize(
    "resource, said",
    [
        (Resource("g"), "W161 the resource `g` has no size"),
        (Resource("g", (3,), size=3), "W161 the resource `g` has a shape and a size"),
        (Resource("g", (3, -1)), "W161 the resource `g` has the length -1 in its shape"),
        (Resource("g", ()), "W161 the resource `g` has an empty shape"),
        (Resource("g", (3,), "float65"), "W161 the resource `g` has the dtype `float65`, which is none"),
        (Resource("g", size=0), "W161 the resource `g` has the size 0"),
        (Resource("g", size=3, save="g.npy"), "W161 the resource `g` is saved to `g.npy` and is no array"),
        (Resource("g", file="g", save="g"), "W161 the resource `g` is saved to the file that it is"),
        (Resource("g", size=Input("m")), "W122 the resource `g` takes the input `m`, which the workflow does not have"),
        (Resource(" ", size=3), "W136 a resource has no name"),
    ],
)
def test_a_resource_that_is_not_described_well(resource: Resource, said: str) -> None:
    """What cannot be made is said, whoever claims it."""
    assert said_of(Task("A", "p"), resources=(resource,)) == [said]


@pytest.mark.parametrize(
    "task, said",
    [
        (Task("A", "p", (Claim("gird"),)), "W160 `A` has the resource `gird`, which the workflow does not have"),
        (Task("A", "p", (Input("grid"),)), "W160 `A` takes the input `grid`, which is a resource"),
        (Task("A", "p", after=("grid",)), "W160 `A` waits for `grid`, which is a resource"),
        (Task("A", "p", (Claim("grid"), Claim("grid", "read"))), "W162 `A` has the resource `grid` twice"),
        (Task("A", "s", (Claim("grid", "read", 1),)), "W162 `A` is a command and claims a stretch of `grid`"),
        (Task("A", "p", (Claim("grid", "read", 10),)), "W162 `A` claims rows 10 to 10 of `grid`, which has 10"),
        (Task("A", "p", (Claim("grid", "read", 3, 8),)), "W162 `A` claims rows 3 to 11 of `grid`, which has 10"),
        (Task("A", "p", (Claim("grid", "read", -1),)), "W162 `A` claims None rows of `grid` from -1 on"),
    ],
)  # fmt: skip
def test_a_claim_that_no_call_can_have(task: Task, said: str) -> None:
    """A claim names a resource, once, and rows that are there."""
    assert said_of(task) == [said]


def test_instances_do_not_go_over_resources() -> None:
    """Neither is a resource a list of arguments, nor a number of calls."""
    each = Task("A", "p", (Claim("grid"),), each=Each("dot", (0,)))
    over = Task("A", "p", (Claim("grid"),), control=Control(many=Many(over=0)))
    count = Task("A", "p", control=Control(many=Many(Claim("grid"))))
    assert said_of(each) == said_of(over) == ["W162 `A` goes over its argument 0, which is a resource"]
    assert said_of(count) == ["W162 `A` is called as often as a resource says"]


def test_resources_are_no_results() -> None:
    """What a resource holds in the end is saved, and no result."""
    assert said_of(Task("A", "p", (Claim("grid"),)), results=("grid",)) == [
        "W160 `results` names `grid`, which is a resource"
    ]


def test_problems_have_their_places() -> None:
    """A problem points at the resource or the task in the file."""
    loaded = load_text(
        "resources:\n  grid: {shape: 3, dtype: float65}\nservices: {p: {python: a:b}}\n"
        "tasks:\n  A: {service: p, in: [{resource: gird}]}\n",
        name="w.yaml",
    )
    found = [(problem.code, problem.place) for problem in check(loaded.workflow, loaded.places)]
    assert found == [("W161", "w.yaml:2:3"), ("W160", "w.yaml:5:3")]
