"""Pictures of workflows: text for the terminal, DOT for Graphviz, SVG for everything else.

Reading order: marks, graph, layout, then canvas and text, dot, svg. All of it is pure: a workflow, and perhaps the
states of its tasks, in; a text out.
"""

from solvent.workflow.drawing.dot import dot
from solvent.workflow.drawing.svg import svg
from solvent.workflow.drawing.text import text

__all__ = ["dot", "svg", "text"]
