"""Workflows in the terminal."""

from __future__ import annotations

from solvent.workflows.diagram import text
from solvent.workflows.model import Alternative, Result, Task, Workflow


def _workflow(sources: dict[str, str], *alternatives: Alternative) -> Workflow:
    tasks = tuple(Task(name, "s", tuple(Result(one) for one in taken.split())) for name, taken in sources.items())
    return Workflow("flow", tasks, alternatives=alternatives)


DIAMOND = _workflow(
    {"T1": "", "T2": "T1", "T3": "T1", "T5": "T1", "T4": "T2 T3"}, Alternative("fallback", {"T2": "T5"})
)
DIAMOND_DRAWN = """\
         ┌──────┐
         │ ✓ T1 │
         └───┬──┘
    ┌────────┼╌╌╌╌╌╌╌┐
    ▾        ▾       ▾
┌──────┐  ┌────┐  ┌╌╌╌╌┐
│ ✗ T2 │  │ T3 │  ╎ T5 ╎
└───┬──┘  └──┬─┘  └╌╌┬╌┘
    └────────┼╌╌╌╌╌╌╌┘
             ▾
          ┌────┐
          │ T4 │
          └────┘
╌ T5 instead of T2, on failure
"""


def test_a_diamond() -> None:
    """Boxes, links, an alternative in dashes, and marks for the states that are given."""
    assert text(DIAMOND, {"T1": "done", "T2": "failed"}) == DIAMOND_DRAWN


def test_a_chain_is_straight() -> None:
    """Links straight down need a single row."""
    assert text(_workflow({"a": "", "b": "a"})) == ("┌───┐\n│ a │\n└─┬─┘\n  ▾\n┌───┐\n│ b │\n└───┘\n")


def test_a_link_passes_a_layer() -> None:
    """A link over several layers runs beside the boxes between."""
    drawn = text(_workflow({"a": "", "b": "a", "c": "b a"}))
    assert drawn.splitlines()[5:8] == ["┌───┐  │", "│ b │  │", "└─┬─┘  │"]


def test_what_is_too_wide_is_listed() -> None:
    """A graph that does not fit is a list of layers, with counts by service and state."""
    wide = _workflow({"first": "", **{f"t{n}": "first" for n in range(1200)}})
    states = {"first": "done", **{f"t{n}": "done" if n else "failed" for n in range(1200)}}
    assert text(wide, states) == (
        "flow: 1,201 tasks in 2 layers\n"
        "layer 1: 1 task, 1 done\n"
        "  first (s)\n"
        "layer 2: 1,200 tasks, 1,199 done, 1 failed\n"
        "  s × 1,200: t0, t1, t2, …\n"
    )


def test_the_width_decides() -> None:
    """The same graph is drawn where there is room and listed where there is none."""
    row = _workflow({f"task_number_{n}": "" for n in range(4)})
    assert text(row, width=100).startswith("┌")
    assert text(row, width=40).startswith("flow: 4 tasks in 1 layer")
