"""The tree of a program: expressions, patterns and rules.

The parser makes it, the printer writes it, `scope` resolves its names, the engine compiles it. A node
knows where it stands (`start`, `end`), which takes no part in equality: two texts that read the same are
the same.

The classes are written out: making them with `dataclasses` took a fifth of the start-up of `solvent run`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.source import Source


class Node:
    """A place in the text. `fields` names what a node says, in the order in which it is given."""

    __slots__ = ("end", "start")
    fields: ClassVar[tuple[str, ...]] = ()
    start: int
    end: int

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_same_value(getattr(self, name), getattr(other, name)) for name in self.fields)

    # A node changes while it is read and resolved, so it cannot be a key.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.fields)
        return f"{type(self).__name__}({said})"


# --- Patterns: what a left side may say.


class VariablePattern(Node):
    """`x` or `x::int`: any one molecule, of that kind. The same name twice asks for equal molecules."""

    __slots__ = ("kind", "name")
    fields = ("name", "kind")

    def __init__(self, name: str, kind: str | None = None, *, start: int = -1, end: int = -1) -> None:
        self.name = name
        self.kind = kind
        self.start = start
        self.end = end


class LiteralPattern(Node):
    """`3`, `"a"`, `SRC`: this very atom. `spelling` is set where a constant of Java names it."""

    __slots__ = ("spelling", "value")
    fields = ("value",)

    def __init__(self, value: Any, *, spelling: str = "", start: int = -1, end: int = -1) -> None:
        self.value = value
        self.spelling = spelling
        self.start = start
        self.end = end


class RestPattern(Node):
    """`?w`, or `+w` where at least one must be left: all that the other patterns leave."""

    __slots__ = ("at_least_one", "name")
    fields = ("name", "at_least_one")

    def __init__(self, name: str, at_least_one: bool = False, *, start: int = -1, end: int = -1) -> None:  # noqa: FBT001, FBT002
        self.name = name
        self.at_least_one = at_least_one
        self.start = start
        self.end = end


class RulePattern(Node):
    """`max = m`: a rule of that name, bound to `m`."""

    __slots__ = ("name", "rule")
    fields = ("rule", "name")

    def __init__(self, rule: str, name: str, *, start: int = -1, end: int = -1) -> None:
        self.rule = rule
        self.name = name
        self.start = start
        self.end = end


class TuplePattern(Node):
    """`a : b : c`."""

    __slots__ = ("parts",)
    fields = ("parts",)

    def __init__(self, parts: list[Pattern], *, start: int = -1, end: int = -1) -> None:
        self.parts = parts
        self.start = start
        self.end = end


class ListPattern(Node):
    """`()`, `(x, ?rest)`; a rest may stand anywhere, once."""

    __slots__ = ("items",)
    fields = ("items",)

    def __init__(self, items: list[Pattern], *, start: int = -1, end: int = -1) -> None:
        self.items = items
        self.start = start
        self.end = end


class SolutionPattern(Node):
    """`<a, b, ?w>`: an inert sub-solution."""

    __slots__ = ("items",)
    fields = ("items",)

    def __init__(self, items: list[Pattern], *, start: int = -1, end: int = -1) -> None:
        self.items = items
        self.start = start
        self.end = end


Pattern: TypeAlias = (
    VariablePattern | LiteralPattern | RestPattern | RulePattern | TuplePattern | ListPattern | SolutionPattern
)

# --- Expressions: conditions and products.


class Literal(Node):
    """`3`, `"a"`, `true`, `SRC`. `spelling` is set where a constant of Java names the value: `Integer.MAX_VALUE`."""

    __slots__ = ("spelling", "value")
    fields = ("value",)

    def __init__(self, value: Any, *, spelling: str = "", start: int = -1, end: int = -1) -> None:
        self.value = value
        self.spelling = spelling
        self.start = start
        self.end = end


class Name(Node):
    """A variable, a rest, or a rule that a `let` names; upper-case only where a pattern types it, `X::int`."""

    __slots__ = ("text",)
    fields = ("text",)

    def __init__(self, text: str, *, start: int = -1, end: int = -1) -> None:
        self.text = text
        self.start = start
        self.end = end


class TupleNode(Node):
    """`a : b : c`."""

    __slots__ = ("parts",)
    fields = ("parts",)

    def __init__(self, parts: list[Expression], *, start: int = -1, end: int = -1) -> None:
        self.parts = parts
        self.start = start
        self.end = end


class ListNode(Node):
    """`()`, `(1, 2)`."""

    __slots__ = ("items",)
    fields = ("items",)

    def __init__(self, items: list[Expression], *, start: int = -1, end: int = -1) -> None:
        self.items = items
        self.start = start
        self.end = end


class SolutionNode(Node):
    """`<a, b>`."""

    __slots__ = ("items",)
    fields = ("items",)

    def __init__(self, items: list[Expression], *, start: int = -1, end: int = -1) -> None:
        self.items = items
        self.start = start
        self.end = end


class Multiplet(Node):
    """`m^4`; `m^inf` has no count."""

    __slots__ = ("count", "item")
    fields = ("item", "count")

    def __init__(self, item: Expression, count: Expression | None, *, start: int = -1, end: int = -1) -> None:
        self.item = item
        self.count = count
        self.start = start
        self.end = end


class Unary(Node):
    """`-x`, `!x`."""

    __slots__ = ("operand", "operator")
    fields = ("operator", "operand")

    def __init__(self, operator: str, operand: Expression, *, start: int = -1, end: int = -1) -> None:
        self.operator = operator
        self.operand = operand
        self.start = start
        self.end = end


class Binary(Node):
    """`x + y`, `x >= y`, `x && y`, `x in l`."""

    __slots__ = ("left", "operator", "right")
    fields = ("operator", "left", "right")

    def __init__(self, operator: str, left: Expression, right: Expression, *, start: int = -1, end: int = -1) -> None:
        self.operator = operator
        self.left = left
        self.right = right
        self.start = start
        self.end = end


class Call(Node):
    """`f(x, y)`, also written `x.f(y)`."""

    __slots__ = ("arguments", "function", "method")
    fields = ("function", "arguments", "method")

    def __init__(
        self,
        function: str,
        arguments: list[Expression],
        method: bool = False,  # noqa: FBT001, FBT002
        *,
        start: int = -1,
        end: int = -1,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.method = method
        self.start = start
        self.end = end


class RuleNode(Node):
    """A rule as written. `inject M with P` is kept as such, so it prints as it was read."""

    __slots__ = (
        "captures",
        "code",
        "condition",
        "functions",
        "is_inject",
        "is_recursive",
        "molecule",
        "name",
        "one_shot",
        "patterns",
        "product",
        "rules",
        "source",
    )
    fields = ("patterns", "product", "condition", "one_shot", "name", "is_inject")

    def __init__(  # noqa: PLR0917 - a node is its fields, in order
        self,
        patterns: list[Pattern],
        product: list[Expression],
        condition: Expression | None = None,
        one_shot: bool = False,  # noqa: FBT001, FBT002
        name: str | None = None,
        is_inject: bool = False,  # noqa: FBT001, FBT002
        *,
        start: int = -1,
        end: int = -1,
    ) -> None:
        self.patterns = patterns
        self.product = product
        self.condition = condition
        self.one_shot = one_shot
        self.name = name
        self.is_inject = is_inject
        self.start = start
        self.end = end
        # Filled in by `scope`: the text it stands in, the functions it may call, what its names mean.
        self.functions: Any = None
        self.source: Source | None = None
        self.captures: dict[str, str] = {}
        self.is_recursive = False
        self.rules: dict[str, RuleNode] = {}
        # Made when first asked for: the compiled form (by the engine), and the one molecule of a rule that
        # captures nothing.
        self.code: Any = None
        self.molecule: Any = None


class Binding(Node):
    """`let [rec] name = rule in`."""

    __slots__ = ("name", "recursive", "rule")
    fields = ("name", "rule", "recursive")

    def __init__(
        self,
        name: str,
        rule: RuleNode,
        recursive: bool = False,  # noqa: FBT001, FBT002
        *,
        start: int = -1,
        end: int = -1,
    ) -> None:
        self.name = name
        self.rule = rule
        self.recursive = recursive
        self.start = start
        self.end = end


class LetNode(Node):
    """Lets that follow each other, and the molecules they are for."""

    __slots__ = ("bindings", "body")
    fields = ("bindings", "body")

    def __init__(self, bindings: list[Binding], body: list[Expression], *, start: int = -1, end: int = -1) -> None:
        self.bindings = bindings
        self.body = body
        self.start = start
        self.end = end


Expression: TypeAlias = (
    Literal | Name | TupleNode | ListNode | SolutionNode | Multiplet | Unary | Binary | Call | RuleNode | LetNode
)


class ProgramNode(Node):
    """A whole file: what its lets name, the molecules after them, comments with their places, headers."""

    __slots__ = ("body", "comments", "header")
    fields = ("body",)

    def __init__(
        self,
        body: list[Expression],
        comments: list[tuple[int, str]] | None = None,
        header: list[str] | None = None,
        *,
        start: int = -1,
        end: int = -1,
    ) -> None:
        self.body = body
        self.comments = comments if comments is not None else []
        self.header = header if header is not None else []
        self.start = start
        self.end = end


# --- Going through an expression.


def conjuncts(condition: Expression | None) -> Iterator[Expression]:
    """Return the parts of a condition that must all hold."""
    if isinstance(condition, Binary) and condition.operator == "&&":
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    elif condition is not None:
        yield condition


def names_in(node: Expression) -> set[str]:
    """Return the names that an expression mentions."""
    match node:
        case Name():
            return {node.text}
        case Unary():
            return names_in(node.operand)
        case Binary():
            return names_in(node.left) | names_in(node.right)
        case Call():
            return set().union(*map(names_in, node.arguments))
        case TupleNode():
            return set().union(*map(names_in, node.parts))
        case ListNode() | SolutionNode():
            return set().union(*map(names_in, node.items))
        case RuleNode():
            return set(node.captures)
    return set()


def uses(node: Expression, name: str) -> int:
    """Return how often an expression uses a name."""
    match node:
        case Name():
            return int(node.text == name)
        case RuleNode():
            return int(name in node.captures)
    return sum(uses(child, name) for child in children(node))


def children(node: Expression) -> Iterator[Expression]:
    """Return the expressions directly inside an expression; a rule's own are not among them."""
    match node:
        case TupleNode():
            yield from node.parts
        case ListNode() | SolutionNode():
            yield from node.items
        case Unary():
            yield node.operand
        case Binary():
            yield node.left
            yield node.right
        case Call():
            yield from node.arguments
        case Multiplet():
            yield node.item
            if node.count is not None:
                yield node.count
        case LetNode():
            for binding in node.bindings:
                yield binding.rule
            yield from node.body


def _same_value(one: object, other: object) -> bool:
    """Compare what nodes say: `1`, `1.0` and `true` are three different things, and a NaN is itself."""
    return type(one) is type(other) and (one == other or (one != one and other != other))  # noqa: PLR0124
