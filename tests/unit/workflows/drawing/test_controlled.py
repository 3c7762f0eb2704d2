"""Workflows that loop, choose, wait and cancel, in all pictures."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from solvent.workflows.diagram import dot, graph_of, svg, text
from solvent.workflows.model import Alternative, Control, Many, Result, Route, Task, Test, Value, Workflow

STORE = "{http://www.w3.org/2000/svg}"
WHILE = Test("result < 3")


def _task(name: str, sources: str = "", **words: object) -> Task:
    control = Control(**words) if words else None  # type: ignore[arg-type]
    return Task(name, name, tuple(Result(one) for one in sources.split()), control=control)


LOOP = Workflow(
    "loop", (_task("A"), _task("B", "A", join="any"), _task("C", "B", again=Route("B", WHILE)), _task("D", "C"))
)
CHOICE = Workflow(
    "choice",
    (
        _task("A", split="one", routes=(Route("B", WHILE), Route("C"))),
        _task("B"),
        _task("C"),
        _task("D", "B C", join="any"),
    ),
)
REGION = Workflow(
    "region",
    (
        _task("A"),
        _task("B", "A"),
        _task("C", "B"),
        _task("S", "A", signal="alarm", cancels=("B", "C"), ends="cancelled"),
        _task("M", "C", many=Many(count=Value(3))),
    ),
)


def _back(workflow: Workflow) -> set[tuple[str, str]]:
    graph = graph_of(workflow)
    return {(graph.nodes[one.source].name, graph.nodes[one.target].name) for one in graph.edges if one.kind == "back"}


def test_what_is_said_to_lead_back_does() -> None:
    """Without the ways back, the graph has no cycles; a way in from elsewhere does not change which they are."""
    assert _back(LOOP) == {("C", "B")}
    two_ways_in = (_task("X"), _task("A", "X"), _task("B", "X A", again=Route("A", WHILE)))
    assert _back(Workflow("flow", two_ways_in)) == {("B", "A")}
    onwards = (_task("A", again=Route("B", WHILE)), _task("B"))
    assert _back(Workflow("flow", onwards)) == set()


def test_nested_loops() -> None:
    """A way that is a route leads back if it returns to where one came from."""
    nested = Workflow(
        "nested",
        (
            _task("A"),
            _task("outer", "A", join="any"),
            _task("inner", "outer", join="any", again=Route("inner", WHILE)),
            _task("end", "inner", split="one", routes=(Route("outer", WHILE), Route("last"))),
            _task("last"),
        ),
    )
    assert _back(nested) == {("inner", "inner"), ("end", "outer")}
    drawn = text(nested)
    assert "│ ↺ again while result < 3 │" in drawn
    assert "│ ↺ back to outer if result < 3 │" in drawn


def test_loop_in_the_terminal() -> None:
    """A way back is told in the box where it begins."""
    assert text(LOOP, {"A": "done"}) == (
        "             ┌─────┐\n"
        "             │ ✓ A │\n"
        "             └──┬──┘\n"
        "                ▾\n"
        "            ┌───────┐\n"
        "            │ ▽ any │\n"
        "            │   B   │\n"
        "            └───┬───┘\n"
        "                ▾\n"
        "┌──────────────────────────────┐\n"
        "│              C               │\n"
        "│ ↺ back to B while result < 3 │\n"
        "└───────────────┬──────────────┘\n"
        "                ▾\n"
        "              ┌───┐\n"
        "              │ D │\n"
        "              └───┘\n"
    )


def test_lines_of_low_boxes_reach_down() -> None:
    """Where boxes are of different heights, lines begin at the lower edge of each."""
    drawn = text(REGION).splitlines()
    edge = next(row for row, line in enumerate(drawn) if "│ B │" in line) + 1
    assert [line[drawn[edge].index("┬")] for line in drawn[edge:-3]][:5] == ["┬", "│", "│", "│", "▾"]
    assert any("✗ cancels B, C" in line for line in drawn)
    assert any("│ M ×3 │" in line for line in drawn)


def test_a_list_of_what_does_not_fit() -> None:
    """In a list of layers the marks and the conditions stand below their tasks; tasks of the same marks are one."""
    many = tuple(_task(f"t{n}", "A", join="any") for n in range(90))
    assert text(Workflow("wide", (*CHOICE.tasks, *many))).splitlines()[:8] == [
        "wide: 94 tasks in 3 layers",
        "layer 1: 1 task",
        "  A",
        "    △ one",
        "    → B if result < 3",
        "    → C otherwise",
        *[f"    → t{n} otherwise" for n in range(2)],
    ]
    assert "  C\n" in text(CHOICE, width=20)


def test_dot() -> None:
    """Ways back and cancels do not count for the layers; conditions are labels; several instances have two borders."""
    assert (
        '  "C" -> "B" [label="↺ while result < 3", style=dashed, color="#6a3fb5", fontcolor="#6a3fb5",'
        " constraint=false];\n"
    ) in dot(LOOP)
    assert '  "A" -> "C" [label="otherwise"];\n' in dot(CHOICE)
    drawn = dot(REGION)
    assert '  "S" -> "B" [style=dashed, arrowhead=tee, color="#c62828", constraint=false];\n' in drawn
    assert '  "S" [label="S\\nwaits for alarm\\n■ cancels the case"];\n' in drawn
    assert '  "M" [label="M ×3", peripheries=2];\n' in drawn


def _paths(workflow: Workflow, kind: str) -> list[ET.Element]:
    return ET.fromstring(svg(workflow)).findall(f"{STORE}path[@class='{kind}']")  # noqa: S314 - our own text


def test_svg() -> None:
    """Ways back lead upwards, cancels end in a cross, several instances are a stack, conditions have their places."""
    back = _paths(LOOP, "back")
    assert [path.get("marker-end") for path in back] == [None, "url(#return)"]
    for path in back:
        numbers = [float(word.lstrip("MCL")) for word in path.get("d", "").split()]
        assert numbers[1] > numbers[-1], "upwards"
    assert [path.get("marker-end") for path in _paths(REGION, "cancel")] == ["url(#cross)"] * 2
    assert svg(REGION).count("<rect") == 7
    assert '<text class="label"' in svg(CHOICE)
    assert "<script" not in svg(LOOP)
    again = Workflow("again", (_task("A", again=Route("A", WHILE)),))
    assert len(_paths(again, "loop")) == 1


def test_a_stand_in_that_leads_up_is_no_loop() -> None:
    """The result of an alternative may go to a task above it: dashed as all alternatives, and not told as a loop."""
    late = Alternative("late", {"a": "z"}, watch=("b",), on=("condition",), when="result < 1")
    flow = Workflow("flow", (_task("a"), _task("b", "a"), _task("z", "b")), alternatives=(late,))
    assert "↺" not in text(flow) + svg(flow) + dot(flow)
    assert '  "z" -> "b" [style=dashed];\n' in dot(flow)
    assert not _paths(flow, "back")


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["from", "to", "again"])), max_size=25))
def test_any_loops_can_be_drawn(arcs: list[tuple[int, int, str]]) -> None:
    """Whatever the ways are: each is one edge, and the pictures can be read."""
    tasks = []
    for number in range(10):
        routes = tuple(Route(f"t{b}", WHILE) for a, b, how in arcs if how == "to" and a == number)
        again = next((Route(f"t{b}", WHILE) for a, b, how in arcs if how == "again" and a == number), None)
        sources = " ".join(f"t{a}" for a, b, how in arcs if how == "from" and b == number)
        tasks.append(_task(f"t{number}", sources, split="some", routes=routes, again=again, join="any"))
    flow = Workflow("flow", tuple(tasks))
    graph = graph_of(flow)
    number = graph.number_of
    onward = {(number[name], number[one]) for name, later in flow.destinations.items() for one in later}
    assert {edge.link for edge in graph.edges} == onward
    assert len(graph.edges) == len(onward)
    ET.fromstring(svg(flow))  # noqa: S314 - our own text
    assert all(len(line) <= 100 for line in text(flow).splitlines())
    assert dot(flow).count(" -> ") == len(onward)
