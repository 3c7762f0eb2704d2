"""Chemical services to the model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.chemistry.syntax import Expression, Literal, Multiplet, Name, SolutionNode, TupleNode
from solvent.errors import ProgramError, WorkflowProblem
from solvent.hocl import parse_program
from solvent.hocl.nearest import nearest
from solvent.workflow.chws.calls import Calls
from solvent.workflow.chws.choices import split_of
from solvent.workflow.chws.parts import Part, PartReader
from solvent.workflow.chws.words import GATHERS, JOINS, PREPARES, PREPARING, RESETS, RULES
from solvent.workflow.control import Control
from solvent.workflow.model import Alternative, Input, Service, Task, Value, Workflow
from solvent.workflow.places import Loaded

if TYPE_CHECKING:
    from solvent.source import Source

_MAY_BE = re.compile(r"\bChWS|\binvokeServ\b")
_HINT = "`<ChWS1 : <DEST : ChWS2, invokeServ, preparePass, passInfo>, ...>`"


def is_chws(source: Source) -> bool:
    """Say whether a text is a solution of chemical services."""
    # A text without these words is none, and is not read twice.
    if _MAY_BE.search(source.text) is None:
        return False
    try:
        body = parse_program(source).body
    except ProgramError:
        return False
    return any(_is_service(one) for one in _molecules(body))


def _molecules(body: list[Expression]) -> list[Expression]:
    """Give the molecules of the main solution; the paper leaves out its brackets."""
    return body[0].items if len(body) == 1 and isinstance(body[0], SolutionNode) else body


def _is_service(node: Expression) -> bool:
    if not isinstance(node, TupleNode) or len(node.parts) != 2 or not isinstance(node.parts[1], SolutionNode):
        return False
    first, inside = node.parts[0], node.parts[1].items
    name = str(getattr(first.value, "name", "")) if isinstance(first, Literal) else ""
    heads = [one.parts[0] for one in inside if isinstance(one, TupleNode)]
    if any(str(getattr(one.value, "name", "")) == "SRV" for one in heads if isinstance(one, Literal)):
        return False
    return name.startswith("ChWS") or any(isinstance(one, Name) and one.text in RULES for one in inside)


def read(source: Source, *, name: str = "workflow") -> Loaded:
    """Make the workflow that a solution of chemical services describes; `name` is its name if the text gives none."""
    body = parse_program(source).body
    reader = ServicesReader(source)
    molecules = _molecules(body)
    if not any(_is_service(one) for one in molecules):
        reader.fail(body[0], "this is no solution of chemical services", hint=_HINT)
    return Loaded(reader.services(molecules, name), reader.places)


class ServicesReader(PartReader):
    """Reads one text."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.parts: dict[str, Part] = {}
        self.senders: dict[str, list[str]] = {}
        self.variables: dict[str, int | None] = {}
        """The global variables, and how often each can be read."""

    def services(self, molecules: list[Expression], name: str) -> Workflow:
        """Read the main solution."""
        services: list[Service] = []
        inputs: dict[str, Any] = {}
        results: tuple[str, ...] = ()
        for one in molecules:
            if isinstance(one, Multiplet):
                self._global(one.item, one, inputs)
                continue
            first, rest = self.pair(one, "a molecule of the main solution")
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
                case _ if isinstance(rest, SolutionNode):
                    part = self.part(first, rest)
                    self._place("task", part.name, first)
                    self.parts[part.name] = part
                case _:
                    self._global(one, None, inputs)
        self._find_senders()
        self._check_preparing()
        tasks = [self._task_of(part) for part in self.parts.values()]
        alternatives = self._cancellations(tasks)
        self._check_readers(tasks)
        return Workflow(name, tuple(tasks), tuple(services), alternatives, inputs, results)

    def _global(self, node: Expression, multiplet: Multiplet | None, inputs: dict[str, Any]) -> None:
        """Read `LIMIT : 3 ^ 4`: a variable that can be read four times."""
        first, rest = self.pair(node, "a global variable")
        name = self.name(first, "a global variable")
        self._place("input", name, first)
        inputs[name] = self.value(rest)
        self.variables[name] = 1
        if multiplet is not None:
            count = multiplet.count
            if count is not None and not (isinstance(count, Literal) and type(count.value) is int):
                self.fail(count, "how often a global variable can be read is a whole number, or `inf`", code="W105")
            self.variables[name] = None if count is None else count.value

    def _check_readers(self, tasks: list[Task]) -> None:
        for name, count in self.variables.items():
            readers = [task.name for task in tasks if Input(name) in task.slots]
            if count is not None and len(readers) > count:
                said = "once" if count == 1 else f"{count} times"
                message = f"`{name}` can be read {said}, but these read it: {', '.join(readers)}"
                hint = f"`{name} : ... ^ inf` never runs out"
                raise WorkflowProblem("W105", message, span=self.places["input", name], hint=hint)

    # --- Who passes to whom.

    def _find_senders(self) -> None:
        for part in self.parts.values():
            named = [(name, node) for name, node in part.destinations.items()]
            named += [(name, choice.node) for choice in part.choices for name in choice.destinations]
            if part.cancel_to is not None:
                self._check_known(part, self.name(part.cancel_to, "CANCEL_CHWS"), part.cancel_to)
            for name, node in named:
                self._check_known(part, name, node)
                senders = self.senders.setdefault(name, [])
                if part.name not in senders:
                    senders.append(part.name)

    def _check_known(self, part: Part, name: str, node: Any) -> None:
        if name not in self.parts:
            hint = nearest(name, self.parts)
            self.fail(node, f"`{part.name}` passes to `{name}`, which is no chemical service", code="W121", hint=hint)

    def _check_preparing(self) -> None:
        """Insist that the rules of a service are enough for what it is to do."""
        for part in self.parts.values():
            if not part.rules:
                continue
            if "invokeServ" not in part.rules:
                self.fail(part.node, f"`{part.name}` never calls its service", hint="add the rule `invokeServ`")
            if (part.destinations or part.choices) and not any(rule in part.rules for rule in PREPARING):
                self.fail(part.node, f"`{part.name}` prepares nothing to pass on", hint="add the rule `preparePass`")
            if part.choices and "passInfoCond" not in part.rules:
                self.fail(part.node, f"`{part.name}` passes nothing on a condition", hint="add the rule `passInfoCond`")
            is_open = "passInfo" in part.rules or ("passInfoCond" in part.rules and "COND_PASS" in part.flags)
            if part.destinations and not part.choices and not is_open:
                self.fail(part.node, f"`{part.name}` passes nothing on", hint="add the rule `passInfo`")
            if (part.cancel_to is None) == ("passInfoCancel" in part.rules):
                message = f"in `{part.name}`, `passInfoCancel` and `CANCEL_CHWS` stand together or not at all"
                self.fail(part.node, message)
            self._check_towards(part)

    def _check_towards(self, part: Part) -> None:
        onward = {*part.destinations, *(name for choice in part.choices for name in choice.destinations)}
        for flag, prepare in PREPARES.items():
            waiting = [name for name in onward if flag in self.parts[name].rules]
            if waiting and prepare not in part.rules:
                message = f"`{waiting[0]}` waits for what `{prepare}` sends, but `{part.name}` does not hold it"
                self.fail(part.node, message, code="W108", hint=f"add the rule `{prepare}`")
            if prepare in part.rules and not waiting:
                message = f"`{part.name}` holds `{prepare}`, but passes to nobody who holds `{flag}`"
                self.fail(part.rules[prepare], message, code="W108")

    # --- Tasks.

    def _task_of(self, part: Part) -> Task:
        join, sources = self._join_of(part)
        calls = Calls(self, part, join, sources)
        split = split_of(part, self)
        control: dict[str, Any] = split if join in (None, "all") else {"join": join, **split}
        arguments = calls.arguments()
        taken = [slot.task for slot in arguments if hasattr(slot, "task")]
        return Task(
            part.name,
            calls.service(),
            arguments,
            each=calls.each(arguments),
            after=tuple(name for name in sources if name not in taken),
            control=Control(**control) if control else None,
        )

    def _join_of(self, part: Part) -> tuple[str | None, list[str]]:
        """Give how a service joins, and its sources in order."""
        sources = self.senders.get(part.name, [])
        flags = [rule for rule in JOINS if rule in part.rules]
        if len(flags) > 1:
            message = f"`{part.name}` joins in two ways, by `{flags[0]}` and by `{flags[1]}`"
            self.fail(part.rules[flags[1]], message, code="W105")
        for flag, gather in GATHERS.items():
            if (flag in part.rules) != (gather in part.rules):
                self.fail(part.node, f"in `{part.name}`, `{gather}` and `{flag}` stand together or not at all")
        if "SYNC_SRC" in part.sources:
            sources = self._agreed(part, part.sources["SYNC_SRC"], sources)
        elif "synchronize" in part.rules:
            self.fail(part.node, f"`{part.name}` does not say whom it waits for", hint="add `SYNC_SRC : <...>`")
        is_reset = any(rule in part.rules for rule in RESETS)
        if flags and not (is_reset and flags[0] == "sm_setFlag"):
            return JOINS[flags[0]], sources
        if sources and is_reset:
            return "any", sources
        if len(part.data) > 1:
            return "any", sources
        if len(sources) > 1 and not part.data and "SYNC_SRC" not in part.sources:
            hint = f"add one of {', '.join(JOINS)}, or a rule that takes their results"
            self.fail(
                part.node, f"`{part.name}` does not say how it joins {', '.join(sources)}", code="W104", hint=hint
            )
        return None, sources

    def _agreed(self, part: Part, named: list[str], senders: list[str]) -> list[str]:
        for name in named:
            if name not in senders:
                message = f"`{part.name}` waits for `{name}`, but `{name}` has no `DEST : {part.name}`"
                self.fail(part.flags["SYNC_SRC"], message, code="W108")
        for name in senders:
            if name not in named:
                message = f"`{name}` passes to `{part.name}`, but `SYNC_SRC` does not name it"
                self.fail(part.flags["SYNC_SRC"], message, code="W108", hint=f"add `{name}`")
        return named

    # --- Cancelling.

    def _cancellations(self, tasks: list[Task]) -> tuple[Alternative, ...]:
        """Make the failure of a service start its CANCEL service, which ends the case if it leads nowhere."""
        found: list[Alternative] = []
        for part in self.parts.values():
            if part.cancel_to is None:
                continue
            name = self.name(part.cancel_to, "CANCEL_CHWS")
            found.append(Alternative(f"cancel {part.name}", {part.name: name}))
            self._place("alternative", found[-1].name, part.cancel_to)
            at = next(at for at, task in enumerate(tasks) if task.name == name)
            tasks[at] = self._told(tasks[at], part)
        return tuple(found)

    def _told(self, task: Task, part: Part) -> Task:
        """Give the service that cancels what it is told."""
        told = tuple(map(Value, part.messages))
        given = task.arguments
        if told and given and given != told:
            hint = "the messages of several services are the same, or stand in none"
            self.fail(
                part.flags["CANCEL"], f"`{task.name}` is called with something else already", code="W105", hint=hint
            )
        control = task.control
        if not self.parts[task.name].destinations and not self.parts[task.name].choices:
            control = msgspec.structs.replace(control or Control(), ends="cancelled")
        return msgspec.structs.replace(task, arguments=told or given, control=control)


__all__ = ["ServicesReader", "is_chws", "read"]
