"""Rules as molecules: a rule's tree together with the values it closed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.lang.molecule import List, Molecule, Opaque, Symbol, copied, equal
from solvent.lang.printer import TreePrinter
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from solvent.lang.syntax import RuleNode


class Rule:
    """A rule as a molecule: `rule(text)` and parsing make it. It never changes, so one object may stand in many places.

    >>> from solvent import hocl
    >>> add = hocl.rule("replace-one x, y by x + y", name="add")
    >>> add.name, add.one_shot, add.text
    ('add', True, 'replace-one x, y by x + y')
    """

    __slots__ = ("_text", "captured", "node")
    is_rule = True
    _text: str

    def __init__(self, node: RuleNode, captured: tuple[Molecule, ...] = ()) -> None:
        self.node = node
        self.captured = captured

    @property
    def name(self) -> str | None:
        """The name of the rule, from a `let` or `(name = replace ...)`."""
        return self.node.name

    @property
    def one_shot(self) -> bool:
        """Whether its reaction consumes the rule."""
        return self.node.one_shot

    def copied(self, room: list[int] | None = None) -> Rule:
        """Return a rule that shares no captured solution with this one; `room` as for `copied`."""
        if not self.captured:
            return self
        captured = tuple(copied(one, room) for one in self.captured)
        return self if all(map(_is, captured, self.captured)) else Rule(self.node, captured)

    @property
    def text(self) -> str:
        """The rule in full: captured values, and the rules that it names, in place of their names."""
        try:
            return self._text
        except AttributeError:
            self._text = TreePrinter(self, {}).rule(self.node)
            return self._text

    def order_key(self) -> tuple[Any, ...]:
        """Return a key that orders rules by name, then by text."""
        return (7, self.node.name or "", self.text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rule):
            return NotImplemented
        if self.node is other.node:
            return all(map(equal, self.captured, other.captured))
        # A value captured and the same value written are the same to a reader, so they are to `==`.
        return self.node.name == other.node.name and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.node.name)

    def __repr__(self) -> str:
        return f"Rule({self.node.name or 'anonymous'})"


def closed_rule(node: RuleNode) -> Rule:
    """Return the one molecule of a rule that captures nothing."""
    if node.molecule is None:
        node.molecule = Rule(node)
    rule: Rule = node.molecule
    return rule


def _is(one: object, other: object) -> bool:
    return one is other


KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "Integer": (int,),
    "long": (int,),
    "Long": (int,),
    "BigInteger": (int,),
    "float": (float,),
    "Float": (float,),
    "double": (float,),
    "Double": (float,),
    "number": (int, float),
    "Number": (int, float),
    "string": (str,),
    "String": (str,),
    "bool": (bool,),
    "boolean": (bool,),
    "Boolean": (bool,),
    "symbol": (Symbol,),
    "tuple": (tuple,),
    "list": (List,),
    "solution": (Solution,),
    "rule": (Rule,),
    "opaque": (Opaque,),
    # In 2009 a Java object: data, and no structure that the chemistry itself is made of.
    "Object": (int, float, str, bool, Symbol, List, Opaque),
}
"""The words for kinds of molecules in a pattern `x::kind`, and the Python types each stands for."""
