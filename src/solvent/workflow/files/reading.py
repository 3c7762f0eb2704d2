"""The plain data of a workflow file to the model.

A file is a mapping; `docs/reference/workflow.schema.json` says which. An argument is a constant, or

    "$x"                      the workflow's input x (`"$$x"` is the text `$x`)
    {from: T1}                the result of T1
    {from: T1, item: 3}       its third item
    {arrived: one}            what started the task, whoever sent it; {arrived: all}: the list of all that arrived
    {signal: value}           what came with the signal that the task waits for
    {resource: grid}          a resource, which the call has alone, or beside others: {resource: grid, mode: read}
    {input: x}, {value: 3}    the same as "$x" and 3, for names and constants that look like something else

The first thing that is wrong is raised as a `WorkflowProblem` with its place. Whether names mean anything is not asked
here but by `checks`, which then says everything at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from solvent.errors import WorkflowProblem
from solvent.hocl.nearest import nearest
from solvent.workflow.files.control import CONTROL_KEYS, read_control, read_locks, read_patterns
from solvent.workflow.files.resources import read_claim, read_resources
from solvent.workflow.files.services import read_service
from solvent.workflow.model import REQUIRED, Alternative, Each, Task, Workflow
from solvent.workflow.places import Key, Loaded, Places, route_key
from solvent.workflow.slots import Argument, Arrived, Input, Result, Signalled, Value

if TYPE_CHECKING:
    from collections.abc import Collection

    from solvent.source import Span
    from solvent.workflow.files.tree import Tree
    from solvent.workflow.model import Service
    from solvent.workflow.places import Path

WORKFLOW_KEYS = (
    "workflow", "inputs", "services", "tasks", "alternatives", "results", "locks", "patterns", "resources",
)  # fmt: skip
TASK_KEYS = ("service", "in", "from", "with", "each", "after", *CONTROL_KEYS)
ALTERNATIVE_KEYS = ("name", "exits", "on", "when", "predicate", "also", "watch")
CAUSES = ("failure", "timeout", "condition")
_CONSTANT = "a constant that looks like this is written `{value: ...}`"


def read_tree(tree: Tree, *, name: str) -> Loaded:
    """Make the workflow that a file describes; `name` is its name if the file gives none."""
    workflow = Reader(tree).workflow(tree.data, (), name=name)
    return Loaded(workflow, Places(lambda: _places(workflow, tree)))


def _places(workflow: Workflow, tree: Tree) -> dict[Key, Span]:
    paths: dict[Key, Path] = {}
    paths |= {("input", name): ("inputs", name) for name in workflow.inputs}
    paths |= {("service", one.name): ("services", one.name) for one in workflow.services}
    paths |= {("resource", one.name): ("resources", one.name) for one in workflow.resources}
    paths |= {("task", one.name): ("tasks", one.name) for one in workflow.tasks}
    paths |= {("alternative", one.name): ("alternatives", at) for at, one in enumerate(workflow.alternatives)}
    judging = [(at, one.name) for at, one in enumerate(workflow.alternatives) if one.when is not None]
    paths |= {("condition", name): ("alternatives", at, "when") for at, name in judging}
    paths |= {("result", name): ("results", at) for at, name in enumerate(workflow.results)}
    for task in workflow.tasks:
        if task.control is not None:
            paths |= _routes(task.name, tree.data["tasks"][task.name])
    spans = {key: tree.span(path) for key, path in paths.items()}
    return {key: span for key, span in spans.items() if span is not None}


def _routes(task: str, data: dict[str, Any]) -> dict[Key, Path]:
    """Find the ways onwards of a task and their conditions."""
    above: Path = ("tasks", task)
    paths: dict[Key, Path] = {}
    to = data.get("to")
    if isinstance(to, dict):
        paths |= {route_key(task, one): (*above, "to", one) for one in to}
    for at, one in enumerate(to) if isinstance(to, list) else ():
        items = one if isinstance(one, dict) else [one]
        paths |= {route_key(task, str(name)): (*above, "to", at, name) for name in items}
    if data.get("again") is not None:
        paths[route_key(task, str(data["again"]["to"]))] = (*above, "again")
    if isinstance(data.get("instances"), dict):
        paths |= {route_key(task, word): (*above, "instances", word) for word in ("more", "enough")}
    return paths


class Reader:
    """Reads one file; knows where everything stands."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def workflow(self, data: Any, path: Path, *, name: str) -> Workflow:
        """Read a workflow: the whole file, or one inside a service."""
        if data is None:
            self.fail("W104", "there is no workflow here", path, hint="a workflow has `tasks:`")
        found = self.mapping(data, path, "a workflow", WORKFLOW_KEYS, required=("tasks",))
        patterns = read_patterns(self, found.get("patterns"), (*path, "patterns"))
        return Workflow(
            name=self.text(found.get("workflow", name), (*path, "workflow"), "the name of a workflow"),
            tasks=self._tasks(found["tasks"], (*path, "tasks"), patterns),
            services=self._services(found.get("services"), (*path, "services")),
            alternatives=self._alternatives(found.get("alternatives"), (*path, "alternatives")),
            inputs=self._inputs(found.get("inputs"), (*path, "inputs")),
            results=self.names(found.get("results"), (*path, "results"), "`results`"),
            locks=read_locks(self, found.get("locks"), (*path, "locks")),
            patterns=patterns,
            resources=read_resources(self, found.get("resources"), (*path, "resources")),
        )

    def _inputs(self, data: Any, path: Path) -> dict[str, Any]:
        found = {}
        for name, value in self.mapping(data or {}, path, "`inputs`").items():
            is_wrapped = isinstance(value, dict) and set(value) == {"default"}
            found[name] = REQUIRED if value is None else value["default"] if is_wrapped else value
        return found

    def _services(self, data: Any, path: Path) -> tuple[Service, ...]:
        found = self.mapping(data or {}, path, "`services`")
        return tuple(read_service(self, name, value, (*path, name)) for name, value in found.items())

    def _tasks(self, data: Any, path: Path, patterns: Collection[str]) -> tuple[Task, ...]:
        if data is None:
            self.fail("W104", "a workflow needs at least one task", path)
        found = self.mapping(data, path, "`tasks`")
        return tuple(self._task(name, value, path, patterns) for name, value in found.items())

    def _task(self, name: str, data: Any, above: Path, patterns: Collection[str]) -> Task:
        path = (*above, name)
        found = self.mapping(data, path, f"the task `{name}`", TASK_KEYS, required=("service",))
        if "in" in found and "from" in found:
            self.fail("W105", "`from` is short for `in`, so only one of them can stand here", (*path, "from"))
        if "from" in found:
            named = self.names(found["from"], (*path, "from"), "`from`")
            arguments: tuple[Argument, ...] = tuple(Result(task) for task in named)
        else:
            given = found.get("in")
            items = [] if given is None else self.list(given, (*path, "in"), "`in`")
            arguments = tuple(_usual(one) or self.argument(one, (*path, "in", at)) for at, one in enumerate(items))
        keywords = {}
        if found.get("with"):
            given = self.mapping(found["with"], (*path, "with"), "`with`")
            keywords = {key: self.argument(one, (*path, "with", key)) for key, one in given.items()}
        task = Task(
            name,
            self.text(found["service"], (*path, "service"), "the name of a service"),
            arguments,
            keywords,
            after=self.names(found.get("after"), (*path, "after"), "`after`"),
        )
        control = read_control(self, found, path, task, patterns)
        each = None if found.get("each") is None else self._each(found["each"], (*path, "each"), task)
        if each is None and control is None:
            return task
        return msgspec.structs.replace(task, each=each, control=control)

    # --- Arguments.

    def argument(self, data: Any, path: Path) -> Argument:
        """Read where an argument comes from."""
        if isinstance(data, str) and data.startswith("$"):
            if data.startswith("$$"):
                return Value(data[1:])
            if data == "$":
                self.fail("W105", "`$` without the name of an input", path, hint="the text `$` is written `$$`")
            return Input(data[1:])
        if isinstance(data, dict):
            if "from" in data:
                return self._result(data, path)
            if "resource" in data:
                return read_claim(self, data, path)
            if len(data) == 1:
                ((key, given),) = data.items()
                return self._single(key, given, data, path)
        return Value(data)

    def _single(self, key: str, given: Any, data: dict[str, Any], path: Path) -> Argument:
        """Read an argument that is a mapping of one entry: of a kind that its key says, or a constant."""
        match key:
            case "input":
                return Input(self.text(given, (*path, key), "the name of an input"))
            case "value":
                return Value(given)
            case "arrived":
                if given not in ("one", "all"):
                    self.fail("W105", "what has arrived is `one` or `all`", (*path, key), hint=_CONSTANT)
                return Arrived(given)
            case "signal":
                if given != "value":
                    self.fail("W105", "of a signal there is only its `value`", (*path, key), hint=_CONSTANT)
                return Signalled()
        return Value(data)

    def _result(self, data: dict[str, Any], path: Path) -> Result:
        self.mapping(data, path, "an argument with `from`", ("from", "item"))
        task = self.text(data["from"], (*path, "from"), "the name of a task")
        item = data.get("item")
        if item is not None and (type(item) is not int or item < 1):
            self.fail("W105", "`item` is a position: 1, 2, 3 ...", (*path, "item"))
        return Result(task, item)

    def _each(self, data: Any, path: Path, task: Task) -> Each:
        if isinstance(data, str):
            if data not in ("dot", "cross"):
                self.fail_word("W105", f"`{data}` is no way to combine lists", path, data, ("dot", "cross"))
            how: Any = data
            return Each(how, all_results(task))
        found = self.mapping(data, path, "`each`", ("dot", "cross"))
        if len(found) != 1:
            self.fail("W105", "`each` is either `dot` or `cross`", path, hint="one inside the other nests them")
        ((way, items),) = found.items()
        over = [
            self._each(one, (*path, way, at), task)
            if isinstance(one, dict)
            else self.position(one, (*path, way, at), task)
            for at, one in enumerate(self.list(items, (*path, way), f"`{way}`"))
        ]
        nested: Any = way
        return Each(nested, tuple(over))

    def position(self, data: Any, path: Path, task: Task) -> int:
        """Read which argument of a task is meant: its position, from 0, or its keyword."""
        if type(data) is int:
            return data
        if isinstance(data, str):
            if data not in task.keywords:
                self.fail_word("W105", f"no argument is called `{data}`", path, data, task.keywords)
            return len(task.arguments) + list(task.keywords).index(data)
        self.fail("W104", "arguments are named by their positions, from 0, or by their keywords", path)

    # --- Alternatives.

    def _alternatives(self, data: Any, path: Path) -> tuple[Alternative, ...]:
        items = [] if data is None else self.list(data, path, "`alternatives`")
        found = [self._alternative(one, (*path, at), at + 1) for at, one in enumerate(items)]
        seen: set[str] = set()
        for at, one in enumerate(found):
            if one.name in seen:
                self.fail("W102", f"a second alternative is called `{one.name}`", (*path, at, "name"))
            seen.add(one.name)
        return tuple(found)

    def _alternative(self, data: Any, path: Path, number: int) -> Alternative:
        found = self.mapping(data, path, "an alternative", ALTERNATIVE_KEYS, required=("exits",))
        exits = self.mapping(found["exits"], (*path, "exits"), "`exits`")
        causes = self.names(found.get("on", "failure"), (*path, "on"), "`on`")
        for cause in causes:
            if cause not in CAUSES:
                self.fail_word("W105", f"an alternative cannot apply on `{cause}`", (*path, "on"), cause, CAUSES)
        known: Any = causes
        return Alternative(
            name=self.text(found.get("name", f"alternative {number}"), (*path, "name"), "the name of an alternative"),
            exits={
                task: self.text(other, (*path, "exits", task), "the task that replaces it")
                for task, other in exits.items()
            },
            also=self.names(found.get("also"), (*path, "also"), "`also`"),
            on=known,
            when=self.text_or_nothing(found.get("when"), (*path, "when"), "`when`"),
            predicate=self.text_or_nothing(found.get("predicate"), (*path, "predicate"), "`predicate`"),
            watch=self.names(found.get("watch"), (*path, "watch"), "`watch`"),
        )

    # --- Types.

    def mapping(
        self,
        data: Any,
        path: Path,
        what: str,
        known: Collection[str] = (),
        *,
        required: Collection[str] = (),
    ) -> dict[str, Any]:
        """Insist on a mapping, on keys that are known if any are, and on those that must be there."""
        if not isinstance(data, dict):
            self.fail("W104", f"{what} is a mapping, not {kind_of(data)}", path)
        for key in data if known else ():
            if key not in known:
                self.fail_word("W103", f"{what} has no key `{key}`", (*path, key), key, known)
        for key in required:
            if key not in data:
                self.fail("W104", f"{what} needs the key `{key}`", path)
        return data

    def list(self, data: Any, path: Path, what: str) -> list[Any]:
        """Insist on a list."""
        if not isinstance(data, list):
            self.fail("W104", f"{what} is a list, not {kind_of(data)}", path, hint="write `[...]`")
        return data

    def text(self, data: Any, path: Path, what: str) -> str:
        """Insist on a text; a number that stands where a name must is taken as written."""
        if type(data) is int:
            return str(data)
        if not isinstance(data, str):
            self.fail("W104", f"{what} is a text, not {kind_of(data)}", path)
        if not data:
            self.fail("W104", f"{what} is empty", path)
        return data

    def text_or_nothing(self, data: Any, path: Path, what: str) -> str | None:
        """Insist on a text where there is anything."""
        return None if data is None else self.text(data, path, what)

    def names(self, data: Any, path: Path, what: str) -> tuple[str, ...]:
        """Insist on names: one, a list of them, or none."""
        if data is None:
            return ()
        if isinstance(data, str):
            return (self.text(data, path, what),)
        found = self.list(data, path, what)
        return tuple(self.text(one, (*path, at), f"a name in {what}") for at, one in enumerate(found))

    def number(self, data: Any, path: Path, what: str) -> float:
        """Insist on a number."""
        if type(data) not in (int, float):
            self.fail("W104", f"{what} is a number, not {kind_of(data)}", path)
        found: float = data
        return found

    def whole(self, data: Any, path: Path, what: str) -> int:
        """Insist on a whole number above zero."""
        if type(data) is not int:
            seen = data if type(data) is float else kind_of(data)
            self.fail("W104", f"{what} is a whole number, not {seen}", path, hint="1, 2, 3 ...")
        if data < 1:
            self.fail("W105", f"{what} cannot be {data}", path, hint="1, 2, 3 ...")
        return data

    def flag(self, data: Any, path: Path, what: str) -> bool:
        """Insist on true or false; nothing is false."""
        if data is not None and type(data) is not bool:
            self.fail("W104", f"{what} is true or false, not {kind_of(data)}", path)
        return bool(data)

    def fail(self, code: str, message: str, path: Path, *, hint: str = "") -> NoReturn:
        """Raise a problem about a part of the file."""
        raise WorkflowProblem(code, message, span=self.tree.span(path), hint=hint)

    def fail_word(self, code: str, message: str, path: Path, wrong: str, known: Collection[str]) -> NoReturn:
        """Raise a problem about a wrong word, with the one that was probably meant, or all of them."""
        hint = nearest(wrong, known) or (f"known: {', '.join(known)}" if known else "")
        self.fail(code, message, path, hint=hint)


def _usual(data: Any) -> Argument | None:
    """Read an argument of the two kinds that nearly all are of; nothing if it is another, or wrong."""
    if type(data) is int:
        return Value(data)
    if type(data) is dict and len(data) == 1:
        task = data.get("from")
        return Result(task) if type(task) is str and task else None
    return None


def all_results(task: Task) -> tuple[int, ...]:
    """Give the positions of the arguments that are results of other tasks."""
    return tuple(at for at, slot in enumerate(task.slots) if isinstance(slot, Result))


def kind_of(data: Any) -> str:
    """Name the kind of a value, as a person who writes files calls it."""
    if data is None:
        return "nothing"
    names = {
        dict: "a mapping",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return names.get(type(data), type(data).__name__)


__all__ = ["ALTERNATIVE_KEYS", "CAUSES", "TASK_KEYS", "WORKFLOW_KEYS", "Reader", "all_results", "kind_of", "read_tree"]
