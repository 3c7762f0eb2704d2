"""Syntax trees at random: every kind of node that the parser can make, in every place where it can stand.

A tree may be nonsense (a rule plus a list, an unbound name): printing and parsing must keep it all the same.
What no text reads as is left out: a minus before a literal number (that is a negative literal), a list of one
(that is a call of `list`), a `let` around a rule of another name, two rests of at least one in one solution.
"""

from __future__ import annotations

from hypothesis import strategies as st

from solvent.lang import syntax as tree
from solvent.lang.lexer import KEYWORDS
from solvent.lang.molecule import Symbol
from solvent.lang.rule import KINDS
from tests.property.strategies import symbols

WORDS = KEYWORDS | {"rec", "inf", "list"}
JAVA = ("Math.abs", "Math.floor", "new Integer", "new Point")
OPERATORS = ("||", "&&", "==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "in")


def names() -> st.SearchStrategy[str]:
    """Give names of variables, rules and functions."""
    plain = st.from_regex(r"[a-z_éß][a-zA-Z0-9_ωλ]{0,4}'{0,2}", fullmatch=True)
    return plain.filter(lambda name: name not in WORDS)


def literal_values() -> st.SearchStrategy[object]:
    """Give the values that literals have."""
    return st.one_of(
        st.integers(),
        st.floats(allow_nan=False),
        st.text(st.characters(exclude_categories=()), max_size=8),
        st.booleans(),
        symbols(),
        st.sampled_from([Symbol("Math"), Symbol("Integer")]),
    )


def rests() -> st.SearchStrategy[tree.Pattern]:
    """Give `?w` and `+w`."""
    return st.builds(tree.RestPattern, names(), st.booleans())


def _one_needs(items: list[tree.Pattern]) -> list[tree.Pattern]:
    """Let at most one rest ask for at least one molecule.

    Changed, and not drawn again: hypothesis prints a strategy whose filter nothing passes, and these are very long.
    """
    found = False
    for one in items:
        if isinstance(one, tree.RestPattern):
            one.at_least_one = one.at_least_one and not found
            found = found or one.at_least_one
    return items


def _one_rest(items: list[tree.Pattern]) -> list[tree.Pattern]:
    """Keep the first rest only."""
    first = next((one for one in items if isinstance(one, tree.RestPattern)), None)
    return [one for one in items if one is first or not isinstance(one, tree.RestPattern)]


def patterns() -> st.SearchStrategy[tree.Pattern]:
    """Give patterns that take one molecule."""
    simple = st.one_of(
        st.builds(tree.VariablePattern, names(), st.one_of(st.none(), st.sampled_from(sorted(KINDS)))),
        st.builds(tree.LiteralPattern, literal_values()),
        st.builds(tree.RulePattern, names(), names()),
    )

    def inside(parts: st.SearchStrategy[tree.Pattern]) -> st.SearchStrategy[tree.Pattern]:
        several = st.lists(st.one_of(parts, rests()), max_size=3)
        return st.one_of(
            st.lists(parts, min_size=2, max_size=3).map(tree.TuplePattern),
            several.map(_one_needs).map(tree.SolutionPattern),
            several.map(_one_rest).map(tree.ListPattern),
        )

    # Deferred, since hypothesis prints strategies, and these are long.
    return st.deferred(lambda: st.recursive(simple, inside, max_leaves=4))


def _negated(operand: tree.Expression) -> tree.Expression:
    is_number = isinstance(operand, tree.Literal) and type(operand.value) in (int, float)
    return operand if is_number else tree.Unary("-", operand)


def _call(function: str, arguments: list[tree.Expression], *, method: bool) -> tree.Call:
    return tree.Call(function, arguments, method=method and bool(arguments) and function not in JAVA)


def _binding(name: str, rule: tree.RuleNode, *, recursive: bool) -> tree.Binding:
    rule.name = name
    return tree.Binding(name, rule, recursive)


def rules(parts: st.SearchStrategy[tree.Expression]) -> st.SearchStrategy[tree.RuleNode]:
    """Give rules of all three words, with and without names and conditions."""
    items = st.lists(parts, max_size=2)
    left = st.lists(st.one_of(patterns(), rests()), min_size=1, max_size=2).map(_one_needs)
    condition = st.one_of(st.none(), parts)
    name = st.one_of(st.none(), names())
    replaces = st.builds(tree.RuleNode, left, items, condition, st.booleans(), name)
    injects = st.builds(
        tree.RuleNode,
        st.one_of(st.just([]), left),
        items,
        condition,
        st.just(True),
        name,
        st.just(True),
    )
    return st.deferred(lambda: st.one_of(replaces, injects))


def expressions() -> st.SearchStrategy[tree.Expression]:
    """Give expressions of every kind."""
    simple = st.one_of(st.builds(tree.Literal, literal_values()), st.builds(tree.Name, names()))

    def inside(parts: st.SearchStrategy[tree.Expression]) -> st.SearchStrategy[tree.Expression]:
        items = st.lists(parts, max_size=3)
        bindings = st.lists(st.builds(_binding, names(), rules(parts), recursive=st.booleans()), min_size=1, max_size=2)
        return st.one_of(
            st.lists(parts, min_size=2, max_size=3).map(tree.TupleNode),
            st.one_of(st.builds(list), st.lists(parts, min_size=2, max_size=3)).map(tree.ListNode),
            items.map(tree.SolutionNode),
            st.builds(tree.Multiplet, parts, st.one_of(st.none(), parts)),
            st.builds(tree.Unary, st.just("!"), parts),
            parts.map(_negated),
            st.builds(tree.Binary, st.sampled_from(OPERATORS), parts, parts),
            st.builds(_call, st.one_of(names(), st.sampled_from(["list", *JAVA])), items, method=st.booleans()),
            rules(parts),
            st.builds(tree.LetNode, bindings, st.lists(parts, min_size=1, max_size=2)),
        )

    return st.deferred(lambda: st.recursive(simple, inside, max_leaves=7))
