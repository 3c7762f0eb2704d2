"""An agent runs only what it was started with."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from solvent.errors import AgentProblem
from solvent.runs.agents.offers import Offers, mark_of, offers_of
from solvent.runs.conditions import predicates_of
from solvent.workflows.formats.files import load_text, write
from solvent.workflows.model import Alternative, Control, Many, Policy, Resource, Route, Service, Task, Test, Workflow
from tests.unit.runs.agents.flows import adaptive, add, is_small, workflow

SHELL = Service("list", "shell", "ls {0}", options={"cwd": "data"})
HTTP = Service("ask", "http", "http://localhost/x", method="GET")


def through_a_file(flow: Workflow) -> Workflow:
    """Give a workflow as agents read it."""
    return load_text(write(flow, suffix=".json"), name="x.json").workflow


@pytest.mark.parametrize("own", [SHELL, HTTP, Service("add", function=add)])
def test_the_same_service_is_called(own: Service) -> None:
    """A service that was submitted is called if the agent has the same; it is the agent's own that is called."""
    submitted = through_a_file(Workflow("w", (Task("t", own.name),), (own,))).services[0]
    assert Offers({own.name: own}).of(submitted) == own


@pytest.mark.parametrize(
    "other",
    [
        replace(SHELL, target="rm -rf {0}"),
        replace(SHELL, target="ls {0}; id"),
        replace(SHELL, options={"cwd": "/"}),
        replace(SHELL, options={}),
        replace(SHELL, kind="python", target="os:system"),
        replace(SHELL, name="list2"),
        replace(SHELL, kind="workflow", target="", function=adaptive()),
    ],
)
def test_another_command_is_not_smuggled_in(other: Service) -> None:
    """A service of the same name that calls something else is not here."""
    assert Offers({"list": SHELL}).of(other) is None


def test_another_verb_is_not_smuggled_in() -> None:
    """A service that deletes is not one that asks."""
    assert Offers({"ask": HTTP}).of(replace(HTTP, method="DELETE")) is None


def test_an_inner_workflow_is_compared_whole() -> None:
    """A workflow inside of another is the same only if all its services are."""
    inner = Workflow("inner", (Task("t", "list"),), (SHELL,))
    own = Service("sub", "workflow", function=inner)
    other = Service("sub", "workflow", function=replace(inner, services=(replace(SHELL, target="id"),)))
    assert Offers({"sub": own}).of(Service("sub", "workflow", function=inner)) == own
    assert Offers({"sub": own}).of(other) is None


def test_the_policy_is_that_of_the_workflow() -> None:
    """How often and how long a service is tried is up to who submits."""
    policy = Policy(retries=3, timeout=9.0)
    assert Offers({"list": SHELL}).of(replace(SHELL, policy=policy)) == replace(SHELL, policy=policy)


def test_a_function_without_a_name_is_nobodys() -> None:
    """A lambda cannot be named by a workflow from elsewhere; that it is there does no harm."""
    offers = Offers({"f": Service("f", function=lambda: 1)})
    assert offers.of(Service("f", target="x:y")) is None
    assert offers.marks() == {}


def test_who_trusts_all_runs_everything() -> None:
    """With `trusts_all`, what was submitted is run as it is, and says so by its name."""
    assert Offers({}, trusts_all=True).of(SHELL) is SHELL


def test_conditions_are_looked_up_too() -> None:
    """A function that judges results is imported and called, so it must be one that the agent was started with."""
    name = "tests.unit.runs.agents.flows:is_small"
    tasks = (Task("one", "add"), Task("two", "add"))
    own = workflow(*tasks, alternatives=(Alternative("a", {"one": "two"}, on=("condition",), predicate=is_small),))
    submitted = through_a_file(own)
    assert submitted.alternatives[0].predicate == name
    offers_of([own]).refuse(submitted)
    smuggled = replace(submitted, alternatives=(replace(submitted.alternatives[0], predicate="os:abort"),))
    with pytest.raises(AgentProblem, match="os:abort"):
        offers_of([own]).refuse(smuggled)
    offers_of([own], trusts_all=True).refuse(smuggled)


def test_conditions_of_patterns_are_found() -> None:
    """All places of a workflow in which a function may be named are looked at."""
    control = Control(
        split="one",
        routes=(Route("b", Test(predicate="m:route")),),
        again=Route("a", Test(predicate="m:again")),
        many=Many(count=None, more=Test(predicate="m:more"), enough=Test(predicate="m:enough")),
    )
    flow = workflow(Task("a", "add", control=control), Task("b", "add"))
    assert set(predicates_of(flow)) == {"m:route", "m:again", "m:more", "m:enough"}


def test_files_of_rules_are_looked_up_too() -> None:
    """A submitted workflow cannot have an agent read any file."""
    flow = workflow(Task("a", "add"), patterns={"majority": "majority.hocl"})
    offers_of([flow]).refuse(flow)
    with pytest.raises(AgentProblem, match="/etc/passwd"):
        offers_of([flow]).refuse(replace(flow, patterns={"majority": "/etc/passwd"}))


@pytest.mark.parametrize("field", ["file", "save"])
def test_resources_in_files_are_refused(field: str) -> None:
    """A submitted workflow cannot have an agent change or write any file."""
    flow = workflow(Task("a", "add"), resources=(Resource("grid", size=4, **{field: "/etc/passwd"}),))
    with pytest.raises(AgentProblem, match="is in a file"):
        Offers({}, trusts_all=True).refuse(flow)


def test_two_files_may_not_mean_different_services() -> None:
    """A name stands for one service at an agent."""
    one = Workflow("one", (), (SHELL,))
    assert offers_of([one, one]).services == {"list": SHELL}
    with pytest.raises(AgentProblem, match="list"):
        offers_of([one, Workflow("two", (), (replace(SHELL, target="id"),))])


def test_marks_tell_whether_services_are_the_same() -> None:
    """A mark is the same on both sides of a store, and another for another command."""
    submitted = through_a_file(Workflow("w", (Task("t", "list"),), (SHELL,))).services[0]
    assert Offers({"list": SHELL}).marks() == {"list": mark_of(submitted)}
    assert mark_of(replace(SHELL, target="id")) != mark_of(SHELL)
