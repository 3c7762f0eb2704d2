"""Pictures of workflows: text for the terminal, DOT for Graphviz, SVG for everything else.

Reading order: marks, graph; the rest is `solvent.pictures`. All of it is pure: a workflow, and perhaps the states of
its tasks, in; a text out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent import pictures
from solvent.workflow.drawing.graph import graph_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.workflow.model import Workflow


def text(workflow: Workflow, states: Mapping[str, str] | None = None, *, width: int = 100) -> str:
    """Draw a workflow in at most `width` columns, with a mark for each task's state, and list its alternatives."""
    return pictures.text(graph_of(workflow, states), width=width)


def svg(workflow: Workflow, states: Mapping[str, str] | None = None) -> str:
    """Draw a workflow, alternatives dashed, tasks coloured by their states."""
    return pictures.svg(pictures.drawn(graph_of(workflow, states)))


def dot(workflow: Workflow, states: Mapping[str, str] | None = None) -> str:
    """Write a workflow for Graphviz, alternatives and ways back dashed, tasks coloured by their states."""
    return pictures.dot(graph_of(workflow, states))


__all__ = ["dot", "graph_of", "svg", "text"]
