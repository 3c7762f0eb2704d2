"""The workflows that are measured: one task splits into n branches, and something joins them."""

from collections.abc import Callable

from solvent.workflows.model import Control, Many, Route, Service, Task, Test, Value, Workflow


def answer(*_: object) -> int:
    """Be the service of every task: it costs nothing, so what is measured is the pattern."""
    return 1


def shape(name: str, size: int) -> Workflow:
    """Make a workflow of so many branches."""
    return Workflow(name, SHAPES[name](size), (Service("s", function=answer),))


def runs(name: str, size: int) -> int:
    """Say how often the last task of a shape must run."""
    return size if name == "multi-merge" else 1


def _joined(join: Control | None, first: Control | None = None) -> Callable[[int], tuple[Task, ...]]:
    def make(size: int) -> tuple[Task, ...]:
        names = tuple(f"B{number}" for number in range(size))
        branches = [Task(name, "s", after=("A",)) for name in names]
        return Task("A", "s", control=first), *branches, Task("J", "s", after=names, control=join)

    return make


def _half(size: int) -> tuple[Task, ...]:
    return _joined(Control(join="first", need=max(1, size // 2)))(size)


def _multi_choice(size: int) -> tuple[Task, ...]:
    routes = tuple(Route(f"B{number}", Test(f"{number} % 2 == 0")) for number in range(size))
    return _joined(Control(join="active"), Control(split="some", routes=routes))(size)


def _instances(size: int) -> tuple[Task, ...]:
    many = Control(many=Many(count=Value(size)))
    return Task("A", "s"), Task("B", "s", after=("A",), control=many), Task("J", "s", after=("B",))


def _threads(size: int) -> tuple[Task, ...]:
    merge = Task("J", "s", after=("B",), control=Control(threads=size))
    return Task("A", "s", control=Control(copies=size)), Task("B", "s", after=("A",)), merge


def _locked(size: int) -> tuple[Task, ...]:
    names = tuple(f"B{number}" for number in range(size))
    lock = Control(takes=("L",), gives=("L",))
    return Task("A", "s"), *[Task(name, "s", after=("A",), control=lock) for name in names], Task("J", "s", after=names)


SHAPES: dict[str, Callable[[int], tuple[Task, ...]]] = {
    "plain": _joined(None),
    "synchronization": _joined(Control(join="all")),
    "discriminator": _joined(Control(join="first")),
    "multi-merge": _joined(Control(join="any")),
    "partial join": _half,
    "cancelling discriminator": _joined(Control(join="first", cancels_rest=True)),
    "synchronizing merge": _multi_choice,
    "multiple instances": _instances,
    "thread split and merge": _threads,
    "interleaved routing": _locked,
}
"""Shapes by name; `plain` has the same graph without any control."""

__all__ = ["SHAPES", "runs", "shape"]
