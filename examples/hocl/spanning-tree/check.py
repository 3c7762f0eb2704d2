"""Which final states are legal: four links of the graph that connect its five nodes."""

from __future__ import annotations

import solvent

NODES = set("ABCDE")
LINKS = {("A", "B"), ("B", "C"), ("C", "A"), ("C", "D"), ("D", "E"), ("E", "B"), ("A", "E")}


def is_final(solution: solvent.hocl.Solution) -> bool:
    """Say whether the links kept are a spanning tree and no link is left undecided."""
    parts = [one for one in solution if isinstance(one, tuple)]
    tree = [(one[1].name, one[2].name) for one in parts if one[0] is solvent.hocl.Symbol("TREE")]
    groups = [{node.name for node in one[1]} for one in parts if one[0] is solvent.hocl.Symbol("GROUP")]
    reached = {"A"}
    for _ in NODES:
        reached |= {end for link in tree for end in link if reached & set(link)}
    return (
        len(parts) == len(tree) + len(groups)
        and len(tree) == len(NODES) - 1
        and set(tree) <= LINKS
        and reached == NODES
        and groups == [NODES]
    )
