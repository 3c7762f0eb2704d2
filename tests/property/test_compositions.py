"""Random compositions of lists: the calls and their order are those that plain loops would make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from solvent.runs.embedded import run_workflow
from solvent.workflows.model import Each, Input, Result, Service, Task, Value, Workflow
from tests.property.amounts import examples
from tests.property.plain_workflows import combined

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.workflows.model import Argument

    Draw = Callable[[st.SearchStrategy[Any]], Any]

ITEMS = st.one_of(st.integers(0, 9), st.sampled_from(("a", "b", "", True, 0.5, [], [1], [[]], None)))
LISTS = st.lists(ITEMS, max_size=3)


@dataclass
class Composition:
    """The arguments of a task, where each comes from, and how they are combined."""

    values: list[Any]
    ways: list[str]
    """For each argument: from a task, one item of a task's result, an input, or a constant."""
    keywords_count: int
    each: Each

    def workflow(self, serve: Callable[..., Any]) -> Workflow:
        """Give a workflow that calls a function for each combination."""
        services = [Service("serve", function=serve)]
        tasks: list[Task] = []
        slots: list[Argument] = []
        inputs = {}
        for at, (value, way) in enumerate(zip(self.values, self.ways, strict=True)):
            name = f"T{at}"
            slots.append({"task": Result(name), "item": Result(name, 2), "input": Input(name)}.get(way, Value(value)))
            if way in {"task", "item"}:
                sent = value if way == "task" else ["not this", value, "nor this"]
                services.append(Service(name, function=lambda sent=sent: sent))
                tasks.append(Task(name, name))
            elif way == "input":
                inputs[name] = value
        split = len(slots) - self.keywords_count
        keywords = {f"k{at}": slot for at, slot in enumerate(slots[split:])}
        tasks.append(Task("C", "serve", tuple(slots[:split]), keywords, self.each))
        return Workflow("composition", tuple(tasks), tuple(services), inputs=inputs, results=("C",))


@st.composite
def compositions(draw: Draw) -> Composition:
    """Give a random composition of at most five arguments, of which some stay the same in every call."""
    count = draw(st.integers(1, 5))
    order = draw(st.permutations(range(count)))
    used = list(order[: draw(st.integers(1, count))])
    values = [draw(LISTS if at in used else ITEMS) for at in range(count)]
    ways = [draw(st.sampled_from(("task", "item", "input", "constant"))) for _ in values]
    return Composition(values, ways, draw(st.integers(0, count)), _tree(draw, used))


def _tree(draw: Draw, used: list[int], depth: int = 0) -> Each:
    """Split positions at random into branches, which may be products themselves."""
    parts: list[int | Each] = []
    while used:
        taken = draw(st.integers(1, len(used))) if depth < 3 and draw(st.booleans()) else 0
        if taken:
            parts.append(_tree(draw, used[:taken], depth + 1))
        else:
            parts.append(used[0])
        used = used[max(taken, 1) :]
    return Each(draw(st.sampled_from(("dot", "cross"))), tuple(parts))


@examples(100)
@given(compositions())
def test_composition_makes_the_calls_of_plain_loops(composition: Composition) -> None:
    """A task is called once for each combination, and its results have the order of the combinations."""

    def serve(*arguments: Any, **keywords: Any) -> list[Any]:
        return [*arguments, *keywords.values()]

    report = run_workflow(composition.workflow(serve), jobs=2)
    expected = combined(composition.each, composition.values)
    assert report.results == {"C": expected}
    assert report.calls.get("C", 0) == len(expected)


@examples(30)
@given(compositions())
def test_one_failed_call_fails_the_task(composition: Composition) -> None:
    """If a combination's call fails the task fails, once all its other calls have been made."""
    expected = combined(composition.each, composition.values)
    made: list[int] = []

    def serve(*_: Any, **__: Any) -> None:
        made.append(1)
        if len(made) == len(expected):
            raise ValueError

    report = run_workflow(composition.workflow(serve), jobs=1)
    assert report.calls.get("C", 0) == len(expected)
    assert report.states["C"] == ("failed" if expected else "done")
