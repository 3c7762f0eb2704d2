"""Pictures: graphs in layers, times and messages. All of it is pure, and knows nothing of what is drawn.

Reading order: graph, layers (with crossings), grouping, lettering, places; for the terminal canvas, channels, text; for
everything else sheet, palette, drawn, then svg, png; dot.
"""

from solvent.pictures.dot import dot
from solvent.pictures.drawn import drawn
from solvent.pictures.graph import Edge, Graph, Node
from solvent.pictures.grouping import Grouped, group
from solvent.pictures.places import Box, Label, Piece, Places, place
from solvent.pictures.png import png
from solvent.pictures.svg import svg
from solvent.pictures.text import text

__all__ = [
    "Box", "Edge", "Graph", "Grouped", "Label", "Node", "Piece", "Places", "dot", "drawn", "group", "place", "png",
    "svg", "text",
]  # fmt: skip
