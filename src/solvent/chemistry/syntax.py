"""The tree of a program: expressions, patterns and rules.

The parser makes it, the printer writes it, `hocl.scope` resolves its names, the engine compiles it. A node
knows where it stands (`start`, `end`), which takes no part in equality: two texts that read the same are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from solvent.source import Source


@dataclass(slots=True)
class Node:
    """A place in the text."""

    start: int = field(default=-1, compare=False, repr=False, kw_only=True)
    end: int = field(default=-1, compare=False, repr=False, kw_only=True)


# --- Patterns: what a left side may say.


@dataclass(slots=True)
class VariablePattern(Node):
    """`x` or `x::int`: any one molecule, of that kind. The same name twice asks for equal molecules."""

    name: str
    kind: str | None = None


@dataclass(slots=True)
class LiteralPattern(Node):
    """`3`, `"a"`, `SRC`: this very atom."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiteralPattern) and _same_value(self.value, other.value)


@dataclass(slots=True)
class RestPattern(Node):
    """`?w`, or `+w` where at least one must be left: all that the other patterns leave."""

    name: str
    at_least_one: bool = False


@dataclass(slots=True)
class RulePattern(Node):
    """`max = m`: a rule of that name, bound to `m`."""

    rule: str
    name: str


@dataclass(slots=True)
class TuplePattern(Node):
    """`a : b : c`."""

    parts: list[Pattern]


@dataclass(slots=True)
class ListPattern(Node):
    """`()`, `(x, ?rest)`; a rest may stand anywhere, once."""

    items: list[Pattern]


@dataclass(slots=True)
class SolutionPattern(Node):
    """`<a, b, ?w>`: an inert sub-solution."""

    items: list[Pattern]


Pattern: TypeAlias = (
    VariablePattern | LiteralPattern | RestPattern | RulePattern | TuplePattern | ListPattern | SolutionPattern
)

# --- Expressions: conditions and products.


@dataclass(slots=True)
class Literal(Node):
    """`3`, `"a"`, `true`, `SRC`."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and _same_value(self.value, other.value)


@dataclass(slots=True)
class Name(Node):
    """A lower-case name: a variable, a rest, or a rule that a `let` names."""

    text: str


@dataclass(slots=True)
class TupleNode(Node):
    """`a : b : c`."""

    parts: list[Expression]


@dataclass(slots=True)
class ListNode(Node):
    """`()`, `(1, 2)`."""

    items: list[Expression]


@dataclass(slots=True)
class SolutionNode(Node):
    """`<a, b>`."""

    items: list[Expression]


@dataclass(slots=True)
class Multiplet(Node):
    """`m^4`; `m^inf` has no count."""

    item: Expression
    count: Expression | None


@dataclass(slots=True)
class Unary(Node):
    """`-x`, `!x`."""

    operator: str
    operand: Expression


@dataclass(slots=True)
class Binary(Node):
    """`x + y`, `x >= y`, `x && y`, `x in l`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(slots=True)
class Call(Node):
    """`f(x, y)`, also written `x.f(y)`."""

    function: str
    arguments: list[Expression]
    method: bool = False


@dataclass(slots=True)
class RuleNode(Node):
    """A rule as written. `inject M with P` is kept as such (`catalysts`), so it prints as it was read."""

    patterns: list[Pattern]
    product: list[Expression]
    condition: Expression | None = None
    one_shot: bool = False
    name: str | None = None
    is_inject: bool = False
    # Filled in by `hocl.scope`: the text it stands in, the functions it may call, and what its names mean.
    functions: Any = field(default=None, compare=False, repr=False)
    source: Source | None = field(default=None, compare=False, repr=False)
    captures: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    is_recursive: bool = field(default=False, compare=False, repr=False)
    rules: dict[str, RuleNode] = field(default_factory=dict, compare=False, repr=False)
    # Made when first asked for: the compiled form (by the engine), and the one molecule of a rule that captures nothing.
    code: Any = field(default=None, compare=False, repr=False)
    molecule: Any = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class Binding(Node):
    """`let [rec] name = rule in`."""

    name: str
    rule: RuleNode
    recursive: bool = False


@dataclass(slots=True)
class LetNode(Node):
    """Lets that follow each other, and the molecules they are for."""

    bindings: list[Binding]
    body: list[Expression]


Expression: TypeAlias = (
    Literal | Name | TupleNode | ListNode | SolutionNode | Multiplet | Unary | Binary | Call | RuleNode | LetNode
)


@dataclass(slots=True)
class ProgramNode(Node):
    """A whole file: what its lets name, and the molecules after them."""

    body: list[Expression]
    comments: list[tuple[int, str]] = field(default_factory=list, compare=False, repr=False)
    header: list[str] = field(default_factory=list, compare=False, repr=False)


def _same_value(one: object, other: object) -> bool:
    return type(one) is type(other) and (one == other or (one != one and other != other))  # noqa: PLR0124
