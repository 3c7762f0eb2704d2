"""How workflows are divided into shards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.workflows.model import Alternative, Control, Many, Result, Route, Service, Task, Value, Workflow
from solvent.workflows.shards import are_together, divided, finest
from tests.unit.runs.agents.flows import workflow


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    """Give workflows whose tasks take results of earlier ones, some with alternatives that watch several tasks."""
    count = draw(st.integers(1, 12))
    tasks, alternatives = [], []
    for number in range(count):
        sources = draw(st.lists(st.integers(0, number - 1), max_size=3, unique=True)) if number else []
        taken = tuple(Result(f"T{one}") for one in sources) or (Value(number),)
        tasks.append(Task(f"T{number}", "add", taken))
    if count > 2:
        for number in range(draw(st.integers(0, 2))):
            watched = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3, unique=True))
            tasks.append(Task(f"A{number}", "add", (Value(0),)))
            names = tuple(f"T{one}" for one in watched)
            alternatives.append(Alternative(f"alt{number}", {names[0]: f"A{number}"}, watch=names))
    return workflow(*tasks, alternatives=tuple(alternatives))


@given(workflows(), st.integers(1, 5))
def test_each_task_has_one_place(flow: Workflow, max_shards: int) -> None:
    """Every task is at exactly one shard, no shard is empty, and there are not more than asked for."""
    shards = divided(flow, max_shards)
    assert sorted(name for names in shards for name in names) == sorted(task.name for task in flow.tasks)
    assert all(shards)
    assert len(shards) <= max_shards


@given(workflows(), st.integers(1, 5))
def test_what_an_alternative_watches_is_together(flow: Workflow, max_shards: int) -> None:
    """The rule that applies an alternative sees all tasks that it watches."""
    where = {name: number for number, names in enumerate(divided(flow, max_shards)) for name in names}
    for alternative in flow.alternatives:
        assert len({where[name] for name in alternative.watched}) == 1


@given(workflows(), st.integers(1, 5))
def test_everybody_divides_alike(flow: Workflow, max_shards: int) -> None:
    """Where a plan has no division agents divide by themselves, so they must come to the same, in the same order."""
    assert divided(flow, max_shards) == divided(flow, max_shards)


@given(workflows(), st.integers(2, 5), st.data())
def test_a_place_needs_what_one_agent_offers(flow: Workflow, max_shards: int, data: st.DataObject) -> None:
    """Where it matters who offers which service, somebody can do all tasks of a shard that need not be together."""
    agents = st.frozensets(st.sampled_from("xyz"), min_size=1)
    tasks = tuple(replace(one, service=data.draw(st.sampled_from("ab"))) for one in flow.tasks)
    offered = {name: data.draw(agents) for name in "ab"}
    flow = Workflow("w", tasks, (Service("a"), Service("b")))
    shards = divided(flow, max_shards, offered)
    assert sorted(name for names in shards for name in names) == sorted(task.name for task in flow.tasks)
    for names in shards:
        assert frozenset.intersection(*(offered[flow.by_name[one].service] for one in names))


def test_chains_are_not_torn_apart() -> None:
    """A task that waits for one other, which passes to nobody else, is at the same shard."""
    chains = [
        Task(f"{chain}{step}", "add", (Result(f"{chain}{step - 1}"),) if step else (Value(1),))
        for chain in "abc"
        for step in range(4)
    ]
    assert [sorted(names) for names in divided(workflow(*chains), 3)] == [
        [f"{chain}{step}" for step in range(4)] for chain in "abc"
    ]


def test_what_can_run_at_the_same_time_is_apart() -> None:
    """Tasks that wait for nobody are dealt out."""
    shards = divided(workflow(*(Task(f"T{one}", "add", (Value(1),)) for one in range(6))), 3)
    assert [len(names) for names in shards] == [2, 2, 2]


def test_what_waits_for_another_is_near_it() -> None:
    """A task that takes two results of one shard is there, where that makes no shard much larger."""
    ends = [Task(f"{side}{one}", "add", (Value(1),)) for one in range(2) for side in "ab"]
    pairs = [Task(f"{side}sum", "add", (Result(f"{side}0"), Result(f"{side}1"))) for side in "ba"]
    assert divided(workflow(*ends, *pairs), 2) == [["a0", "a1", "asum"], ["b0", "b1", "bsum"]]


def controlled(**controls: Control | None) -> Workflow:
    """Make a row of tasks, each after the one before, with these words."""
    names = [*controls]
    before = dict(zip(names[1:], names, strict=False))
    tasks = (Task(name, "add", after=tuple(before.get(name, ())), control=one) for name, one in controls.items())
    return workflow(*tasks)


def test_patterns_are_dealt_out() -> None:
    """Tasks that join by patterns are divided like others."""
    flow = workflow(Task("a", "add"), Task("b", "add"), Task("c", "add", after=("a", "b"), control=Control(join="any")))
    assert divided(flow, 8) == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize(
    "controls, together",
    [
        # Who takes a lock; who only gives it back sends it.
        ({"a": Control(takes=("l",)), "b": None, "c": Control(takes=("l",)), "d": Control(gives=("l",))}, "ac"),
        # The rivals of an offer.
        ({"a": Control(split="deferred", routes=(Route("c"),)), "b": None, "c": None, "d": None}, "bc"),
        # A milestone: where it begins and ends, and what it is for.
        ({"a": None, "b": None, "c": Control(during=("a", "d")), "d": None}, "acd"),
        # Who completes several instances, and what has them.
        ({"a": Control(many=Many(Value(2))), "b": None, "c": Control(completes=("a",))}, "ac"),
        # What may be cancelled, and what passes to it; who cancels sends that.
        ({"a": None, "b": None, "c": None, "d": Control(cancels=("c",))}, "bc"),
    ],
)
def test_what_rules_join_is_together(controls: dict[str, Control | None], together: str) -> None:
    """The finest division has those tasks in one shard, and every other task alone."""
    found = {frozenset(names) for names in finest(controlled(**controls))}
    alone = {frozenset((name,)) for name in controls if name not in together}
    assert found == {frozenset(together), *alone}
    assert not are_together(controlled(**controls), [[name] for name in controls])


def test_what_stands_in_for_a_gate_is_with_it() -> None:
    """It is called in the instance of the task that it replaces."""
    tasks = (Task("a", "add", control=Control(copies=2)), Task("b", "add", after=("a",)), Task("spare", "add"))
    flow = workflow(*tasks, alternatives=(Alternative("other", {"a": "spare"}),))
    assert [sorted(names) for names in finest(flow)] == [["a", "spare"], ["b"]]


@pytest.mark.parametrize("control", [Control(ends="case"), Control(join="majority")])
def test_some_workflows_are_one_shard(control: Control) -> None:
    """One that a task may end, and one with rules of the user's own."""
    patterns = {"majority": "majority.hocl"} if control.join == "majority" else {}
    flow = workflow(Task("a", "add"), Task("b", "add", after=("a",), control=control), patterns=patterns)
    assert finest(flow) == divided(flow, 8) == [["a", "b"]]
