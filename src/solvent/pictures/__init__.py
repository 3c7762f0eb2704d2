"""Pictures of graphs and timelines, as text, SVG, PNG and DOT. Pure; knows nothing of workflows or runs.

Reading order: `graph`, `layers`, `groups`; `text_width`, `terminal`; `shapes`, `geometry`, then `svg`, `png`, `dot`;
`timeline`, `tables`.
"""

from solvent.pictures.dot import dot
from solvent.pictures.geometry import drawn, place
from solvent.pictures.graph import Edge, Graph, Node
from solvent.pictures.groups import group
from solvent.pictures.png import png
from solvent.pictures.svg import svg
from solvent.pictures.terminal import text

__all__ = ["Edge", "Graph", "Node", "dot", "drawn", "group", "place", "png", "svg", "text"]
