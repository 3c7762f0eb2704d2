"""How a task joins, splits, repeats, waits and cancels, as molecules of the task.

    JOIN : ANY, JOIN : FIRST : 2 : CANCEL, JOIN : ACTIVE, JOIN : THREADS : 3, JOIN : "majority" : 2
    SPLIT : ONE, SPLIT : SOME, SPLIT : DEFERRED     ROUTES : (T5 : (result > 3), T6)     AGAIN : T1 : (result < 3)
    THREADS : 3      TAKES : <l, m>      GIVES : <l>      LOCK : <l>, which is both
    SIGNAL : go      SIGNAL : TRANSIENT : go      SENDS : <go>      DURING : (T1 : T3)
    CANCELS : <T2>   COMPLETES : <T2>    ENDS : CASE      ENDS : CANCELLED
    INSTANCES : 3    INSTANCES : <OVER : 0, NEED : 2, CANCEL, APART, MORE : (result < 3), ENOUGH : (len(result) > 2)>

In JOIN the parts follow each other: what it waits for, the number, CANCEL, and `THREADS : 3`; each may be left out. The
routes are tried in order, so they are a list. A control that says nothing is written `JOIN : ALL`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.chemistry.printer import print_string
from solvent.chemistry.syntax import Expression, Literal, SolutionNode, TupleNode
from solvent.hocl.nearest import nearest
from solvent.workflow.control import Control, Many, Route
from solvent.workflow.hoclflow.arguments import ArgumentReader, print_argument
from solvent.workflow.hoclflow.conditions import TestReader, print_test
from solvent.workflow.hoclflow.values import print_plain_name, print_task_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.chemistry.syntax import Node

CONTROL_WORDS = (
    "JOIN", "SPLIT", "ROUTES", "AGAIN", "THREADS", "TAKES", "GIVES", "LOCK", "SIGNAL", "SENDS", "DURING", "CANCELS",
    "COMPLETES", "ENDS", "INSTANCES",
)  # fmt: skip
_JOINS = ("ALL", "ANY", "FIRST", "ACTIVE")
_SPLITS = ("ALL", "ONE", "SOME", "DEFERRED")
_ENDS = ("CASE", "CANCELLED")
_MANY_WORDS = ("COUNT", "OVER", "NEED", "CANCEL", "APART", "MORE", "ENOUGH")
_JOIN_FORM = (
    '`JOIN : ANY`, `JOIN : FIRST : 2 : CANCEL`, `JOIN : ACTIVE`, `JOIN : THREADS : 3` or `JOIN : "library" : 2`'
)

# --- Writing.


def print_control(control: Control) -> list[str]:
    """Write a control as molecules of its task."""
    found = [] if (join := _join(control)) == "ALL" else [f"JOIN : {join}"]
    if control.split != "all":
        found.append(f"SPLIT : {control.split.upper()}")
    if control.routes:
        routes = ", ".join(_route(one) for one in control.routes)
        found.append(f"ROUTES : ({routes})")
    if control.again is not None:
        found.append(f"AGAIN : {_route(control.again)}")
    if control.copies != 1:
        found.append(f"THREADS : {control.copies}")
    if control.takes == control.gives:
        found += _plain("LOCK", control.takes)
    else:
        found += [*_plain("TAKES", control.takes), *_plain("GIVES", control.gives)]
    if control.signal is not None or control.is_transient:
        name = [] if control.signal is None else [print_plain_name(control.signal)]
        found.append(" : ".join(["SIGNAL", *(["TRANSIENT"] if control.is_transient else []), *name]))
    found += _plain("SENDS", control.sends)
    if control.during is not None:
        found.append(f"DURING : ({' : '.join(map(print_task_name, control.during))})")
    found += [*_tasks("CANCELS", control.cancels), *_tasks("COMPLETES", control.completes)]
    if control.ends:
        found.append(f"ENDS : {control.ends.upper()}")
    if control.many is not None:
        found.append(f"INSTANCES : {_many(control.many)}")
    return found or ["JOIN : ALL"]


def _join(control: Control) -> str:
    is_known = control.join.upper() in _JOINS and control.join.islower()
    parts = [control.join.upper() if is_known else print_string(control.join)]
    if control.need != 1:
        parts.append(str(control.need))
    if control.cancels_rest:
        parts.append("CANCEL")
    if control.threads != 1:
        parts += ["THREADS", str(control.threads)]
    return " : ".join(parts[1:] if parts[:2] == ["ALL", "THREADS"] else parts)


def _plain(word: str, names: Iterable[str]) -> list[str]:
    inside = ", ".join(map(print_plain_name, names))
    return [f"{word} : <{inside}>"] if inside else []


def _tasks(word: str, names: Iterable[str]) -> list[str]:
    inside = ", ".join(map(print_task_name, names))
    return [f"{word} : <{inside}>"] if inside else []


def _route(route: Route) -> str:
    if route.test is None:
        return print_task_name(route.task)
    return " : ".join([print_task_name(route.task), *print_test(route.test)])


def _many(many: Many) -> str:
    if many.count is not None and many == Many(many.count):
        return print_argument(many.count, in_order=True)
    found: list[str] = []
    if many.count is not None:
        found.append(f"COUNT : {print_argument(many.count, in_order=True)}")
    found += [f"{word} : {number}" for word, number in (("OVER", many.over), ("NEED", many.need)) if number is not None]
    found += [word for word, is_set in (("CANCEL", many.cancels), ("APART", many.apart)) if is_set]
    for word, test in (("MORE", many.more), ("ENOUGH", many.enough)):
        if test is not None:
            found.append(" : ".join([word, *print_test(test)]))
    return f"<{', '.join(found)}>"


# --- Reading.


class ControlReader(ArgumentReader, TestReader):
    """Reads what a task does besides calling its service."""

    def control(self, found: dict[str, Expression]) -> Control | None:
        """Read a control from the molecules of a task, if any of them says one."""
        if not any(word in found for word in CONTROL_WORDS):
            return None
        given: dict[str, Any] = {}
        for word in CONTROL_WORDS:
            if word in found:
                given |= self._said(word, found[word])
        both = given.pop("lock", ())
        for key in ("takes", "gives"):
            given[key] = (*both, *given.get(key, ()))
        return Control(**given)

    def _said(self, word: str, node: Expression) -> dict[str, Any]:
        match word:
            case "JOIN":
                return self._join(node)
            case "SPLIT":
                return {"split": self._one_of(node, _SPLITS, "a task splits by")}
            case "ROUTES":
                return {"routes": tuple(self._route(one) for one in self.list(node))}
            case "AGAIN":
                return {"again": self._route(node)}
            case "THREADS":
                return {"copies": self._number(node, word)}
            case "SIGNAL":
                return self._signal(node)
            case "DURING":
                if not isinstance(node, TupleNode) or len(node.parts) != 2:
                    self.fail(node, "a milestone is written `DURING : (T1 : T3)`: T1 is done, T3 has not started")
                return {"during": tuple(self.name(one, "a task") for one in node.parts)}
            case "ENDS":
                return {"ends": self._one_of(node, _ENDS, "a task ends")}
            case "INSTANCES":
                return {"many": self._many(node)}
        return {word.lower(): self.names(node, word)}

    def _one_of(self, node: Node, words: tuple[str, ...], what: str) -> str:
        word = self.word(node)
        if word not in words:
            hint = nearest(word or "", words)
            self.fail(node, f"{what} `{'`, `'.join(words[:-1])}` or `{words[-1]}`", code="W105", hint=hint)
        return word.lower()

    def _number(self, node: Node, what: str) -> int:
        if isinstance(node, Literal) and type(node.value) is int:
            return node.value
        self.fail(node, f"{what} is a whole number", code="W105")

    def _join(self, node: Expression) -> dict[str, Any]:
        parts = list(node.parts) if isinstance(node, TupleNode) else [node]
        found: dict[str, Any] = {}
        word = self.word(parts[0])
        if word in _JOINS:
            found["join"] = word.lower()
            del parts[0]
        elif word is None:
            found["join"] = self.name(parts.pop(0), "a rule library")
        elif word != "THREADS":
            self.fail(parts[0], f"no task joins by `{word}`", code="W105", hint=nearest(word, _JOINS) or _JOIN_FORM)
        if parts and isinstance(parts[0], Literal) and type(parts[0].value) is int:
            found["need"] = self._number(parts.pop(0), "JOIN")
        if parts and self.word(parts[0]) == "CANCEL":
            found["cancels_rest"] = True
            del parts[0]
        if len(parts) == 2 and self.word(parts[0]) == "THREADS":
            found["threads"] = self._number(parts[1], "THREADS")
        elif parts:
            self.fail(parts[0], "this says nothing of a join", code="W105", hint=_JOIN_FORM)
        return found

    def _route(self, node: Expression) -> Route:
        if not isinstance(node, TupleNode):
            return Route(self.name(node, "the task of a route"))
        return Route(self.name(node.parts[0], "the task of a route"), self.test_of(node.parts[1:], node))

    def _signal(self, node: Expression) -> dict[str, Any]:
        if self.word(node) == "TRANSIENT":
            return {"is_transient": True}
        if not isinstance(node, TupleNode):
            return {"signal": self.name(node, "SIGNAL")}
        if len(node.parts) != 2 or self.word(node.parts[0]) != "TRANSIENT":
            self.fail(node, "a signal is written `SIGNAL : go`, or `SIGNAL : TRANSIENT : go`")
        return {"signal": self.name(node.parts[1], "SIGNAL"), "is_transient": True}

    def _many(self, node: Expression) -> Many:
        if not isinstance(node, SolutionNode):
            return Many(self.argument(node, in_order=True))
        found: dict[str, Any] = {}
        readers: dict[str, tuple[str, Callable[[Expression], Any]]] = {
            "COUNT": ("count", lambda one: self.argument(one, in_order=True)),
            "OVER": ("over", lambda one: self._number(one, "OVER")),
            "NEED": ("need", lambda one: self._number(one, "NEED")),
            "MORE": ("more", self.test),
            "ENOUGH": ("enough", self.test),
        }
        for one in node.items:
            word = self.word(one)
            if word in ("CANCEL", "APART"):
                key, value = ("cancels" if word == "CANCEL" else "apart"), True
            else:
                first, rest = self.pair(one, "a molecule of `INSTANCES`")
                word = self.word(first) or ""
                if word not in readers:
                    hint = nearest(word, _MANY_WORDS) or f"known: {', '.join(_MANY_WORDS)}"
                    self.fail(first, f"`INSTANCES` has no molecule `{word or 'of this form'}`", code="W103", hint=hint)
                key, read = readers[word]
                value = read(rest)
            if key in found:
                self.fail(one, f"`{word}` stands here a second time", code="W102")
            found[key] = value
        return Many(**found)


__all__ = ["CONTROL_WORDS", "ControlReader", "print_control"]
