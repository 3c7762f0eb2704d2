"""HOCLflow text to the model.

Control flow is said by molecules of a task.

    JOIN : ANY, JOIN : FIRST : 2 : CANCEL, JOIN : ACTIVE, JOIN : THREADS : 3, JOIN : "majority" : 2
    SPLIT : ONE, SPLIT : SOME, SPLIT : DEFERRED     ROUTES : (T5 : (result > 3), T6)     AGAIN : T1 : (result < 3)
    THREADS : 3      TAKES : <l, m>      GIVES : <l>      LOCK : <l>, which is both
    SIGNAL : go      SIGNAL : TRANSIENT : go      SENDS : <go>      DURING : (T1 : T3)
    CANCELS : <T2>   COMPLETES : <T2>    ENDS : CASE      ENDS : CANCELLED
    INSTANCES : 3    INSTANCES : <OVER : 0, NEED : 2, CANCEL, APART, MORE : (result < 3), ENOUGH : (len(result) > 2)>

In JOIN the parts follow each other: what it waits for, the number, CANCEL, and `THREADS : 3`; each may be left out. The
routes are tried in order, so they are a list. A control that says nothing is written `JOIN : ALL`.

An alternative is an inline rule.

    inject TRIGGER : T5, BOND : (T1 : T2 : T5), BOND : (T4 : T2 : T5) with T2 : <RES : (?r), ?w> if FAILED in r

`BOND : (k : i : j)` says that k will know j where it knew i: if k takes from i then j's result is used instead of i's,
which is an exit; if j takes from k it is an entry, which j's own SRC says already. `TRIGGER : (i : j)` names an exit
where no bond does: the replaced task has no destination, or several are replaced at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import ProgramError, nearest
from solvent.lang import syntax
from solvent.lang.molecule import Symbol
from solvent.lang.parser import parse_program
from solvent.workflows import model
from solvent.workflows.formats.hoclflow.bonds import check_destinations
from solvent.workflows.formats.hoclflow.values import ArgumentReader, TestReader, ValueReader, print_condition
from solvent.workflows.formats.yaml.reader import COUNTS, KINDS, POLICY_KEYS
from solvent.workflows.places import Key, Loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.source import Source, Span


CONTROL_WORDS = (
    "JOIN", "SPLIT", "ROUTES", "AGAIN", "MAX_ROUNDS", "THREADS", "TAKES", "GIVES", "LOCK", "SIGNAL", "SIGNAL_TIMEOUT",
    "SENDS", "DURING",
    "CANCELS", "COMPLETES", "ENDS", "INSTANCES",
)  # fmt: skip

JOINS = ("ALL", "ANY", "FIRST", "ACTIVE")

_SPLITS = ("ALL", "ONE", "SOME", "DEFERRED")

_ENDS = ("CASE", "CANCELLED")

_MANY_WORDS = ("COUNT", "OVER", "NEED", "CANCEL", "APART", "MORE", "ENOUGH")

_JOIN_FORM = (
    '`JOIN : ANY`, `JOIN : FIRST : 2 : CANCEL`, `JOIN : ACTIVE`, `JOIN : THREADS : 3` or `JOIN : "library" : 2`'
)


class ControlReader(ArgumentReader, TestReader):
    """Reads what a task does besides calling its service."""

    def control(self, found: dict[str, syntax.Expression]) -> model.Control | None:
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
        return model.Control(**given)

    def _said(self, word: str, node: syntax.Expression) -> dict[str, Any]:
        match word:
            case "JOIN":
                return self._join(node)
            case "SPLIT":
                return {"split": self._one_of(node, _SPLITS, "a task splits by")}
            case "ROUTES":
                return {"routes": tuple(self._route(one) for one in self.list(node))}
            case "AGAIN":
                return {"again": self._route(node)}
            case "SIGNAL_TIMEOUT":
                return {"timeout": self.seconds(node, word)}
            case "MAX_ROUNDS":
                return {"max_rounds": self._number(node, word)}
            case "THREADS":
                return {"copies": self._number(node, word)}
            case "SIGNAL":
                return self._signal(node)
            case "DURING":
                if not isinstance(node, syntax.TupleNode) or len(node.parts) != 2:
                    self.fail(node, "a milestone is written `DURING : (T1 : T3)`: T1 is done, T3 has not started")
                return {"during": tuple(self.name(one, "a task") for one in node.parts)}
            case "ENDS":
                return {"ends": self._one_of(node, _ENDS, "a task ends")}
            case "INSTANCES":
                return {"many": self._many(node)}
        return {word.lower(): self.names(node, word)}

    def _one_of(self, node: syntax.Node, words: tuple[str, ...], what: str) -> str:
        word = self.word(node)
        if word not in words:
            hint = nearest(word or "", words)
            self.fail(node, f"{what} `{'`, `'.join(words[:-1])}` or `{words[-1]}`", code="W105", hint=hint)
        return word.lower()

    def seconds(self, node: syntax.Expression, what: str) -> float:
        """Read a time that a task or a workflow may take."""
        value = self.value(node)
        if type(value) not in (int, float) or value <= 0:
            self.fail(node, f"`{what}` is a number of seconds")
        return float(value)

    def _number(self, node: syntax.Node, what: str) -> int:
        if isinstance(node, syntax.Literal) and type(node.value) is int:
            return node.value
        self.fail(node, f"{what} is a whole number", code="W105")

    def _join(self, node: syntax.Expression) -> dict[str, Any]:
        parts = list(node.parts) if isinstance(node, syntax.TupleNode) else [node]
        found: dict[str, Any] = {}
        word = self.word(parts[0])
        if word in JOINS:
            found["join"] = word.lower()
            del parts[0]
        elif word is None:
            found["join"] = self.name(parts.pop(0), "a rule library")
        elif word != "THREADS":
            self.fail(parts[0], f"no task joins by `{word}`", code="W105", hint=nearest(word, JOINS) or _JOIN_FORM)
        if parts and isinstance(parts[0], syntax.Literal) and type(parts[0].value) is int:
            found["need"] = self._number(parts.pop(0), "JOIN")
        if parts and self.word(parts[0]) == "CANCEL":
            found["cancels_rest"] = True
            del parts[0]
        if len(parts) == 2 and self.word(parts[0]) == "THREADS":
            found["threads"] = self._number(parts[1], "THREADS")
        elif parts:
            self.fail(parts[0], "this says nothing of a join", code="W105", hint=_JOIN_FORM)
        return found

    def _route(self, node: syntax.Expression) -> model.Route:
        if not isinstance(node, syntax.TupleNode):
            return model.Route(self.name(node, "the task of a route"))
        return model.Route(self.name(node.parts[0], "the task of a route"), self.test_of(node.parts[1:], node))

    def _signal(self, node: syntax.Expression) -> dict[str, Any]:
        if self.word(node) == "TRANSIENT":
            return {"is_transient": True}
        if not isinstance(node, syntax.TupleNode):
            return {"signal": self.name(node, "SIGNAL")}
        if len(node.parts) != 2 or self.word(node.parts[0]) != "TRANSIENT":
            self.fail(node, "a signal is written `SIGNAL : go`, or `SIGNAL : TRANSIENT : go`")
        return {"signal": self.name(node.parts[1], "SIGNAL"), "is_transient": True}

    def _many(self, node: syntax.Expression) -> model.Many:
        if not isinstance(node, syntax.SolutionNode):
            return model.Many(self.argument(node, in_order=True))
        found: dict[str, Any] = {}
        readers: dict[str, tuple[str, Callable[[syntax.Expression], Any]]] = {
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
        return model.Many(**found)


_RULE_WORDS = ("TRIGGER", "BOND", "ALSO", "WHEN", "PREDICATE", "NAME")

CAUSES = {"FAILED": "failure", "TIMEOUT": "timeout", "REJECTED": "condition"}

_FORM = "`with T2 : <RES : (?result), ?w> if FAILED in result`"


class AlternativeReader(ValueReader):
    """Reads the rules among the tasks of a workflow."""

    def alternative(self, rule: syntax.RuleNode, number: int, tasks: dict[str, model.Task]) -> model.Alternative:
        """Read an alternative."""
        if not rule.is_inject:
            self.fail(rule, "only rules that `inject` a TRIGGER stand in an abstract workflow", hint=_FORM)
        triggers: list[syntax.Node] = []
        bonds: list[tuple[str, str, str]] = []
        single: dict[str, syntax.Node] = {}
        for one in rule.product:
            first, rest = self.pair(one, "what an alternative injects")
            word = self.word(first)
            if word == "TRIGGER":
                triggers += [rest] if isinstance(rest, syntax.TupleNode) else self.list(rest)
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
        return model.Alternative(
            name=self._name_of(rule, single, number),
            exits=exits,
            also=also,
            on=causes,
            when=when,
            predicate=self.text(single["PREDICATE"], "PREDICATE") if "PREDICATE" in single else None,
            watch=() if watched == replaced else watched,
        )

    def _name_of(self, rule: syntax.RuleNode, single: dict[str, syntax.Node], number: int) -> str:
        if "NAME" in single:
            return self.name(single["NAME"], "NAME")
        return rule.name or f"alternative {number}"

    def _bond(self, node: syntax.Node) -> tuple[str, str, str]:
        parts: list[Any] = (
            node.parts
            if isinstance(node, syntax.TupleNode)
            else node.items
            if isinstance(node, syntax.ListNode)
            else []
        )
        if len(parts) != 3:
            self.fail(node, "a bond is written `BOND : (T1 : T2 : T5)`: T1 will know T5 where it knew T2")
        whom, old, new = (self.name(one, "each part of a bond") for one in parts)
        return whom, old, new

    def _exits(
        self,
        triggers: list[syntax.Node],
        bonds: list[tuple[str, str, str]],
        watched: tuple[str, ...],
        tasks: dict[str, model.Task],
    ) -> dict[str, str]:
        found: dict[str, str] = {}
        for one in triggers:
            if isinstance(one, syntax.TupleNode):
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

    def _watched(self, rule: syntax.RuleNode) -> tuple[tuple[str, ...], str, syntax.Expression | None]:
        """Return the watched tasks, the name of their result, and the condition on it."""
        if len(rule.patterns) != 1:
            self.fail(rule, "an alternative watches one task, or one of several", hint=_FORM)
        (pattern,) = rule.patterns
        task, variable = self._task_pattern(pattern)
        if not isinstance(task, syntax.VariablePattern):
            return (self._literal(task),), variable, rule.condition
        first, rest = _split_and(rule.condition)
        if isinstance(first, syntax.Binary) and first.operator == "in" and first.left == syntax.Name(task.name):
            return self.names(first.right, "the watched tasks"), variable, rest
        self.fail(pattern, f"which tasks is `{task.name}`?", hint=f"`if ({task.name} in (T2, T3)) && ...`")

    def _task_pattern(self, pattern: syntax.Pattern) -> tuple[syntax.Pattern, str]:
        if isinstance(pattern, syntax.TuplePattern) and len(pattern.parts) == 2:
            task, inside = pattern.parts
            for one in inside.items if isinstance(inside, syntax.SolutionPattern) else ():
                if isinstance(one, syntax.TuplePattern) and one.parts[0] == syntax.LiteralPattern(Symbol("RES")):
                    result = one.parts[1]
                    if isinstance(result, syntax.ListPattern) and len(result.items) == 1:
                        result = result.items[0]
                    if isinstance(result, syntax.RestPattern | syntax.VariablePattern):
                        return task, result.name
        self.fail(pattern, "an alternative looks at the result of a task", hint=_FORM)

    def _literal(self, pattern: syntax.Pattern) -> str:
        if isinstance(pattern, syntax.LiteralPattern):
            value = pattern.value
            if type(value) is Symbol:
                return str(value.name)
            if type(value) is str:
                return value
        self.fail(pattern, "a task is named by a symbol or a string")

    def _causes(
        self, rule: syntax.RuleNode, condition: syntax.Expression | None, variable: str
    ) -> tuple[tuple[str, ...], str | None]:
        """Return when the alternative applies: what follows from words about the result, and any other condition."""
        if condition is None:
            self.fail(rule, "an alternative says when it applies", hint=_FORM)
        causes: list[str] = []
        when: syntax.Expression | None = None
        for one in _split_or(condition):
            cause = _cause(one, variable)
            if cause is None:
                when = one if when is None else syntax.Binary("||", when, one)
                cause = "condition"
            if cause not in causes:
                causes.append(cause)
        return tuple(causes), None if when is None else print_condition(when, variable)


def _split_and(condition: syntax.Expression | None) -> tuple[syntax.Expression | None, syntax.Expression | None]:
    """Split `a && b && c` into `a` and `b && c`."""
    if not (isinstance(condition, syntax.Binary) and condition.operator == "&&"):
        return condition, None
    first, rest = _split_and(condition.left)
    return first, condition.right if rest is None else syntax.Binary("&&", rest, condition.right)


def _split_or(condition: syntax.Expression) -> list[syntax.Expression]:
    """Split `a || b || c`; what stands in parentheses at the right is left as it is."""
    found: list[syntax.Expression] = []
    while isinstance(condition, syntax.Binary) and condition.operator == "||":
        found.append(condition.right)
        condition = condition.left
    return [condition, *reversed(found)]


def _cause(condition: syntax.Expression, variable: str) -> str | None:
    """Return the cause that a condition names: `FAILED in result`, or `result = FAILED` as in the paper."""
    if not isinstance(condition, syntax.Binary):
        return None
    match condition.operator:
        case "in":
            word, result = condition.left, condition.right
        case "==":
            result, word = condition.left, condition.right
        case _:
            return None
    if result != syntax.Name(variable):
        return None
    if isinstance(word, syntax.Name):
        return "failure" if word.text == "failed" else None
    value = getattr(word, "value", None)
    return CAUSES.get(value.name) if isinstance(value, Symbol) else None


_KINDS: dict[str, tuple[type, str]] = {
    "SHAPE": (int, "a whole number"),
    "SIZE": (int, "a whole number"),
    "DTYPE": (str, "a text"),
    "FILE": (str, "a text"),
    "SAVE": (str, "a text"),
    "UNDO": (bool, "true or false"),
}


class ResourceReader(ArgumentReader):
    """Reads resources."""

    def resources(self, node: syntax.Node) -> Iterator[tuple[model.Resource, syntax.Node]]:
        """Read all of them, with where each stands."""
        for one in self.solution(node, "RESOURCES"):
            first, rest = self.pair(one, "a resource")
            yield self._resource(self.name(first, "a resource"), rest), first

    def _resource(self, name: str, node: syntax.Node) -> model.Resource:
        if not isinstance(node, syntax.SolutionNode):
            self.fail(node, f"the resource `{name}` is a solution", hint="`<SHAPE : (1000, 1000)>`")
        said: dict[str, Any] = {}
        for entry in node.items:
            first, rest = self.pair(entry, f"a molecule of the resource `{name}`")
            word = self.word(first) or ""
            if word not in _KINDS:
                known = ", ".join(_KINDS)
                self.fail(first, f"the resource `{name}` has no molecule `{word}`", code="W103", hint=f"known: {known}")
            if word.lower() in said:
                self.fail(first, f"`{word}` stands here a second time", code="W102")
            if word == "SHAPE":
                said["shape"] = tuple(self._part(word, one) for one in self.list(rest))
            else:
                said[word.lower()] = self._part(word, rest)
        return model.Resource(name, **said)

    def _part(self, word: str, node: syntax.Expression) -> Any:
        found = self.argument(node, in_order=False)
        if isinstance(found, model.Input) and word not in ("DTYPE", "UNDO"):
            return found
        kind, said = _KINDS[word]
        if not isinstance(found, model.Value) or type(found.value) is not kind:
            self.fail(node, f"`{word}` is {said}", code="W104")
        return found.value


_TASK_WORDS = ("SRC", "SRV", "IN", "DST", "ARG", "WITH", "EACH", "AFTER", *CONTROL_WORDS)

_RETURNS = ("LIST", "TUPLE", "NOTHING")
_TOP_WORDS = ("WORKFLOW", "SERVICE", "INPUT", "RESULTS", "LOCKS", "PATTERNS", "RESOURCES", "DEADLINE", "RETURNS")

_SERVICE_WORDS = tuple(word.upper() for word in (*KINDS, "method", "options", "pickle", *POLICY_KEYS))


def is_hoclflow(source: Source) -> bool:
    """Return whether a text is an abstract workflow, and not a program to be run as it is."""
    try:
        body = parse_program(source).body
    except ProgramError:
        return False
    if len(body) != 1 or not isinstance(body[0], syntax.SolutionNode):
        return False
    return any(isinstance(one, syntax.TupleNode) and _has_service(one) for one in body[0].items)


def _has_service(node: syntax.TupleNode) -> bool:
    inside = node.parts[-1]
    items = inside.items if len(node.parts) == 2 and isinstance(inside, syntax.SolutionNode) else []
    firsts = [one.parts[0] for one in items if isinstance(one, syntax.TupleNode)]
    words = {one.value.name for one in firsts if isinstance(one, syntax.Literal) and hasattr(one.value, "name")}
    # A rule among them would mean that the workflow has been made concrete already.
    return "SRV" in words and not any(isinstance(one, syntax.Name | syntax.RuleNode) for one in items)


def read(source: Source, *, name: str = "workflow") -> Loaded:
    """Make the workflow that a HOCLflow text describes; `name` is its name if the text gives none."""
    body = parse_program(source).body
    reader = Reader(source)
    if len(body) != 1 or not isinstance(body[0], syntax.SolutionNode):
        reader.fail(body[0], "a workflow is one solution of tasks", hint="`<T1 : <SRC : <>, SRV : s1, ...>, ...>`")
    workflow = reader.workflow(body[0], name)
    return Loaded(workflow, reader.places)


class Reader(ControlReader, AlternativeReader, ResourceReader):
    """Reads one text."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.places: dict[Key, Span] = {}
        self._destinations: dict[str, tuple[syntax.Node, tuple[str, ...]]] = {}

    def workflow(self, node: syntax.SolutionNode, name: str) -> model.Workflow:
        """Read a workflow: the whole text, or one inside a service."""
        tasks: list[model.Task] = []
        services: list[model.Service] = []
        resources: list[model.Resource] = []
        inputs: dict[str, Any] = {}
        results: tuple[str, ...] = ()
        limits: dict[str, dict[str, Any]] = {"LOCKS": {}, "PATTERNS": {}}
        deadline: float | None = None
        returns: Any = ""
        rules: list[syntax.RuleNode] = []
        for one in node.items:
            if isinstance(one, syntax.RuleNode):
                rules.append(one)
                continue
            first, rest = self.pair(one, "a molecule of a workflow")
            match self.word(first):
                case "WORKFLOW":
                    name = self.name(rest, "WORKFLOW")
                case "SERVICE":
                    services.append(self._service(rest))
                case "INPUT":
                    self._input(rest, inputs)
                case "RESULTS":
                    results = self.names(rest, "RESULTS")
                    self.places |= {("result", result): self.span(rest) for result in results}
                case ("LOCKS" | "PATTERNS") as word:
                    limits[word] = self._named(rest, word, int if word == "LOCKS" else str)
                case "DEADLINE":
                    deadline = self.seconds(rest, "DEADLINE")
                case "RETURNS":
                    returns = self._one_of(rest, _RETURNS, "a workflow returns")
                case "RESOURCES":
                    for resource, place in self.resources(rest):
                        self._place("resource", resource.name, place)
                        resources.append(resource)
                case _:
                    tasks.append(self._task(first, rest))
        known = {task.name: task for task in tasks}
        alternatives = tuple(self.alternative(rule, number + 1, known) for number, rule in enumerate(rules))
        for alternative, rule in zip(alternatives, rules, strict=True):
            self._place("alternative", alternative.name, rule)
        workflow = model.Workflow(
            name, tuple(tasks), tuple(services), alternatives, inputs, results,
            limits["LOCKS"], limits["PATTERNS"], tuple(resources), returns=returns, deadline=deadline,
        )  # fmt: skip
        check_destinations(workflow, self._destinations, self)
        return workflow

    def _named(self, node: syntax.Node, word: str, kind: type) -> dict[str, Any]:
        """Read `<l : 2, m : 3>`, or `<majority : "majority.hocl">`."""
        found: dict[str, Any] = {}
        for one in self.solution(node, word):
            first, rest = self.pair(one, f"an entry of {word}")
            name = self.name(first, f"an entry of {word}")
            if name in found:
                self.fail(first, f"`{name}` stands here a second time", code="W102")
            if not isinstance(rest, syntax.Literal) or type(rest.value) is not kind:
                said = "a whole number" if kind is int else "the path of a rule library, in quotes"
                self.fail(rest, f"an entry of {word} is {said}", code="W105")
            found[name] = rest.value
        return found

    def _place(self, part: Any, name: str, node: syntax.Node) -> None:
        if (part, name) in self.places:
            self.fail(node, f"a second {part} is called `{name}`", code="W102", hint="give one of them another name")
        self.places[part, name] = self.span(node)

    def _input(self, node: syntax.Node, inputs: dict[str, Any]) -> None:
        if isinstance(node, syntax.TupleNode):
            first, rest = self.pair(node, "INPUT")
            name, default = self.name(first, "an input"), self.value(rest)
        else:
            name, default = self.name(node, "an input"), model.REQUIRED
        self._place("input", name, node)
        inputs[name] = default

    # --- Tasks.

    def _task(self, first: syntax.Node, rest: syntax.Node) -> model.Task:
        name = self.name(first, "a task")
        self._place("task", name, first)
        found = self._entries(rest, f"the task `{name}`", _TASK_WORDS, opens=name)
        if "SRV" not in found:
            self.fail(first, f"the task `{name}` has no service", hint="add `SRV : s1`")
        sources, how = self._sources(found.get("SRC"))
        after = self.names(found["AFTER"], "AFTER") if "AFTER" in found else ()
        keywords = self._keywords(found.get("WITH"))
        arguments = self._arguments(found, sources, keywords)
        task = model.Task(name, self.name(found["SRV"], "SRV"), arguments, keywords, after=after)
        each = model.Each(how, task.results_at) if how is not None else None
        if "EACH" in found:
            if each is not None:
                self.fail(found["EACH"], "`EACH` says it all, so `DOT` or `CROSS` cannot stand in `SRC` too")
            each = self._each(found["EACH"])
        self._check_sources(found, sources, task)
        if "DST" in found:
            self._destinations[name] = found["DST"], self.names(found["DST"], "DST")
        return msgspec.structs.replace(task, each=each, control=self.control(found))

    def _entries(
        self, node: syntax.Node, what: str, known: tuple[str, ...], *, opens: str = ""
    ) -> dict[str, syntax.Expression]:
        """Read `<WORD : value, ...>`, each word once."""
        if not isinstance(node, syntax.SolutionNode):
            hint = nearest(opens, _TOP_WORDS) or "write `<...>`"
            self.fail(node, f"{what} is a solution", hint=hint)
        found: dict[str, syntax.Expression] = {}
        for entry in node.items:
            first, rest = self.pair(entry, f"a molecule of {what}")
            word = self.word(first)
            if word not in known:
                hint = nearest(word or "", known) or f"known: {', '.join(known)}"
                self.fail(first, f"{what} has no molecule `{word or 'of this form'}`", code="W103", hint=hint)
            if word in found:
                self.fail(first, f"`{word}` stands here a second time", code="W102")
            found[word] = rest
        return found

    def _sources(self, node: syntax.Node | None) -> tuple[list[model.Result], Any]:
        """Read SRC: each source once for each of its filters, and how they are combined."""
        how: Any = None
        names: list[str] = []
        filters: dict[str, list[int]] = {}
        for one in [] if node is None else self.solution(node, "SRC"):
            if self.word(one) in ("DOT", "CROSS"):
                if how is not None:
                    self.fail(one, "`SRC` holds one of `DOT` and `CROSS`", hint="nest them in `EACH`")
                how = str(self.word(one)).lower()
            elif isinstance(one, syntax.TupleNode):
                result = self.filter(one)
                filters.setdefault(result.task, []).append(result.item or 0)
            else:
                names.append(self.name(one, "a source"))
        for name in filters:
            if name not in names:
                assert node is not None
                self.fail(node, f"`SRC` filters `{name}` but does not name it", hint=f"add `{name}` to `SRC`")
        found = [model.Result(name, item) for name in names for item in filters.get(name, [None])]
        return found, how

    def _arguments(
        self, found: dict[str, syntax.Expression], sources: list[model.Result], keywords: dict[str, model.Argument]
    ) -> tuple[model.Argument, ...]:
        given = self.solution(found["IN"], "IN") if "IN" in found else []
        if "ARG" in found:
            if given:
                self.fail(found["IN"], "`ARG` says it all, so `IN` is empty beside it")
            return tuple(self.argument(one, in_order=True) for one in self.list(found["ARG"]))
        # A source that a keyword takes is no positional argument as well.
        named = {one.task for one in keywords.values() if isinstance(one, model.Result)}
        return (
            *(self.argument(one, in_order=False) for one in given),
            *(one for one in sources if one.task not in named),
        )

    def _keywords(self, node: syntax.Node | None) -> dict[str, model.Argument]:
        found: dict[str, model.Argument] = {}
        for entry in [] if node is None else self.solution(node, "WITH"):
            first, rest = self.pair(entry, "a keyword")
            key = self.name(first, "a keyword")
            if key in found:
                self.fail(first, f"`{key}` stands here a second time", code="W102")
            found[key] = self.argument(rest, in_order=True)
        return found

    def _each(self, node: syntax.Node) -> model.Each:
        first, rest = self.pair(node, "EACH")
        word = self.word(first)
        if word not in ("DOT", "CROSS"):
            self.fail(first, "lists are combined by `DOT` or `CROSS`")
        over: list[int | model.Each] = []
        for one in self.list(rest):
            if isinstance(one, syntax.Literal) and type(one.value) is int:
                over.append(one.value)
            else:
                over.append(self._each(one))
        how: Any = word.lower()
        return model.Each(how, tuple(over))

    def _check_sources(
        self, found: dict[str, syntax.Expression], sources: list[model.Result], task: model.Task
    ) -> None:
        """Insist that SRC names whom the arguments name."""
        if "SRC" not in found:
            return
        taken = {slot.task for slot in task.slots if isinstance(slot, model.Result)}
        named = {source.task for source in sources}
        for name in sorted(taken ^ named):
            says, silent = ("SRC", "ARG") if name in named else ("ARG or WITH", "SRC")
            self.fail(found["SRC"], f"`{task.name}` takes from `{name}` by {says} but not by {silent}", code="W108")

    # --- Services.

    def _service(self, node: syntax.Node) -> model.Service:
        first, rest = self.pair(node, "SERVICE")
        name = self.name(first, "a service")
        self._place("service", name, first)
        found = self._entries(rest, f"the service `{name}`", _SERVICE_WORDS, opens=name)
        kinds = [word for word in found if word.lower() in KINDS]
        if len(kinds) != 1:
            self.fail(first, f"the service `{name}` must say once what it calls", hint='such as `SHELL : "date"`')
        kind: Any = kinds[0].lower()
        target = found[kinds[0]]
        function, text = None, ""
        if kind == "workflow" and isinstance(target, syntax.SolutionNode):
            function = Reader(self.source).workflow(target, name)
        else:
            text = self.text(target, kinds[0])
        return model.Service(
            name,
            kind,
            text,
            method=self.text(found["METHOD"], "METHOD") if "METHOD" in found else "POST",
            options=self._options(found),
            policy=self._policy(found),
            function=function,
            pickle="PICKLE" in found and self.value(found["PICKLE"]) is True,
        )

    def _options(self, found: dict[str, syntax.Expression]) -> dict[str, Any]:
        if "OPTIONS" not in found:
            return {}
        options = self.value(found["OPTIONS"])
        if not isinstance(options, dict):
            self.fail(found["OPTIONS"], "`OPTIONS` is a mapping", hint='`OPTIONS : MAP : <"k" : 1>`')
        return options

    def _policy(self, found: dict[str, syntax.Expression]) -> model.Policy:
        limits: dict[str, Any] = {}
        for key in POLICY_KEYS:
            node = found.get(key.upper())
            if node is None:
                continue
            value = math.inf if key == "cache" and self.value(node) is True else self.value(node)
            if type(value) not in ((int,) if key in COUNTS else (int, float)) or value < 0:
                self.fail(node, f"`{key.upper()}` is a {'whole ' if key in COUNTS else ''}number of at least 0")
            limits[key] = value
        return model.Policy(**limits)
