"""The states of a program, as a graph to draw: the first, the final ones, and two runs that diverge.

A state is its solution, and an arrow the rule that reacts. Each state has a number, by which it is known in all
pictures.
"""

from __future__ import annotations

from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Protocol

from solvent.engine.successors import successors
from solvent.lang.printer import print_molecule
from solvent.pictures.graph import Edge, Graph, Node, ways_back
from solvent.pictures.text_width import cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from solvent.lang.solution import Solution
    from solvent.pictures.graph import Link

_LETTERS = 28
_MAX_LINES = 4
LABEL_LETTERS = 24
_MAX_TIP = 1_000
_MAX_WAY = 12


class Explored(Protocol):
    """What `explore` returns, as far as it can be seen in a picture."""

    edges: list[list[int]]
    is_complete: bool

    @property
    def states(self) -> Sequence[Solution]:
        """All states, the first one first."""

    @property
    def finals(self) -> list[int]:
        """The numbers of those in which nothing can react."""

    @property
    def confluent(self) -> bool | None:
        """Whether any two runs can still meet."""

    def cycle(self) -> list[int] | None:
        """Return states that lead back to the first of them, or `None`."""

    def divergence(self) -> tuple[int, int]:
        """Return two states whose runs can never meet again."""

    def path(self, state: int) -> list[int]:
        """Return the states through which a state was first reached."""


def graph_of_states(found: Explored, name: str) -> Graph:
    """Return the states of a program; a run to each of two ends that differ, or one that never ends, can be seen."""
    finals = {*found.finals}
    ends: dict[int, str] = {}
    run: list[Link] = []
    legend = [] if found.is_complete else ["… there are more states"]
    cycle = found.cycle()
    if found.confluent is False:
        one, other = found.divergence()
        ends = {one: "one run", other: "another run"}
        ways = [[0, *found.path(end)] for end in (one, other)]
        run = [link for way in ways for link in pairwise(way)]
        legend.append(f"two runs that diverge: {told(ways[0])}, and {told(ways[1])}")
    elif cycle is not None:
        before = [0, *found.path(cycle[0])]
        run = [*pairwise(before), *pairwise([*cycle, cycle[0]])]
        legend.append(f"a run that never ends: {told([*before, *cycle[1:], cycle[0]])} ...")
    rules, missing = _rules(found)
    nodes = []
    for number, state in enumerate(found.states):
        what = [f"#{number}", *(["start"] if not number else []), *(["final"] if number in finals else [])]
        what += [ends[number]] if number in ends else []
        what += [f"… {missing[number]} more"] if missing[number] else []
        kind = "diverging" if number in ends else "final" if number in finals else "" if number else "start"
        what += ["↺ by " + " or ".join(rules[number, number])] if (number, number) in rules else []
        nodes.append(node_of(number, what, print_molecule(state), kind, is_open=missing[number] > 0))
    labels = {link: " or ".join(some) for link, some in rules.items()}
    return Graph(tuple(nodes), edges_of(len(nodes), labels, run), name, tuple(legend), noun="state", when="by")


def _rules(found: Explored) -> tuple[dict[Link, list[str]], list[int]]:
    """Return the rules that lead from state to state, and to how many states that were not looked at each leads."""
    rules: dict[Link, list[str]] = {}
    missing = []
    for state, onward in enumerate(found.edges):
        unknown = 0
        for rule, after in successors(found.states[state]):
            target = next((one for one in onward if found.states[one] == after), None)
            if target is None:
                unknown += 1
                continue
            label = cut(rule.name or rule.text, LABEL_LETTERS)
            known = rules.setdefault((state, target), [])
            if label not in known:
                known.append(label)
        missing.append(unknown)
    return rules, missing


def told(way: Sequence[int]) -> str:
    """Return through which states a way leads, of a long one the ends."""
    names = [f"#{state}" for state in way]
    if len(names) > _MAX_WAY:
        names = [*names[: _MAX_WAY // 2], "…", *names[-_MAX_WAY // 2 :]]
    return " → ".join(names)


def node_of(number: int, what: Sequence[str], text: str, state: str, more: str = "", *, is_open: bool = False) -> Node:
    """Return the box of a state: what it is, its text in a few lines, and what else is said of it."""
    shown = wrap(text, _LETTERS, break_on_hyphens=False) or [""]
    if len(shown) > _MAX_LINES:
        shown = [*shown[: _MAX_LINES - 1], cut(" ".join(shown[_MAX_LINES - 1 :]), _LETTERS)]
    lines = [("", " · ".join(what)), *(("code", line) for line in shown)]
    lines += [("service", line) for line in wrap(more, _LETTERS)[:_MAX_LINES]]
    tip = " · ".join([*what, text[:_MAX_TIP]])
    return Node(f"#{number}", tuple(lines), state, is_dashed=is_open, tip=tip)


def edges_of(count: int, labels: Mapping[Link, str], run: Iterable[Link]) -> tuple[Edge, ...]:
    """Return the arrows between states; those of a run that is to be seen stand out."""
    seen = {*run}
    back = ways_back(count, labels)
    return tuple(
        Edge(*link, "run" if link in seen else "back" if link in back else "", label) for link, label in labels.items()
    )


__all__ = ["LABEL_LETTERS", "edges_of", "graph_of_states", "node_of", "told"]
