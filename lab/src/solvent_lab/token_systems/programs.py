"""The systems as programs for any number of nodes: first states, mappings, and what must never be.

    program("search", Bounds(nodes=4, data=1, searches=1))      # a text that `solvent explore -` reads

The figures have no end of data to say, searches to make and rounds to go; here these are molecules of the first state
that the rules use up, so that a program has finitely many states: NEW, SEARCH and PASS.

Texts only: `exploration` makes programs of them.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

_PACKAGE = "solvent_lab.token_systems"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LET = re.compile(r"^let ([\w']+)", re.MULTILINE)


class Bounds(NamedTuple):
    """How large a system is: its nodes, what they will say in all, and how many searches and passes there may be."""

    nodes: int
    data: int = 0
    searches: int = 0
    passes: int = 0


class System(NamedTuple):
    """One of the systems: where it stands in the paper, what it refines, and bounds that are soon exhausted."""

    title: str
    refines: str | None
    # How many reactions of the system it refines one of its own may be.
    max_steps: int
    bounds: tuple[Bounds, ...]


SYSTEMS = {
    "s": System("S, figure 2", None, 1, (Bounds(2, 2), Bounds(3, 3), Bounds(4, 4))),
    "s1": System("S1, figure 3", "s", 1, (Bounds(2, 2), Bounds(3, 3), Bounds(4, 4))),
    # Rule 2 of Token is rules 2 and 3 of S1 in one.
    "token": System("Token, figure 4", "s1", 2, (Bounds(2, 2), Bounds(3, 3), Bounds(4, 4))),
    "message_passing": System("Message-Passing, figure 5", "token", 1, (Bounds(2, 2), Bounds(3, 3), Bounds(4, 4))),
    "ring": System("Message-Passing with rule 3'", "message_passing", 1, (Bounds(2, 2), Bounds(3, 3), Bounds(4, 4))),
    "search": System("Search, figure 6", "message_passing", 1, (Bounds(2, 2, 2), Bounds(3, 1, 2), Bounds(4, 1, 1))),
    # Rule 8 of BinarySearch receives the token and sends it back: rules 3 and 4 of Search.
    "binary_search": System(
        "BinarySearch, figure 7", "search", 2, (Bounds(2, 2, 2, 2), Bounds(3, 2, 2, 2), Bounds(4, 2, 2, 2))
    ),
}
"""The systems by name, from the specification to the protocol."""


def program(system: str, bounds: Bounds, *, printed: bool = False, without: Collection[str] = ()) -> str:
    """Return a system for so many nodes, as printed if that is asked for, and without some of its rules."""
    text = _text(f"printed/{system}" if printed else system)
    rules = text[: text.rindex("\n<")]
    names = [name for name in _LET.findall(rules) if name not in without]
    molecules = [*first_state(system, bounds, printed=printed), *names]
    return f"{rules}\n<{', '.join(molecules)}>\n"


def first_state(system: str, bounds: Bounds, *, printed: bool = False) -> list[str]:
    """Return the molecules that a system begins with; node 0 has the token."""
    nodes = range(bounds.nodes)
    found = [f"Q:{x}:()" for x in nodes]
    if system == "binary_search":
        found += [f"P:{x}:(():())" if printed else f"P:{x}:():{int(x == 0)}" for x in nodes]
        found += [f"NODES:{bounds.nodes}", f"PASS^{bounds.passes}"]
    elif system != "s":
        found += [f"P:{x}:()" for x in nodes]
    if system in ("token", "message_passing", "search"):
        found += [f"NODE:{x}" for x in nodes]
    if system == "ring":
        found += [f"NEXT:{x}:{(x + 1) % bounds.nodes}" for x in nodes]
    if system in ("s", "s1", "token"):
        found.append("H:()")
    if system not in ("s", "s1"):
        found.append("T:0")
    if system in ("search", "binary_search"):
        found.append(f"SEARCH^{bounds.searches}")
    return found + [_datum(number, bounds.nodes) for number in range(bounds.data)]


def _datum(number: int, nodes: int) -> str:
    """Name what a node will say by its letter and how many times it has spoken; the nodes take turns."""
    node = number % nodes
    letter = _LETTERS[node] if node < len(_LETTERS) else f"Node{node}_"
    return f"NEW:{node}:{letter}{number // nodes + 1}"


def mapping(system: str) -> str:
    """Return the rules that make of a system's states those of the one it refines."""
    return _text(f"mapping/{system}")


def never(system: str, *, printed: bool = False) -> str | None:
    """Return the rules that describe what must never be in a system; no single state of S can be wrong."""
    if system == "s":
        return None
    if printed and system in ("search", "binary_search"):
        return _text(f"printed/never/{system}")
    return _text(f"never/{_NEVER.get(system, system)}")


_NEVER = {"token": "s1", "ring": "message_passing"}


def _text(name: str) -> str:
    return (resources.files(_PACKAGE) / f"{name}.hocl").read_text(encoding="utf-8")


__all__ = ["SYSTEMS", "Bounds", "System", "first_state", "mapping", "never", "program"]
