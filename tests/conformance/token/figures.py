"""What the tests of the token paper's systems share: their rows on the page about them, and tokens at rest."""

from __future__ import annotations

import re
from typing import NamedTuple

import solvent
from solvent.lang.molecule import Symbol
from solvent_lab.token_systems import Bounds
from tests.repo.project import ROOT

PAGE = ROOT / "docs" / "explanation" / "token-systems.md"
MAX_QUICK = 5_000
"""Explorations of more states are left to `make soak`."""
_ROW = re.compile(r"^\| `(\w+)` \|((?: *[\d,-]+ *\|){6}) *(.*?) *\|$", re.MULTILINE)


class Row(NamedTuple):
    """One row of the page's table of states."""

    system: str
    bounds: Bounds
    states: int
    reactions: int
    shown: str


def rows() -> list[Row]:
    """Read the table of states on the page about the systems."""
    found = []
    for system, cells, shown in _ROW.findall(PAGE.read_text(encoding="utf-8")):
        numbers = [int(cell.replace(",", "").replace("-", "0")) for cell in cells.split("|")[:-1]]
        found.append(Row(system, Bounds(*numbers[:4]), numbers[4], numbers[5], shown))
    return found


def missed(rules: str, nodes: int) -> list[tuple[int, int]]:
    """Let every node search for a token that rests, wherever it may; give each visit and requester that misses it."""
    # One node asks, and its search has as many messages as it likes.
    rules = rules.replace("replace P:x:h:s, NODES:n, SEARCH", "replace ASKS:x, P:x:h:s, NODES:n")
    names = [name for name in re.findall(r"^let ([\w']+)", rules, re.MULTILINE) if name != "binary_rule7"]
    program = solvent.hocl.parse(f"{rules}\n<{', '.join(names)}>")
    found = []
    for visits in range(1, nodes + 2):
        holder = (visits - 1) % nodes
        stamps = [0] * nodes
        for visit in range(1, visits + 1):
            stamps[(visit - 1) % nodes] = visit
        known = ", ".join(f"P:{node}:():{stamp}" for node, stamp in enumerate(stamps))
        for requester in set(range(nodes)) - {holder}:
            first = program.solution()
            first.extend(solvent.hocl.molecules(f"{known}, NODES:{nodes}, T:{holder}, ASKS:{requester}, SEARCH^9"))
            explored = solvent.hocl.explore(first)
            (final,) = explored.finals
            if (Symbol("W"), holder, requester) not in explored.states[final]:
                found.append((visits, requester))
    return found
