"""The graph to draw: tasks, and the links along which results go.

A solid link is taken when all goes well. A dashed one leads to or from a task that waits for an alternative: what such
a task takes, and where its result goes if it stands in for another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from solvent.workflow.model import Alternative, Workflow


class Graph(msgspec.Struct, frozen=True):
    """Tasks by number, and links between them."""

    names: tuple[str, ...]
    solid: frozenset[tuple[int, int]]
    dashed: frozenset[tuple[int, int]]
    """Links of tasks that wait for an alternative."""
    stand_in: frozenset[tuple[int, int]]
    """Those of the dashed links that lead to what uses the result of the replaced task."""
    asleep: frozenset[int]

    @property
    def links(self) -> list[tuple[int, int]]:
        """All links, in the order of their tasks."""
        return sorted(self.solid | self.dashed)


def graph_of(workflow: Workflow) -> Graph:
    """Number the tasks of a workflow and collect their links; names that are no tasks are left out."""
    names = tuple(dict.fromkeys(task.name for task in workflow.tasks))
    number = {name: index for index, name in enumerate(names)}
    asleep = frozenset(number[name] for name in workflow.dormant)
    links = {
        (number[source], number[task.name]) for task in workflow.tasks for source in task.sources if source in number
    }
    links = {(source, target) for source, target in links if source != target}
    dashed = {link for link in links if asleep.intersection(link)}
    onward = workflow.destinations
    stand_in = {
        (number[new], number[target])
        for alternative in workflow.alternatives
        for old, new in alternative.exits.items()
        for target in onward.get(old, ())
        if new in number and target in number and new != target
    }
    stand_in -= links
    return Graph(names, frozenset(links - dashed), frozenset(dashed | stand_in), frozenset(stand_in), asleep)


def explained(alternative: Alternative) -> str:
    """Put an alternative into a line: `b instead of a, on failure`."""
    news = ", ".join(dict.fromkeys(alternative.exits.values()))
    line = f"{news} instead of {', '.join(alternative.replaced)}"
    reasons = [f"on {reason}" for reason in alternative.on if reason != "condition"]
    if "condition" in alternative.on:
        reasons.append(f"if {alternative.when or _predicate(alternative.predicate)}")
    line += f", {' or '.join(reasons)}"
    return f"{line}, watching {', '.join(alternative.watch)}" if alternative.watch else line


def _predicate(predicate: object) -> str:
    name = getattr(predicate, "__name__", "")
    return f"{name}(result)" if name.isidentifier() else "its result is rejected"


__all__ = ["Graph", "explained", "graph_of"]
