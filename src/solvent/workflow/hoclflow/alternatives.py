"""The inline rule of an alternative to the model, and what it says in the model's words.

    inject TRIGGER : T5, BOND : (T1 : T2 : T5), BOND : (T4 : T2 : T5) with T2 : <RES : (?r), ?w> if FAILED in r

`BOND : (k : i : j)` says that k will know j where it knew i: if k takes from i then j's result is used instead of i's,
which is an exit; if j takes from k it is an entry, which j's own SRC says already. `TRIGGER : (i : j)` names an exit
where no bond does: the replaced task has no destination, or several are replaced at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.chemistry.molecule import Symbol
from solvent.chemistry.syntax import (
    Binary,
    Expression,
    ListNode,
    ListPattern,
    LiteralPattern,
    Name,
    RestPattern,
    SolutionPattern,
    TupleNode,
    TuplePattern,
    VariablePattern,
)
from solvent.hocl.nearest import nearest
from solvent.workflow.hoclflow.conditions import print_condition
from solvent.workflow.hoclflow.values import ValueReader
from solvent.workflow.model import Alternative, Task

if TYPE_CHECKING:
    from solvent.chemistry.syntax import Node, Pattern, RuleNode

_RULE_WORDS = ("TRIGGER", "BOND", "ALSO", "WHEN", "PREDICATE", "NAME")
CAUSES = {"FAILED": "failure", "TIMEOUT": "timeout", "REJECTED": "condition"}
_FORM = "`with T2 : <RES : (?result), ?w> if FAILED in result`"


class AlternativeReader(ValueReader):
    """Reads the rules among the tasks of a workflow."""

    def alternative(self, rule: RuleNode, number: int, tasks: dict[str, Task]) -> Alternative:
        """Read an alternative."""
        if not rule.is_inject:
            self.fail(rule, "only rules that `inject` a TRIGGER stand in an abstract workflow", hint=_FORM)
        triggers: list[Node] = []
        bonds: list[tuple[str, str, str]] = []
        single: dict[str, Node] = {}
        for one in rule.product:
            first, rest = self.pair(one, "what an alternative injects")
            word = self.word(first)
            if word == "TRIGGER":
                triggers += [rest] if isinstance(rest, TupleNode) else self.list(rest)
            elif word == "BOND":
                bonds.append(self._bond(rest))
            elif word in _RULE_WORDS:
                single[word] = rest
            else:
                hint = nearest(word or "", _RULE_WORDS) or f"known: {', '.join(_RULE_WORDS)}"
                self.fail(first, f"an alternative injects no `{word or 'such molecule'}`", code="W103", hint=hint)
        if not triggers:
            self.fail(rule, "an alternative needs a `TRIGGER`", hint="the task that takes over: `TRIGGER : T5`")
        watched, variable, condition = self._watched(rule)
        exits = self._exits(triggers, bonds, watched, tasks)
        also = self.names(single["ALSO"], "ALSO") if "ALSO" in single else ()
        on, when = self._causes(rule, condition, variable)
        if "WHEN" in single:
            when = self.text(single["WHEN"], "WHEN")
        replaced = tuple(dict.fromkeys([*exits, *also]))
        causes: Any = on
        return Alternative(
            name=self._name_of(rule, single, number),
            exits=exits,
            also=also,
            on=causes,
            when=when,
            predicate=self.text(single["PREDICATE"], "PREDICATE") if "PREDICATE" in single else None,
            watch=() if watched == replaced else watched,
        )

    def _name_of(self, rule: RuleNode, single: dict[str, Node], number: int) -> str:
        if "NAME" in single:
            return self.name(single["NAME"], "NAME")
        return rule.name or f"alternative {number}"

    def _bond(self, node: Node) -> tuple[str, str, str]:
        parts: list[Any] = (
            node.parts if isinstance(node, TupleNode) else node.items if isinstance(node, ListNode) else []
        )
        if len(parts) != 3:
            self.fail(node, "a bond is written `BOND : (T1 : T2 : T5)`: T1 will know T5 where it knew T2")
        whom, old, new = (self.name(one, "each part of a bond") for one in parts)
        return whom, old, new

    def _exits(
        self,
        triggers: list[Node],
        bonds: list[tuple[str, str, str]],
        watched: tuple[str, ...],
        tasks: dict[str, Task],
    ) -> dict[str, str]:
        found: dict[str, str] = {}
        for one in triggers:
            if isinstance(one, TupleNode):
                if len(one.parts) != 2:
                    self.fail(one, "an exit is written `TRIGGER : (T2 : T5)`: T5 replaces T2")
                found[self.name(one.parts[0], "a task")] = self.name(one.parts[1], "a task")
                continue
            name = self.name(one, "TRIGGER")
            outward = [old for whom, old, new in bonds if new == name and whom in tasks and old in tasks[whom].sources]
            inward = [old for _, old, new in bonds if new == name]
            for old in outward or inward or watched:
                found[old] = name
        return found

    # --- The condition.

    def _watched(self, rule: RuleNode) -> tuple[tuple[str, ...], str, Expression | None]:
        """Give the watched tasks, the name of their result, and the condition on it."""
        if len(rule.patterns) != 1:
            self.fail(rule, "an alternative watches one task, or one of several", hint=_FORM)
        (pattern,) = rule.patterns
        task, variable = self._task_pattern(pattern)
        if not isinstance(task, VariablePattern):
            return (self._literal(task),), variable, rule.condition
        first, rest = _split_and(rule.condition)
        if isinstance(first, Binary) and first.operator == "in" and first.left == Name(task.name):
            return self.names(first.right, "the watched tasks"), variable, rest
        self.fail(pattern, f"which tasks is `{task.name}`?", hint=f"`if ({task.name} in (T2, T3)) && ...`")

    def _task_pattern(self, pattern: Pattern) -> tuple[Pattern, str]:
        if isinstance(pattern, TuplePattern) and len(pattern.parts) == 2:
            task, inside = pattern.parts
            for one in inside.items if isinstance(inside, SolutionPattern) else ():
                if isinstance(one, TuplePattern) and one.parts[0] == LiteralPattern(Symbol("RES")):
                    result = one.parts[1]
                    if isinstance(result, ListPattern) and len(result.items) == 1:
                        result = result.items[0]
                    if isinstance(result, RestPattern | VariablePattern):
                        return task, result.name
        self.fail(pattern, "an alternative looks at the result of a task", hint=_FORM)

    def _literal(self, pattern: Pattern) -> str:
        if isinstance(pattern, LiteralPattern):
            value = pattern.value
            if type(value) is Symbol:
                return str(value.name)
            if type(value) is str:
                return value
        self.fail(pattern, "a task is named by a symbol or a string")

    def _causes(
        self, rule: RuleNode, condition: Expression | None, variable: str
    ) -> tuple[tuple[str, ...], str | None]:
        """Give when the alternative applies: what follows from words about the result, and any other condition."""
        if condition is None:
            self.fail(rule, "an alternative says when it applies", hint=_FORM)
        causes: list[str] = []
        when: Expression | None = None
        for one in _split_or(condition):
            cause = _cause(one, variable)
            if cause is None:
                when = one if when is None else Binary("||", when, one)
                cause = "condition"
            if cause not in causes:
                causes.append(cause)
        return tuple(causes), None if when is None else print_condition(when, variable)


def _split_and(condition: Expression | None) -> tuple[Expression | None, Expression | None]:
    """Split `a && b && c` into `a` and `b && c`."""
    if not (isinstance(condition, Binary) and condition.operator == "&&"):
        return condition, None
    first, rest = _split_and(condition.left)
    return first, condition.right if rest is None else Binary("&&", rest, condition.right)


def _split_or(condition: Expression) -> list[Expression]:
    """Split `a || b || c`; what stands in parentheses at the right is left as it is."""
    found: list[Expression] = []
    while isinstance(condition, Binary) and condition.operator == "||":
        found.append(condition.right)
        condition = condition.left
    return [condition, *reversed(found)]


def _cause(condition: Expression, variable: str) -> str | None:
    """Give the cause that a condition names: `FAILED in result`, or `result = FAILED` as in the paper."""
    if not isinstance(condition, Binary):
        return None
    match condition.operator:
        case "in":
            word, result = condition.left, condition.right
        case "==":
            result, word = condition.left, condition.right
        case _:
            return None
    if result != Name(variable):
        return None
    if isinstance(word, Name):
        return "failure" if word.text == "failed" else None
    value = getattr(word, "value", None)
    return CAUSES.get(value.name) if isinstance(value, Symbol) else None


__all__ = ["CAUSES", "AlternativeReader"]
