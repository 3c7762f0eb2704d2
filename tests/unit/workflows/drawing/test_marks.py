"""What a task does besides calling its service, in short words."""

from __future__ import annotations

import pytest

from solvent.workflows.diagram import NO_MARKS, Marks, condition, marks_of
from solvent.workflows.model import Arrived, Control, Input, Many, Result, Test, Value

MARKS = [
    (None, NO_MARKS),
    (Control(), NO_MARKS),
    (Control(join="any"), Marks(join="▽ any")),
    (Control(join="first", need=2), Marks(join="▽ first 2 of 3")),
    (Control(join="first", cancels_rest=True), Marks(join="▽ first 1 of 3, cancels rest")),
    (Control(join="active"), Marks(join="▽ active")),
    (Control(join="majority", need=2), Marks(join="▽ majority 2")),
    (Control(threads=3), Marks(join="▽ 3 threads")),
    (Control(split="one"), Marks(split="△ one")),
    (Control(split="some", copies=2), Marks(split="△ some, 2 threads")),
    (Control(split="deferred"), Marks(split="△ deferred")),
    (Control(signal="go"), Marks(notes=("waits for go",))),
    (Control(signal="go", is_transient=True), Marks(notes=("waits for go, not kept",))),
    (Control(sends=("a", "b")), Marks(notes=("sends a, b",))),
    (Control(takes=("L", "M"), gives=("L", "M")), Marks(notes=("lock L (2), M",))),
    (Control(takes=("M",)), Marks(notes=("takes M",))),
    (Control(gives=("M",)), Marks(notes=("gives back M",))),
    (Control(during=("A", "C")), Marks(notes=("only between A and C",))),
    (Control(cancels=("A", "B")), Marks()),
    (Control(completes=("A",)), Marks(notes=("completes A",))),
    (Control(ends="case"), Marks(notes=("■ ends the case",))),
    (Control(ends="cancelled"), Marks(notes=("■ cancels the case",))),
    (Control(many=Many(count=Value(3))), Marks(times="×3")),
    (Control(many=Many(count=Input("n"))), Marks(times="× n")),
    (Control(many=Many(count=Result("A"))), Marks(times="× A")),
    (Control(many=Many(count=Arrived())), Marks(times="× n")),
    (Control(many=Many(over=0, need=1, cancels=True)), Marks(times="× each", notes=("1 is enough", "cancels rest"))),
    (Control(many=Many(over=0, apart=True)), Marks(times="× each", notes=("each goes on by itself",))),
    (
        Control(many=Many(over=0, more=Test("result > 1"), enough=Test("true"))),
        Marks(times="× each", notes=("enough if true", "one more if result > 1")),
    ),
]


@pytest.mark.parametrize("control, marks", MARKS)
def test_marks(control: Control | None, marks: Marks) -> None:
    """Each word of a control has its mark; what is as usual has none."""
    assert marks_of(control, 3, {"L": 2}) == marks


def test_long_words_are_cut() -> None:
    """A mark is never wider than a box may be."""
    assert marks_of(Control(sends=("a" * 50,)), 0, {}).notes == (f"sends {'a' * 25}…",)


def test_conditions() -> None:
    """A condition is its text, in one line, or the name of its function."""
    assert condition(Test("result\n   < 3")) == "result < 3"
    assert condition(Test(f"result < {'9' * 30}")) == f"result < {'9' * 16}…"
    assert condition(Test(predicate=test_conditions)) == "test_conditions(result)"
    assert condition(Test(predicate="module:is_dear")) == "is_dear(result)"
    assert condition(Test(predicate=lambda _: True)) == "its function says so"
