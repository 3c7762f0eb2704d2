"""What checks workflows is worth something.

The comparison with plain evaluation finds out rules that are broken on purpose. `solvent check` is right about control
flow: what it says never happens does not happen in any order, and what is sound by its construction it does not refuse.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from solvent.runs.exploration import Orders, explore_workflow
from solvent.workflows.checks import check
from solvent.workflows.doubts import workflow_doubts
from solvent.workflows.model import Arrived, Control, Many, Route, Service, Task, Test, Value, Workflow
from solvent.workflows.places import Loaded
from tests.property.changed_rules import changed_rules
from tests.property.test_workflows import complaints
from tests.property.workflows import Scenario, scenarios

BROKEN = {
    "a flat task that waits for two results waits for ever": ("flat", "if k > 1", "if k > 2"),
    "a flat task takes a result for another's": (
        "flat",
        "by WAIT : t : (k - 1) : s : put(a, i, r)",
        "by WAIT : t : (k - 1) : s : put(a, n, r)",
    ),
    "a flat task passes nothing on": ("flat", "by RES : i : r, PASS : t : i : 0 : r", "by RES : i : r"),
    "results arrive under the wrong name": (
        "adaptation",
        "IN : <ti : n : r, i>, w> in\n\n",
        "IN : <tj : n : r, i>, w> in\n",
    ),
    "results are not passed on": ("adaptation", "DST' : <tj, e>, w>, PASS : tj : ti : n : r", "DST' : <tj, e>, w>"),
    "nobody hears that a source was replaced": ("adaptation", ", w>, OFFS : ti : n : <e> in", ", w> in"),
    "only direct receivers hear of it": ("adaptation", ", w>, OFFS : tj : k : <e> in", ", w> in"),
    "arguments keep the old name": ("adaptation", "ARG : t : renamed(a, ti, tj)", "ARG : t : a"),
    "filters keep the old name": ("adaptation", "if y == ti", "if y == tj"),
    "sleeping tasks stay asleep": ("adaptation", "by tj : <SRC : <s>, w> in\n\n", "by tj : <SRC : <WAKE, s>, w> in\n"),
    "sources do not serve the alternative": ("adaptation", "DST : <tj, d>, w>", "DST : <d>, w>"),
    "every fault is for every alternative": ("adaptation", "if concerns(n, k, l)", "if true"),
    "a replaced task goes on": (
        "adaptation",
        "by ti : <ERR : x : y, GONE, MOVE : tj : <d, e>, w> in",
        "by ti : <ERR : x : y, RUN : n, DST : <>, DST' : <>, MOVE : tj : <d, e>, w> in",
    ),
    "a filter takes the neighbour": ("data", "item(j, l)", "item(min(j + 1, 3), l)"),
    "results of several calls have any order": ("data", "by RES : ordered(o)", "by RES : list(o)"),
    "a dot product goes crosswise": (
        "data",
        "ITEM : b : k : y\n  by DOT : n : a : b, ITEM : n : k : joined(x, y) in",
        "ITEM : b : j : y\n  by DOT : n : a : b, ITEM : n : k : joined(x, y) if j != k in",
    ),
    "a call for each combination is made once": ("data", "replace CALL : k : p", "replace-one CALL : k : p"),
}
"""What a change of the rules does: file, text, and the text in its place."""


@pytest.mark.parametrize("name", BROKEN)
def test_broken_rules_are_found_out(name: str) -> None:
    """Some random workflow disagrees with its plain evaluation when a rule is broken."""

    @settings(max_examples=300, phases=(Phase.generate,), database=None, suppress_health_check=list(HealthCheck))
    @given(scenarios(with_late=True))
    def search(scenario: Scenario) -> None:
        if complaints(scenario):
            pytest.fail("found out")

    with changed_rules(*BROKEN[name]), pytest.raises(pytest.fail.Exception, match="found out"):
        search()


# --- What is said never to happen does not happen.

MAX_STATES = 30
MAX_SECONDS = 0.3
"""How much is looked at of one workflow; one that never ends has more states than any number."""


def counted(*arrived: object) -> int:
    """Count how many tasks lie one after the other on the way here, rounds included."""
    return 1 + max((one for one in arrived if isinstance(one, int)), default=0)


SERVICES = (Service("s", function=counted),)
ANY = Control(join="any")


def task_of(name: str, after: tuple[str, ...], control: Control) -> Task:
    """Make a task that counts; one that nobody passes to has nothing to count from."""
    given = (Arrived(),) if after or control.join == "any" else ()
    return Task(name, "s", given, after=after, control=None if control == Control() else control)


@st.composite
def conditions(draw: st.DrawFn) -> Test:
    """Make a condition that holds of some counts and not of others."""
    return Test(f"result < {draw(st.integers(0, 8))}" if draw(st.booleans()) else f"result > {draw(st.integers(0, 8))}")


@st.composite
def controls(draw: st.DrawFn, name: str, names: list[str], before: list[str], after: list[str]) -> Control:
    """Make a control for a task between others; routes may lead back, and the last task may have a milestone."""
    changes: dict[str, object] = {}
    join = draw(st.sampled_from(["all", "all", "any", "any", "first", "active"]))
    if join != "all":
        changes["join"] = join
    if join == "first":
        changes["need"] = draw(st.integers(1, 2))
    split = draw(st.sampled_from(["all", "all", "one", "some", "deferred" if after else "all"]))
    known = names if not after or draw(st.integers(0, 9)) == 0 else after
    ways = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
    if split in ("one", "some"):
        last = Route(ways[-1]) if draw(st.booleans()) and len(ways) > 1 else Route(ways[-1], draw(conditions()))
        changes |= {"split": split, "routes": (*(Route(one, draw(conditions())) for one in ways[:-1]), last)}
    elif draw(st.integers(0, 4)) == 0:
        changes |= {"split": split, "routes": tuple(map(Route, ways))}
    if before and draw(st.integers(0, 4)) == 0:
        changes["again"] = Route(draw(st.sampled_from([*before, name])), draw(conditions()))
    if draw(st.integers(0, 9)) == 0:
        changes["copies"] = 2
    if join in ("all", "first") and draw(st.integers(0, 9)) == 0:
        changes["threads"] = 2
    others = [one for one in names if one != name]
    if draw(st.integers(0, 14)) == 0:
        changes["cancels"] = (draw(st.sampled_from(others)),)
    if not after and draw(st.integers(0, 3)) == 0:
        changes["during"] = tuple(draw(st.lists(st.sampled_from(others), min_size=2, max_size=2, unique=True)))
    if draw(st.integers(0, 14)) == 0:
        changes["many"] = Many(count=Value(2), apart=draw(st.booleans()))
    return Control(**changes)  # type: ignore[arg-type]


@st.composite
def controlled(draw: st.DrawFn) -> Workflow:
    """Make a small workflow with any control flow, sound or not."""
    names = [f"T{number}" for number in range(draw(st.integers(4, 7)))]
    tasks = []
    for at, name in enumerate(names):
        behind = draw(st.lists(st.sampled_from(names[:at]), max_size=3, unique=True)) if at else []
        if at and not behind and draw(st.integers(0, 3)):
            behind = [names[at - 1]]
        if draw(st.integers(0, 29)) == 0:
            behind.append(draw(st.sampled_from(names[at:])))
        tasks.append(task_of(name, tuple(behind), draw(controls(name, names, names[:at], names[at + 1 :]))))
    gone_back_to = {
        one.control.again.task for one in tasks if one.control is not None and one.control.again is not None
    }
    if draw(st.integers(0, 4)):
        tasks = [msgspec.structs.replace(one, control=ANY) if one.name in gone_back_to else one for one in tasks]
    return Workflow("w", tuple(tasks), SERVICES)


NEVER = re.compile(r"`(\w+)` (?:can|waits)|(T\d(?: → T\d)+)")


def claims(workflow: Workflow) -> dict[str, set[str]]:
    """Give the tasks of which a check says that they never start (`never`), or never let anything end (`endless`)."""
    found: dict[str, set[str]] = {"never": set(), "endless": set()}
    for problem in check(workflow):
        if problem.code in ("W120", "W144", "W145"):
            match = NEVER.search(problem.message)
            assert match, problem.message
            kind = "endless" if problem.code == "W145" else "never"
            found[kind] |= {match[1]} if match[1] else set(match[2].split(" → "))
    return found


def wrong_claims(said: dict[str, set[str]], orders: Orders) -> list[str]:
    """Give the tasks that start although it was said that they never do, or that a workflow ends after."""
    finals = [state for state in orders.finals if state.end == "done"]
    started = [name for name in said["never"] if any(state.started[name] for state in orders.states)]
    ended = [name for name in said["endless"] if any(state.started[name] for state in finals)]
    return [*started, *ended]


@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(controlled())
def test_what_is_refused_never_happens(workflow: Workflow) -> None:
    """A task that is said never to start does not start in any order; a loop that is never left lets nothing end."""
    said = claims(workflow)
    if said["never"] or said["endless"]:
        until = time.monotonic() + MAX_SECONDS
        orders = explore_workflow(workflow, max_states=MAX_STATES, should_stop=lambda: time.monotonic() > until)
        assert wrong_claims(said, orders) == []


# --- What is sound by its construction is not refused.


@dataclass(slots=True)
class Blocks:
    """Tasks in blocks with one way in and one way out, put into each other and after each other."""

    tasks: dict[str, Task] = field(default_factory=dict)

    def add(self, *after: str, **control: Any) -> str:
        """Add a task."""
        name = f"T{len(self.tasks)}"
        self.tasks[name] = Task(name, "s", after=after, control=Control(**control) if control else None)
        return name

    def route(self, name: str, split: str, ways: list[str], test: Test) -> None:
        """Let a task choose; the last way is for when no condition holds."""
        routes = (*(Route(way, test) for way in ways[:-1]), Route(ways[-1]))
        control = Control(split=split, routes=routes)  # type: ignore[arg-type]
        self.tasks[name] = msgspec.structs.replace(self.tasks[name], control=control)

    def block(self, draw: st.DrawFn, before: str, depth: int) -> str:
        """Add a block after a task, and give its last task."""
        kind = draw(st.sampled_from(KINDS)) if depth else "task"
        match kind:
            case "task":
                return self.add(before)
            case "sequence":
                return self.block(draw, self.block(draw, before, depth - 1), depth - 1)
            case "loop":
                first = self.add(before, join="any")
                return self.add(self.block(draw, first, depth - 1), again=Route(first, draw(conditions())))
        split = self.add(before, **({"split": "deferred"} if kind == "deferred" else {}))
        firsts = [self.add(split) for _ in range(draw(st.integers(2, 3)))]
        lasts = [self.block(draw, first, depth - 1) for first in firsts]
        if kind in ("one", "some"):
            self.route(split, kind, firsts, draw(conditions()))
        return self.add(*lasts, join=JOINS[kind])


JOINS = {"parallel": "all", "one": "any", "some": "active", "deferred": "any", "discriminator": "first"}
KINDS = ["task", "sequence", "loop", *JOINS]


@st.composite
def sound(draw: st.DrawFn) -> Workflow:
    """Make a workflow of blocks that are sound by themselves."""
    blocks = Blocks()
    blocks.block(draw, blocks.add(join="any"), draw(st.integers(1, 3)))
    return Workflow("w", tuple(blocks.tasks.values()), SERVICES)


@settings(deadline=None, max_examples=50, suppress_health_check=list(HealthCheck))
@given(sound())
def test_what_is_sound_is_not_refused(workflow: Workflow) -> None:
    """Sequences, branches that are joined as they were split, and loops are never refused, nor warned of."""
    assert [problem.message for problem in check(workflow)] == []
    assert [doubt.message for doubt in workflow_doubts(Loaded(workflow)) if doubt.code == "W188"] == []


@settings(deadline=None, max_examples=15, suppress_health_check=list(HealthCheck))
@given(sound().filter(lambda workflow: len(workflow.tasks) <= 8))
def test_what_is_sound_ends(workflow: Workflow) -> None:
    """The blocks are what they are said to be: in every order that is looked at the workflow ends well."""
    until = time.monotonic() + MAX_SECONDS
    orders = explore_workflow(workflow, max_states=MAX_STATES, should_stop=lambda: time.monotonic() > until)
    assert {state.end for state in orders.finals} <= {"done"}
