"""Pictures: graphs in layers. All of it is pure, and knows nothing of what is drawn.

Reading order: graph, layers (with crossings), grouping, lettering, places.
"""

from solvent.pictures.graph import Edge, Graph, Node
from solvent.pictures.grouping import Grouped, group
from solvent.pictures.places import Box, Label, Piece, Places, place

__all__ = ["Box", "Edge", "Graph", "Grouped", "Label", "Node", "Piece", "Places", "group", "place"]
