"""A program in parts: what every node knows, and which molecules each of them begins with.

Every node knows the rules that stand and the molecules of which there are always more. Molecules that have a home (see
`homes`) are dealt to it, and all others one by one, round and round; loose rules go to the first node together, since
they often concern each other. A program that must stay together (see `standing`) is the first node's as a whole.

Nodes read the rules from the program's own text, so that errors in them point to the right place. The data in it is
blanked out first, line by line and column by column: it travels as shares, and large programs are mostly data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import SolventError
from solvent.hocl.program import Program, parse
from solvent.lang.molecule import Endless, Molecule
from solvent.lang.rule import Rule, closed_rule
from solvent.lang.syntax import (
    Expression,
    LetNode,
    ListNode,
    Literal,
    Multiplet,
    Name,
    RuleNode,
    SolutionNode,
    TupleNode,
)
from solvent.runs.nodes.homes import home_of
from solvent.runs.nodes.shapes import Shapes
from solvent.runs.nodes.standing import Rules
from solvent.runs.nodes.writing import Writing

if TYPE_CHECKING:
    from solvent.lang.solution import Solution


class Deal:
    """A program in parts.

    `standing` are the rules that stand, by their numbers among `rules_in` the program, each once; `copies` what the
    solution has of them, and of what is `endless`, in the end; `words` and `homes` what nodes listen to.
    `why_together` is empty unless everything is in one share.
    """

    def __init__(self, program: Program, solution: Solution, nodes: int) -> None:
        writing = Writing(program)
        named = rules_in(program)
        molecules = list(solution)
        rules = Rules(molecules)
        self.why_together = rules.why_together
        self.standing: list[int] = []
        self.endless: list[str] = []
        self.copies: list[Molecule] = []
        self.words = [] if self.why_together else rules.words()
        self.homes = {} if self.why_together else rules.homes()
        self.shares: list[list[str]] = [[] for _ in range(nodes)]
        if self.why_together:
            self.shares[0] = [writing.write(one) for one in molecules]
            return
        numbers: dict[int, int] = {}
        for number, rule in enumerate(map(_inner, named)):
            numbers.setdefault(id(rule), number)
        standing = {id(one) for one in rules.standing if id(_inner(one)) in numbers}
        shapes = Shapes(self.words, self.homes)
        turn = 0
        for molecule in molecules:
            if id(molecule) in standing:
                number = numbers[id(_inner(molecule))]
                if number not in self.standing:
                    self.standing.append(number)
                self.copies.append(molecule)
            elif type(molecule) is Endless and type(molecule.molecule) is not Rule:
                self.endless.append(writing.write(molecule))
                self.copies.append(molecule)
            elif type(_inner(molecule)) is Rule:
                self.shares[0].append(writing.write(molecule))
            elif (home := shapes.home(molecule)) is not None:
                self.shares[home_of(home, nodes)].append(writing.write(molecule))
            else:
                self.shares[turn % nodes].append(writing.write(molecule))
                turn += 1


def _inner(molecule: Molecule) -> Molecule:
    return molecule.molecule if type(molecule) is Endless else molecule


# --- The rules in a program's text.


def rules_in(program: Program) -> list[Rule | Endless]:
    """Give the rules that stand in the outermost solution as written, without computing anything else in it."""
    found: list[Rule | Endless] = []
    names: dict[str, Rule] = {}
    _collect(_outermost(program.tree.body, names), names, found)
    return found


def _outermost(nodes: list[Expression], names: dict[str, Rule] | None = None) -> list[Expression]:
    """Give the items of the outermost solution, and note what the lets around it name."""
    while len(nodes) == 1:
        only = nodes[0]
        if isinstance(only, LetNode):
            if names is not None:
                names |= {binding.name: closed_rule(binding.rule) for binding in only.bindings}
            nodes = only.body
        elif isinstance(only, SolutionNode):
            return only.items
        else:
            break
    return nodes


def _collect(nodes: list[Expression], names: dict[str, Rule], found: list[Rule | Endless]) -> None:
    for node in nodes:
        item = node.item if isinstance(node, Multiplet) else node
        if isinstance(item, LetNode):
            inner = names | {binding.name: closed_rule(binding.rule) for binding in item.bindings}
            _collect(item.body, inner, found)
            continue
        rule: Any = None
        if isinstance(item, RuleNode):
            rule = closed_rule(item)
        elif isinstance(item, Name):
            rule = names.get(item.text)
        if rule is not None:
            is_endless = isinstance(node, Multiplet) and node.count is None
            found.append(Endless(rule) if is_endless else rule)


def text_of_rules(program: Program) -> str:
    """Give the program's text with plain data blanked out, such that all rules stand where they stood."""
    text = program.source.text
    items = _outermost(program.tree.body)
    pieces: list[str] = []
    at = 0
    for start, end in _plain_runs(items):
        # One number stays in the place of many, so that commas and brackets around them need no change.
        blank = "".join(one if one in "\n\r" else " " for one in text[start + 1 : end])
        pieces += [text[at:start], "0", blank]
        at = end
    shorter = "".join((*pieces, text[at:]))
    try:
        same = rules_in(parse(shorter, name=program.source.name, functions=program.functions))
    except SolventError:
        # Brackets around single data items, for one, are not where the items are.
        return text
    is_same = [one.node for one in map(_inner, same)] == [one.node for one in map(_inner, rules_in(program))]
    return shorter if is_same else text


def _plain_runs(items: list[Expression]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    is_open = False
    for item in items:
        if not _is_plain(item):
            is_open = False
        elif is_open:
            runs[-1] = (runs[-1][0], item.end)
        else:
            runs.append((item.start, item.end))
            is_open = True
    return runs


def _is_plain(node: Expression) -> bool:
    if isinstance(node, TupleNode):
        return all(map(_is_plain, node.parts))
    if isinstance(node, ListNode):
        return all(map(_is_plain, node.items))
    return isinstance(node, Literal)


__all__ = ["Deal", "rules_in", "text_of_rules"]
