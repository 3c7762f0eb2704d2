"""What the names of a rule are called in its compiled text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.engine.expressions import Text
from solvent.lang.rule import Rule, closed_rule

if TYPE_CHECKING:
    from solvent.engine.code import Code
    from solvent.engine.plan import Plan


def outer_text(plan: Plan, code: Code, name: str) -> Text:
    """Return the text for a name that a rule takes from around it."""
    captures = list(plan.rule.captures)
    if name in captures:
        return Text(f"k{captures.index(name)}")
    if name in plan.rule.rules:
        return Text(code.constant(closed_rule(plan.rule.rules[name]), "R"), Rule)
    return Text("rule", Rule)


def rest_text(plan: Plan, name: str) -> str | None:
    """Return the text for the molecules of a rest, in a condition or an argument; None for other names."""
    if name in plan.rest_sites:
        site = plan.rest_sites[name]
        if site is None:
            return plan.variables[name]
        if site.rests[0].name != name:
            return "()"
        cells = "".join(f"{element.cell}, " for element in site.elements)
        return f"_rest({site.store}, ({cells}{'own, ' if site.number == 0 else ''}))"
    if plan.rule.captures.get(name) == "rest":
        return f"k{list(plan.rule.captures).index(name)}"
    return None
