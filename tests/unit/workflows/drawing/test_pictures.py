"""Workflows as DOT and SVG."""

from __future__ import annotations

import random
from xml.etree import ElementTree as ET

from solvent.workflows.diagram import dot, svg, text
from solvent.workflows.model import Alternative, Result, Task, Workflow
from tests.growth import executed_lines

FLOW = Workflow(
    'the "flow"',
    (
        Task("a", "a"),
        Task("b", "<get>", (Result("a"),)),
        Task("c", "c", (Result("a"),)),
        Task("d", "d", (Result("b"),)),
    ),
    alternatives=(Alternative("x", {"b": "c"}),),
)
STORE = "{http://www.w3.org/2000/svg}"


def test_dot() -> None:
    """Names are quoted, alternatives dashed, states coloured, and a legend says what stands in for what."""
    assert dot(FLOW, {"a": "done"}) == (
        'digraph "the \\"flow\\"" {\n'
        '  node [shape=box, style="rounded", fontname="sans-serif"];\n'
        '  "a" [label="a", color="#2e7d32", fontcolor="#2e7d32"];\n'
        '  "b" [label="b\\n<get>"];\n'
        '  "c" [label="c", style="rounded,dashed"];\n'
        '  "d" [label="d"];\n'
        '  "a" -> "b";\n'
        '  "a" -> "c" [style=dashed];\n'
        '  "b" -> "d";\n'
        '  "c" -> "d" [style=dashed];\n'
        '  label="c instead of b, on failure";\n'
        "}\n"
    )


def test_svg_is_one_text_that_stands_alone() -> None:
    """The picture is well-formed, needs nothing from outside, and knows light and dark."""
    picture = svg(FLOW, {"a": "done", "b": "failed"})
    root = ET.fromstring(picture)  # noqa: S314 - our own text
    assert [group.get("class") for group in root.findall(f"{STORE}g")] == ["done", "failed", "node", "node"]
    assert len(root.findall(f"{STORE}path")) == 4
    assert len(root.findall(f"{STORE}path[@class='dashed']")) == 2
    assert len(root.findall(f"{STORE}g/{STORE}rect[@class='dashed']")) == 1
    assert picture.count("http") == 1, "only the name of the format"
    assert "prefers-color-scheme: dark" in picture


def test_boxes_of_the_svg_lie_inside_and_apart() -> None:
    """No box leaves the picture and none covers another."""
    root = ET.fromstring(svg(FLOW))  # noqa: S314 - our own text
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    boxes = []
    for box in root.iter(f"{STORE}rect"):
        x, y, w, h = (float(box.get(key, "")) for key in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
        assert all(x + w <= left or left + wide <= x or y != top for left, top, wide in boxes)
        boxes.append((x, y, w))


def test_a_workflow_without_tasks() -> None:
    """Nothing to draw is no error."""
    empty = Workflow("empty", ())
    ET.fromstring(svg(empty))  # noqa: S314 - our own text
    assert dot(empty).startswith('digraph "empty"')


def test_thousands_of_tasks() -> None:
    """Drawing a large graph costs little more for each task than drawing a small one, whatever its links are like."""
    chance = random.Random(3)
    tasks = tuple(
        Task(f"t{n}", "s", tuple(Result(f"t{chance.randrange(n)}") for _ in range(2)) if n else ())
        for n in range(1_000)
    )

    def lines(size: int) -> int:
        workflow = Workflow("large", tasks[:size])
        assert svg(workflow).count("<rect") == size
        assert text(workflow).startswith(f"large: {size:,} tasks")
        return executed_lines(lambda: (svg(workflow), text(workflow)))

    assert lines(1_000) < 30 * lines(100)
