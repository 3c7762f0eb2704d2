"""Trees on one line, set for reading: with spaces around the `:` of a tuple."""

from __future__ import annotations

from solvent.chemistry.printer import TreePrinter, print_pattern
from solvent.chemistry.syntax import (
    Binary,
    Expression,
    ListPattern,
    Pattern,
    RestPattern,
    RuleNode,
    SolutionNode,
    SolutionPattern,
    TupleNode,
    TuplePattern,
    Unary,
)

_SUM = 5


class FlatPrinter(TreePrinter):
    """Writes trees on one line."""

    def part(self, node: Expression) -> str:
        """Write a part of a tuple."""
        return self.expression(node, _SUM)

    def _tuple(self, node: TupleNode) -> str:
        return " : ".join(self.expression(part, _SUM) for part in node.parts)

    def expression(self, node: Expression, least: int) -> str:
        """Write an expression; the last rule of a solution needs no parentheses."""
        if (
            isinstance(node, SolutionNode)
            and node.items
            and isinstance(node.items[-1], RuleNode)
            and is_bare(node.items[-1])
        ):
            return f"<{', '.join([*map(self.item, node.items[:-1]), self.rule(node.items[-1])])}>"
        return super().expression(node, least)

    def rule_parts(self, node: RuleNode) -> list[str]:
        """Write a rule's clauses."""
        patterns = ", ".join(map(flat_pattern, node.patterns))
        product = self.items(node.product)
        if node.is_inject:
            parts = [f"inject {product}".rstrip()]
            if patterns:
                parts.append(f"with {patterns}")
        else:
            parts = [f"{'replace-one' if node.one_shot else 'replace'} {patterns}", f"by {product}".rstrip()]
        if node.condition is not None:
            parts.append(f"if {self.expression(node.condition, 1)}")
        return parts


def flat_pattern(pattern: Pattern) -> str:
    """Write a pattern on one line."""
    match pattern:
        case TuplePattern():
            return " : ".join(
                f"({flat_pattern(part)})" if isinstance(part, TuplePattern) else flat_pattern(part)
                for part in pattern.parts
            )
        case ListPattern():
            items = ", ".join(map(flat_pattern, pattern.items))
            alone = len(pattern.items) == 1 and not isinstance(pattern.items[0], RestPattern)
            return f"list({items})" if alone else f"({items})"
        case SolutionPattern():
            return f"<{', '.join(map(flat_pattern, pattern.items))}>"
    return print_pattern(pattern)


def is_bare(rule: RuleNode) -> bool:
    """Say whether a rule at the end of a solution needs no parentheses: it compares nothing by `<` or `>`."""
    return rule.name is None and not _compares(rule.condition)


def _compares(node: Expression | None) -> bool:
    match node:
        case Binary():
            return node.operator in ("<", ">") or _compares(node.left) or _compares(node.right)
        case Unary():
            return _compares(node.operand)
    return False
