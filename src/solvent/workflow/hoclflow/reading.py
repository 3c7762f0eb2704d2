"""HOCLflow text to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from solvent.chemistry.syntax import Expression, Literal, Name, RuleNode, SolutionNode, TupleNode
from solvent.errors import ProgramError
from solvent.hocl import parse_program
from solvent.hocl.nearest import nearest
from solvent.workflow.files.reading import all_results
from solvent.workflow.files.services import COUNTS, KINDS, POLICY_KEYS
from solvent.workflow.hoclflow.alternatives import AlternativeReader
from solvent.workflow.hoclflow.bonds import check_destinations
from solvent.workflow.hoclflow.control import CONTROL_WORDS, ControlReader
from solvent.workflow.hoclflow.resources import ResourceReader
from solvent.workflow.model import REQUIRED, Argument, Each, Policy, Resource, Result, Service, Task, Workflow
from solvent.workflow.places import Key, Loaded

if TYPE_CHECKING:
    from solvent.chemistry.syntax import Node
    from solvent.source import Source, Span

_TASK_WORDS = ("SRC", "SRV", "IN", "DST", "ARG", "WITH", "EACH", "AFTER", *CONTROL_WORDS)
_TOP_WORDS = ("WORKFLOW", "SERVICE", "INPUT", "RESULTS", "LOCKS", "PATTERNS", "RESOURCES")
_SERVICE_WORDS = tuple(word.upper() for word in (*KINDS, "method", "options", *POLICY_KEYS))


def is_hoclflow(source: Source) -> bool:
    """Say whether a text is an abstract workflow, and not a program to be run as it is."""
    try:
        body = parse_program(source).body
    except ProgramError:
        return False
    if len(body) != 1 or not isinstance(body[0], SolutionNode):
        return False
    return any(isinstance(one, TupleNode) and _has_service(one) for one in body[0].items)


def _has_service(node: TupleNode) -> bool:
    inside = node.parts[-1]
    items = inside.items if len(node.parts) == 2 and isinstance(inside, SolutionNode) else []
    firsts = [one.parts[0] for one in items if isinstance(one, TupleNode)]
    words = {one.value.name for one in firsts if isinstance(one, Literal) and hasattr(one.value, "name")}
    # A rule among them would mean that the workflow has been made concrete already.
    return "SRV" in words and not any(isinstance(one, Name | RuleNode) for one in items)


def read(source: Source, *, name: str = "workflow") -> Loaded:
    """Make the workflow that a HOCLflow text describes; `name` is its name if the text gives none."""
    body = parse_program(source).body
    reader = Reader(source)
    if len(body) != 1 or not isinstance(body[0], SolutionNode):
        reader.fail(body[0], "a workflow is one solution of tasks", hint="`<T1 : <SRC : <>, SRV : s1, ...>, ...>`")
    workflow = reader.workflow(body[0], name)
    return Loaded(workflow, reader.places)


class Reader(ControlReader, AlternativeReader, ResourceReader):
    """Reads one text."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.places: dict[Key, Span] = {}
        self._destinations: dict[str, tuple[Node, tuple[str, ...]]] = {}

    def workflow(self, node: SolutionNode, name: str) -> Workflow:
        """Read a workflow: the whole text, or one inside a service."""
        tasks: list[Task] = []
        services: list[Service] = []
        resources: list[Resource] = []
        inputs: dict[str, Any] = {}
        results: tuple[str, ...] = ()
        limits: dict[str, dict[str, Any]] = {"LOCKS": {}, "PATTERNS": {}}
        rules: list[RuleNode] = []
        for one in node.items:
            if isinstance(one, RuleNode):
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
        workflow = Workflow(
            name, tuple(tasks), tuple(services), alternatives, inputs, results,
            limits["LOCKS"], limits["PATTERNS"], tuple(resources),
        )  # fmt: skip
        check_destinations(workflow, self._destinations, self)
        return workflow

    def _named(self, node: Node, word: str, kind: type) -> dict[str, Any]:
        """Read `<l : 2, m : 3>`, or `<majority : "majority.hocl">`."""
        found: dict[str, Any] = {}
        for one in self.solution(node, word):
            first, rest = self.pair(one, f"an entry of {word}")
            name = self.name(first, f"an entry of {word}")
            if name in found:
                self.fail(first, f"`{name}` stands here a second time", code="W102")
            if not isinstance(rest, Literal) or type(rest.value) is not kind:
                said = "a whole number" if kind is int else "the path of a rule library, in quotes"
                self.fail(rest, f"an entry of {word} is {said}", code="W105")
            found[name] = rest.value
        return found

    def _place(self, part: Any, name: str, node: Node) -> None:
        if (part, name) in self.places:
            self.fail(node, f"a second {part} is called `{name}`", code="W102", hint="give one of them another name")
        self.places[part, name] = self.span(node)

    def _input(self, node: Node, inputs: dict[str, Any]) -> None:
        if isinstance(node, TupleNode):
            first, rest = self.pair(node, "INPUT")
            name, default = self.name(first, "an input"), self.value(rest)
        else:
            name, default = self.name(node, "an input"), REQUIRED
        self._place("input", name, node)
        inputs[name] = default

    # --- Tasks.

    def _task(self, first: Node, rest: Node) -> Task:
        name = self.name(first, "a task")
        self._place("task", name, first)
        found = self._entries(rest, f"the task `{name}`", _TASK_WORDS, opens=name)
        if "SRV" not in found:
            self.fail(first, f"the task `{name}` has no service", hint="add `SRV : s1`")
        sources, how = self._sources(found.get("SRC"))
        after = self.names(found["AFTER"], "AFTER") if "AFTER" in found else ()
        keywords = self._keywords(found.get("WITH"))
        arguments = self._arguments(found, sources, keywords)
        task = Task(name, self.name(found["SRV"], "SRV"), arguments, keywords, after=after)
        each = Each(how, all_results(task)) if how is not None else None
        if "EACH" in found:
            if each is not None:
                self.fail(found["EACH"], "`EACH` says it all, so `DOT` or `CROSS` cannot stand in `SRC` too")
            each = self._each(found["EACH"])
        self._check_sources(found, sources, task)
        if "DST" in found:
            self._destinations[name] = found["DST"], self.names(found["DST"], "DST")
        return msgspec.structs.replace(task, each=each, control=self.control(found))

    def _entries(self, node: Node, what: str, known: tuple[str, ...], *, opens: str = "") -> dict[str, Expression]:
        """Read `<WORD : value, ...>`, each word once."""
        if not isinstance(node, SolutionNode):
            hint = nearest(opens, _TOP_WORDS) or "write `<...>`"
            self.fail(node, f"{what} is a solution", hint=hint)
        found: dict[str, Expression] = {}
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

    def _sources(self, node: Node | None) -> tuple[list[Result], Any]:
        """Read SRC: each source once for each of its filters, and how they are combined."""
        how: Any = None
        names: list[str] = []
        filters: dict[str, list[int]] = {}
        for one in [] if node is None else self.solution(node, "SRC"):
            if self.word(one) in ("DOT", "CROSS"):
                if how is not None:
                    self.fail(one, "`SRC` holds one of `DOT` and `CROSS`", hint="nest them in `EACH`")
                how = str(self.word(one)).lower()
            elif isinstance(one, TupleNode):
                result = self.filter(one)
                filters.setdefault(result.task, []).append(result.item or 0)
            else:
                names.append(self.name(one, "a source"))
        for name in filters:
            if name not in names:
                assert node is not None
                self.fail(node, f"`SRC` filters `{name}` but does not name it", hint=f"add `{name}` to `SRC`")
        found = [Result(name, item) for name in names for item in filters.get(name, [None])]
        return found, how

    def _arguments(
        self, found: dict[str, Expression], sources: list[Result], keywords: dict[str, Argument]
    ) -> tuple[Argument, ...]:
        given = self.solution(found["IN"], "IN") if "IN" in found else []
        if "ARG" in found:
            if given:
                self.fail(found["IN"], "`ARG` says it all, so `IN` is empty beside it")
            return tuple(self.argument(one, in_order=True) for one in self.list(found["ARG"]))
        # A source that a keyword takes is no positional argument as well.
        named = {one.task for one in keywords.values() if isinstance(one, Result)}
        return (
            *(self.argument(one, in_order=False) for one in given),
            *(one for one in sources if one.task not in named),
        )

    def _keywords(self, node: Node | None) -> dict[str, Argument]:
        found: dict[str, Argument] = {}
        for entry in [] if node is None else self.solution(node, "WITH"):
            first, rest = self.pair(entry, "a keyword")
            key = self.name(first, "a keyword")
            if key in found:
                self.fail(first, f"`{key}` stands here a second time", code="W102")
            found[key] = self.argument(rest, in_order=True)
        return found

    def _each(self, node: Node) -> Each:
        first, rest = self.pair(node, "EACH")
        word = self.word(first)
        if word not in ("DOT", "CROSS"):
            self.fail(first, "lists are combined by `DOT` or `CROSS`")
        over: list[int | Each] = []
        for one in self.list(rest):
            if isinstance(one, Literal) and type(one.value) is int:
                over.append(one.value)
            else:
                over.append(self._each(one))
        how: Any = word.lower()
        return Each(how, tuple(over))

    def _check_sources(self, found: dict[str, Expression], sources: list[Result], task: Task) -> None:
        """Insist that SRC names whom the arguments name."""
        if "SRC" not in found:
            return
        taken = {slot.task for slot in task.slots if isinstance(slot, Result)}
        named = {source.task for source in sources}
        for name in sorted(taken ^ named):
            says, silent = ("SRC", "ARG") if name in named else ("ARG or WITH", "SRC")
            self.fail(found["SRC"], f"`{task.name}` takes from `{name}` by {says} but not by {silent}", code="W108")

    # --- Services.

    def _service(self, node: Node) -> Service:
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
        if kind == "workflow" and isinstance(target, SolutionNode):
            function = Reader(self.source).workflow(target, name)
        else:
            text = self.text(target, kinds[0])
        return Service(
            name,
            kind,
            text,
            method=self.text(found["METHOD"], "METHOD") if "METHOD" in found else "POST",
            options=self._options(found),
            policy=self._policy(found),
            function=function,
        )

    def _options(self, found: dict[str, Expression]) -> dict[str, Any]:
        if "OPTIONS" not in found:
            return {}
        options = self.value(found["OPTIONS"])
        if not isinstance(options, dict):
            self.fail(found["OPTIONS"], "`OPTIONS` is a mapping", hint='`OPTIONS : MAP : <"k" : 1>`')
        return options

    def _policy(self, found: dict[str, Expression]) -> Policy:
        limits: dict[str, Any] = {}
        for key in POLICY_KEYS:
            node = found.get(key.upper())
            if node is None:
                continue
            value = self.value(node)
            if type(value) not in ((int,) if key in COUNTS else (int, float)) or value < 0:
                self.fail(node, f"`{key.upper()}` is a {'whole ' if key in COUNTS else ''}number of at least 0")
            limits[key] = value
        return Policy(**limits)


__all__ = ["Reader", "is_hoclflow", "read"]
