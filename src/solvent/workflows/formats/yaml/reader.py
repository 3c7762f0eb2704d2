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

The kind of a service is a key, and how it is called stands beside it.

    s1: {python: "module:function", timeout: 5, retries: 2}
    s2: {shell: "sort {0}", concurrency: 4}
    s3: {http: "http://localhost:8000/f", method: PUT}
    s4: {hocl: other.hocl}
    s5: {workflow: other.yaml}          or the workflow itself, in place
    s6: {replay: 0.25}                  waits so many seconds
    s7: {delay: 1h}                     waits, and survives that its process dies; a task may say it itself

Resources are data that tasks claim by arguments.

    resources:
      grid: {shape: [1000, "$n"], dtype: float32, save: grid.npy}
      table: {size: 1048576}
      image: {file: image.raw, undo: false}
    tasks:
      sweep: {service: s, in: [{resource: grid}]}
      look:  {service: s, in: [{resource: grid, mode: read, offset: 0, length: 10}]}

A run of it must end in time: `deadline: 2h` at the top.

How a task joins, splits, repeats, waits and cancels stands among its other keys.

    join: any                 all, any, first, active, or a library of the workflow's `patterns`
    join: {first: 2}          a number beside it; {first: 1, cancel: true}; {threads: 3}; {majority: 2}
    split: one                all, one, some, deferred
    to: [B, C]                the ways onwards, in order, or with conditions: {B: "result > 3", C: null}
    again: {to: H, when: "result < 3", max_rounds: 5}
    threads: 3                it passes its result on three times
    lock: L                   taken at the start, given back at the end; one by one with `takes` and `gives`
    signal: go                waits for it; {transient: go} if one that comes too early is lost; {..., timeout: 1h}
    sends: go                 signals that it sends
    during: [A, C]            only while A is done and C has not started
    cancels: A, completes: B  tasks that are withdrawn, or go on with what they have
    ends: true                the case is over when it is done; `cancelled`: as a cancelled one
    instances: 3              or {count: "$n", need: 2, cancel: true}, {over: 0, apart: true}, with `more` and `enough`

A condition is HOCL text, or {predicate: "module:function"}.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from solvent.errors import WorkflowProblem, nearest
from solvent.workflows import model
from solvent.workflows.durations import DURATION_RULE, seconds_of
from solvent.workflows.places import Key, Loaded, Places, route_key
from solvent.workflows.value_checks import limit_fault

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from solvent.source import Span
    from solvent.workflows.formats.yaml.tree import Tree
    from solvent.workflows.places import Path

KINDS = ("python", "shell", "http", "hocl", "workflow", "replay", "delay")

POLICY_KEYS = tuple(model.Policy.__struct_fields__)

SERVICE_KEYS = (*KINDS, "method", "options", "pickle", *POLICY_KEYS)

COUNTS = ("retries", "concurrency", "max_lost")
"""The limits that are whole numbers; the others are seconds or calls per second."""


def read_service(reader: Reader, name: str, data: Any, path: Path) -> model.Service:
    """Read one service."""
    found = reader.mapping(data, path, f"the service `{name}`", SERVICE_KEYS)
    kinds = [key for key in found if key in KINDS]
    if len(kinds) != 1:
        hint = f"one of: {', '.join(KINDS)}"
        wrong = f"is both `{kinds[0]}` and `{kinds[1]}`" if kinds else "does not say what it calls"
        reader.fail("W104", f"the service `{name}` {wrong}", (*path, kinds[1]) if kinds else path, hint=hint)
    kind: Any = kinds[0]
    target, function, options = (
        found[kind],
        None,
        dict(reader.mapping(found.get("options") or {}, (*path, "options"), "`options`")),
    )
    if kind == "replay" and type(target) in (int, float):
        options, target = {**options, "seconds": target}, ""
    elif kind == "delay" and type(target) in (int, float):
        target = str(target)
    elif kind == "workflow" and isinstance(target, dict):
        function, target = reader.workflow(target, (*path, kind), name=name), ""
    return model.Service(
        name,
        kind,
        reader.text_or_nothing(target or None, (*path, kind), f"what `{kind}` calls") or "",
        method=reader.text(found.get("method", "POST"), (*path, "method"), "`method`"),
        options=options,
        policy=_policy(reader, found, path),
        function=function,
        pickle=reader.flag(found.get("pickle"), (*path, "pickle"), "`pickle`"),
    )


def _policy(reader: Reader, found: dict[str, Any], path: Path) -> model.Policy:
    """Read the limits that stand beside a service's kind."""
    limits: dict[str, Any] = {}
    for key in POLICY_KEYS:
        if found.get(key) is None:
            continue
        value = found[key]
        if key == "cache" and (value is True or isinstance(value, str)):
            value = seconds_of(value) if isinstance(value, str) else math.inf
            if value is None:
                reader.fail("W105", "`cache` is true, or a duration", (*path, key), hint=DURATION_RULE)
        value = reader.number(value, (*path, key), f"`{key}`")
        if key in COUNTS and type(value) is not int:
            reader.fail("W104", f"`{key}` is a whole number", (*path, key))
        if fault := limit_fault(key, value):
            reader.fail("W105", fault, (*path, key), hint="leave it out for no limit")
        limits[key] = value if key in COUNTS else float(value)
    return model.Policy(**limits)


RESOURCE_KEYS = ("shape", "dtype", "size", "file", "save", "undo")

CLAIM_KEYS = ("resource", "mode", "offset", "length")

MODES = ("write", "read")


def read_resources(reader: Reader, data: Any, path: Path) -> tuple[model.Resource, ...]:
    """Read the resources of a workflow."""
    found = reader.mapping(data or {}, path, "`resources`")
    return tuple(_resource(reader, name, one, (*path, name)) for name, one in found.items())


def _resource(reader: Reader, name: str, data: Any, path: Path) -> model.Resource:
    found = reader.mapping(data, path, f"the resource `{name}`", RESOURCE_KEYS)
    given = {key: value for key, value in found.items() if value is not None}
    said: dict[str, Any] = {}
    if "shape" in given:
        lengths = given["shape"] if isinstance(given["shape"], list) else [given["shape"]]
        said["shape"] = tuple(
            _number(reader, length, (*path, "shape", at), "a length") for at, length in enumerate(lengths)
        )
    if "dtype" in given:
        said["dtype"] = reader.text(given["dtype"], (*path, "dtype"), "`dtype`")
        if "shape" not in given:
            reader.fail("W105", "only an array has a `dtype`", (*path, "dtype"), hint="say its `shape` too")
    if "size" in given:
        said["size"] = _number(reader, given["size"], (*path, "size"), "`size`")
    for key in ("file", "save"):
        if key in given:
            text = reader.text(given[key], (*path, key), f"`{key}`")
            said[key] = _input(text) if text.startswith("$") and text != "$" else text
    if "undo" in given:
        said["undo"] = reader.flag(given["undo"], (*path, "undo"), "`undo`")
    return model.Resource(name, **said)


def _number(reader: Reader, data: Any, path: Path, what: str) -> Any:
    if isinstance(data, str) and data.startswith("$") and len(data) > 1:
        return _input(data)
    return reader.whole(data, path, what)


def _input(text: str) -> Any:
    """Read `$n`, an input, or `$$n`, the text `$n`."""
    return text[1:] if text.startswith("$$") else model.Input(text[1:])


def read_claim(reader: Reader, data: dict[str, Any], path: Path) -> model.Claim:
    """Read an argument that claims a resource."""
    reader.mapping(data, path, "an argument with `resource`", CLAIM_KEYS)
    name = reader.text(data["resource"], (*path, "resource"), "the name of a resource")
    mode: Any = reader.text(data.get("mode") or "write", (*path, "mode"), "`mode`")
    if mode not in MODES:
        reader.fail_word("W105", f"a resource cannot be had to `{mode}`", (*path, "mode"), mode, MODES)
    offset, length = data.get("offset"), data.get("length")
    if offset is not None and (type(offset) is not int or offset < 0):
        reader.fail("W105", "`offset` is a position: 0, 1, 2 ...", (*path, "offset"))
    return model.Claim(
        name,
        mode,
        offset or 0,
        None if length is None else reader.whole(length, (*path, "length"), "`length`"),
    )


CONTROL_KEYS = (
    "join", "split", "to", "again", "threads", "lock", "takes", "gives", "signal", "sends", "during", "cancels",
    "completes", "ends", "instances",
)  # fmt: skip

JOINS = ("all", "any", "first", "active")

BESIDE_JOIN = ("cancel", "threads")

SPLITS = ("all", "one", "some", "deferred")

SIGNAL_KEYS = ("persistent", "transient", "timeout")

MANY_KEYS = ("count", "over", "need", "cancel", "apart", "more", "enough")

_WORDS = frozenset(CONTROL_KEYS)

_USUAL = model.Control()


def read_control(
    reader: Reader, found: dict[str, Any], path: Path, task: model.Task, patterns: Collection[str]
) -> model.Control | None:
    """Read what a task does besides calling its service; nothing if it says nothing, or only what is usual."""
    if _WORDS.isdisjoint(found):
        return None

    def names(key: str) -> tuple[str, ...]:
        return reader.names(found.get(key), (*path, key), f"`{key}`")

    locks = names("lock")
    threads, again, many = found.get("threads"), found.get("again"), found.get("instances")
    control = model.Control(
        **_join(reader, found.get("join"), (*path, "join"), patterns),
        split=_split(reader, found.get("split"), (*path, "split")),
        routes=_routes(reader, found.get("to"), (*path, "to")),
        **({} if again is None else _again(reader, again, (*path, "again"))),
        copies=1 if threads is None else reader.whole(threads, (*path, "threads"), "`threads`"),
        takes=(*locks, *names("takes")),
        gives=(*locks, *names("gives")),
        **_signal(reader, found.get("signal"), (*path, "signal")),
        sends=names("sends"),
        during=_during(reader, found.get("during"), (*path, "during")),
        cancels=names("cancels"),
        completes=names("completes"),
        ends=_ends(reader, found.get("ends"), (*path, "ends")),
        many=None if many is None else _many(reader, many, (*path, "instances"), task),
    )
    return None if control == _USUAL else control


def read_patterns(reader: Reader, data: Any, path: Path) -> dict[str, str]:
    """Read the rule libraries of a workflow: names by which tasks may join, with paths."""
    found = {}
    for name, file in reader.mapping(data or {}, path, "`patterns`").items():
        if name in JOINS or name in BESIDE_JOIN:
            message = f"a pattern cannot be called `{name}`, which means something in `join`"
            reader.fail("W105", message, (*path, name), hint="give it another name")
        found[name] = reader.text(file, (*path, name), f"the path of the pattern `{name}`")
    return found


def read_locks(reader: Reader, data: Any, path: Path) -> dict[str, int]:
    """Read how many tasks may hold each lock at the same time."""
    found = reader.mapping(data or {}, path, "`locks`")
    return {name: reader.whole(count, (*path, name), f"the lock `{name}`") for name, count in found.items()}


# --- Before it starts.


def _join(reader: Reader, data: Any, path: Path, patterns: Collection[str]) -> dict[str, Any]:
    if data is None:
        return {}
    known = (*JOINS, *patterns)
    if not isinstance(data, dict):
        word = reader.text(data, path, "`join`")
        if word not in known:
            reader.fail_word("W105", f"`{word}` is no way to join", path, word, known)
        return {"join": word}
    found = reader.mapping(data, path, "`join`", (*known, *BESIDE_JOIN))
    ways = [key for key in found if key in known]
    if len(ways) > 1:
        hint = f"keep one of them: `join: {ways[0]}`"
        reader.fail("W105", f"a task joins in one way, not by both `{ways[0]}` and `{ways[1]}`", path, hint=hint)
    word = ways[0] if ways else "all"
    cancels = reader.flag(found.get("cancel"), (*path, "cancel"), "`cancel`")
    if cancels and word != "first":
        message = f"`cancel` ends the branches that are left after the `first`, not after `{word}`"
        reader.fail("W105", message, (*path, "cancel"), hint="`join: {first: 1, cancel: true}`")
    threads = found.get("threads")
    return {
        "join": word,
        "need": _need(reader, word, found.get(word), (*path, word)),
        "cancels_rest": cancels,
        "threads": 1 if threads is None else reader.whole(threads, (*path, "threads"), "`threads`"),
    }


def _need(reader: Reader, word: str, data: Any, path: Path) -> int:
    """Read what stands beside the way to join: a number where it takes one, otherwise `true` or nothing."""
    if data is None or data is True:
        return 1
    if word in JOINS and word != "first":
        reader.fail("W105", f"`{word}` takes no number", path, hint=f"`{word}: true`")
    return reader.whole(data, path, f"the number of `{word}`")


def _signal(reader: Reader, data: Any, path: Path) -> dict[str, Any]:
    if not isinstance(data, dict):
        return {"signal": reader.text_or_nothing(data, path, "`signal`")}
    found = reader.mapping(data, path, "`signal`", SIGNAL_KEYS)
    timeout = reader.duration(found.get("timeout"), (*path, "timeout"), "`timeout`")
    named = [key for key in SIGNAL_KEYS[:2] if key in found]
    if len(named) != 1:
        hint = "one that comes too early is kept if it is persistent, and lost if it is transient"
        reader.fail("W105", "`signal` is either `persistent` or `transient`", path, hint=hint)
    (kind,) = named
    name = reader.text(found[kind], (*path, kind), "the name of a signal")
    return {"signal": name, "is_transient": kind == "transient", "timeout": timeout}


def _during(reader: Reader, data: Any, path: Path) -> tuple[str, str] | None:
    if data is None:
        return None
    match reader.names(data, path, "`during`"):
        case (first, second):
            return first, second
    hint = "`[A, C]`: A is done and C has not started"
    reader.fail("W105", "`during` names two tasks", path, hint=hint)


# --- After it is done.


def _split(reader: Reader, data: Any, path: Path) -> Any:
    word = reader.text("all" if data is None else data, path, "`split`")
    if word not in SPLITS:
        reader.fail_word("W105", f"`{word}` is no way to split", path, word, SPLITS)
    return word


def _routes(reader: Reader, data: Any, path: Path) -> tuple[model.Route, ...]:
    """Read ways onwards: names, a mapping of them to conditions, or a list of both where one is named twice."""
    if isinstance(data, dict):
        return _tested(reader, data, path)
    if data is None or isinstance(data, str):
        return tuple(map(model.Route, reader.names(data, path, "`to`")))
    found: list[model.Route] = []
    for at, one in enumerate(reader.list(data, path, "`to`")):
        if isinstance(one, dict):
            found += _tested(reader, one, (*path, at))
        else:
            found.append(model.Route(reader.text(one, (*path, at), "a name in `to`")))
    return tuple(found)


def _tested(reader: Reader, data: dict[str, Any], path: Path) -> tuple[model.Route, ...]:
    return tuple(
        model.Route(task, None if test is None else _test(reader, test, (*path, task), f"the condition of `{task}`"))
        for task, test in data.items()
    )


def _again(reader: Reader, data: Any, path: Path) -> dict[str, Any]:
    found = reader.mapping(data, path, "`again`", ("to", "when", "predicate", "max_rounds"), required=("to",))
    task = reader.text(found["to"], (*path, "to"), "the task to go back to")
    most = found.get("max_rounds")
    tests = {key: found[key] for key in ("when", "predicate") if found.get(key) is not None}
    return {
        "again": model.Route(task, _test(reader, tests, path, "`again`") if tests else None),
        "max_rounds": None if most is None else reader.whole(most, (*path, "max_rounds"), "`max_rounds`"),
    }


def _test(reader: Reader, data: Any, path: Path, what: str) -> model.Test:
    """Read a condition: HOCL text, or a mapping with `when`, `predicate` or both."""
    if not isinstance(data, dict):
        if isinstance(data, bool | float | list):
            hint = 'HOCL in quotes, such as "result > 3", or {predicate: "module:function"}'
            reader.fail("W104", f"{what} is no condition", path, hint=hint)
        return model.Test(reader.text(data, path, what))
    found = reader.mapping(data, path, what, ("when", "predicate"))
    test = model.Test(
        reader.text_or_nothing(found.get("when"), (*path, "when"), "`when`"),
        reader.text_or_nothing(found.get("predicate"), (*path, "predicate"), "`predicate`"),
    )
    if test == model.Test():
        reader.fail("W104", f"{what} needs the key `when` or `predicate`", path)
    return test


def _ends(reader: Reader, data: Any, path: Path) -> Any:
    if data is None or isinstance(data, bool):
        return "case" if data else ""
    word = reader.text(data, path, "`ends`")
    if word != "cancelled":
        reader.fail_word("W105", f"a case cannot end as `{word}`", path, word, ("true", "cancelled"))
    return word


# --- Several instances.


def _many(reader: Reader, data: Any, path: Path, task: model.Task) -> model.Many:
    if not isinstance(data, dict):
        return model.Many(model.Value(reader.whole(data, path, "`instances`")))
    found = reader.mapping(data, path, "`instances`", MANY_KEYS)
    given = {key: value for key, value in found.items() if value is not None}
    if ("count" in given) == ("over" in given):
        hint = '`{count: "$n"}`: so many; `{over: 0}`: one for each item of the first argument'
        reader.fail("W104", "`instances` needs either `count` or `over`", path, hint=hint)
    count = reader.argument(given["count"], (*path, "count")) if "count" in given else None
    if isinstance(count, model.Value):
        reader.whole(count.value, (*path, "count"), "`count`")

    def test(key: str) -> model.Test | None:
        return _test(reader, given[key], (*path, key), f"`{key}`") if key in given else None

    return model.Many(
        count=count,
        over=reader.position(given["over"], (*path, "over"), task) if "over" in given else None,
        need=reader.whole(given["need"], (*path, "need"), "`need`") if "need" in given else None,
        apart=reader.flag(given.get("apart"), (*path, "apart"), "`apart`"),
        cancels=reader.flag(given.get("cancel"), (*path, "cancel"), "`cancel`"),
        more=test("more"),
        enough=test("enough"),
    )


WORKFLOW_KEYS = (
    "workflow", "inputs", "services", "tasks", "alternatives", "results", "locks", "patterns", "resources",
    "returns", "deadline",
)  # fmt: skip

TASK_KEYS = (
    "service", "delay", "in", "from", "with", "each", "otherwise", "on_error", "default", "after", *CONTROL_KEYS
)  # fmt: skip

RETURNS = ("list", "tuple", "nothing")

ALTERNATIVE_KEYS = ("name", "exits", "on", "when", "predicate", "also", "watch")

CAUSES = ("failure", "timeout", "condition")

FALLBACK_KEYS = ("service", "on", "when", "predicate")

ON_ERROR = ("fail", "skip", "default")

_SERVICE = "the name of a service"
_CONSTANT = "a constant that looks like this is written `{value: ...}`"


def read_tree(tree: Tree, *, name: str) -> Loaded:
    """Make the workflow that a file describes; `name` is its name if the file gives none."""
    workflow = Reader(tree).workflow(tree.data, (), name=name)
    return Loaded(workflow, Places(lambda: _places(workflow, tree)))


def _places(workflow: model.Workflow, tree: Tree) -> dict[Key, Span]:
    paths: dict[Key, Path] = {}
    paths |= {("input", name): ("inputs", name) for name in workflow.inputs}
    paths |= {("service", one.name): ("services", one.name) for one in workflow.services}
    paths |= {("resource", one.name): ("resources", one.name) for one in workflow.resources}
    paths |= {("task", one.name): ("tasks", one.name) for one in workflow.tasks}
    paths |= {("alternative", one.name): ("alternatives", at) for at, one in enumerate(workflow.alternatives)}
    judging = [(at, one.name) for at, one in enumerate(workflow.alternatives) if one.when is not None]
    paths |= {("condition", name): ("alternatives", at, "when") for at, name in judging}
    keys: Sequence[str | int] = workflow.labels or range(len(workflow.results))
    paths |= {("result", name): ("results", key) for key, name in zip(keys, workflow.results, strict=True)}
    for task in workflow.tasks:
        if task.control is not None:
            paths |= _route_places(task.name, tree.data["tasks"][task.name])
    spans = {key: tree.span(path) for key, path in paths.items()}
    return {key: span for key, span in spans.items() if span is not None}


def _route_places(task: str, data: dict[str, Any]) -> dict[Key, Path]:
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

    def workflow(self, data: Any, path: Path, *, name: str) -> model.Workflow:
        """Read a workflow: the whole file, or one inside a service."""
        if data is None:
            self.fail("W104", "there is no workflow here", path, hint="a workflow has `tasks:`")
        found = self.mapping(data, path, "a workflow", WORKFLOW_KEYS, required=("tasks",))
        patterns = read_patterns(self, found.get("patterns"), (*path, "patterns"))
        return model.Workflow(
            name=self.text(found.get("workflow", name), (*path, "workflow"), "the name of a workflow"),
            tasks=self._tasks(found["tasks"], (*path, "tasks"), patterns),
            services=self._services(found.get("services"), (*path, "services"), found["tasks"]),
            alternatives=self._alternatives(found.get("alternatives"), (*path, "alternatives")),
            inputs=self._inputs(found.get("inputs"), (*path, "inputs")),
            **self._results(found.get("results"), (*path, "results")),
            locks=read_locks(self, found.get("locks"), (*path, "locks")),
            patterns=patterns,
            resources=read_resources(self, found.get("resources"), (*path, "resources")),
            returns=self._returns(found.get("returns"), (*path, "returns")),
            deadline=self.duration(found.get("deadline"), (*path, "deadline"), "`deadline`"),
        )

    def _inputs(self, data: Any, path: Path) -> dict[str, Any]:
        found = {}
        for name, value in self.mapping(data or {}, path, "`inputs`").items():
            is_wrapped = isinstance(value, dict) and set(value) == {"default"}
            found[name] = model.REQUIRED if value is None else value["default"] if is_wrapped else value
        return found

    def _services(self, data: Any, path: Path, tasks: dict[str, Any]) -> tuple[model.Service, ...]:
        found = self.mapping(data or {}, path, "`services`")
        services = [read_service(self, name, value, (*path, name)) for name, value in found.items()]
        delays = {str(task["delay"]): None for task in tasks.values() if "delay" in task}
        services += [model.Service(f"delay {one}", "delay", one) for one in delays if f"delay {one}" not in found]
        return tuple(services)

    def _tasks(self, data: Any, path: Path, patterns: Collection[str]) -> tuple[model.Task, ...]:
        if data is None:
            self.fail("W104", "a workflow needs at least one task", path)
        found = self.mapping(data, path, "`tasks`")
        return tuple(self._task(name, value, path, patterns) for name, value in found.items())

    def _task(self, name: str, data: Any, above: Path, patterns: Collection[str]) -> model.Task:
        path = (*above, name)
        is_delay = isinstance(data, dict) and "delay" in data and "service" not in data
        required = () if is_delay else ("service",)
        found = self.mapping(data, path, f"the task `{name}`", TASK_KEYS, required=required)
        if "delay" in found:
            if not is_delay:
                self.fail("W105", "a task has either a `service` or a `delay`", (*path, "delay"))
            if seconds_of(found["delay"]) is None:
                self.fail("W105", "`delay` is a duration", (*path, "delay"), hint=DURATION_RULE)
        if "in" in found and "from" in found:
            self.fail("W105", "`from` is short for `in`, so only one of them can stand here", (*path, "from"))
        if "from" in found:
            named = self.names(found["from"], (*path, "from"), "`from`")
            arguments: tuple[model.Argument, ...] = tuple(model.Result(task) for task in named)
        else:
            given = found.get("in")
            items = [] if given is None else self.list(given, (*path, "in"), "`in`")
            arguments = tuple(_usual(one) or self.argument(one, (*path, "in", at)) for at, one in enumerate(items))
        keywords = {}
        if found.get("with"):
            given = self.mapping(found["with"], (*path, "with"), "`with`")
            keywords = {key: self.argument(one, (*path, "with", key)) for key, one in given.items()}
        task = model.Task(
            name,
            f"delay {found['delay']}" if is_delay else self.text(found["service"], (*path, "service"), _SERVICE),
            arguments,
            keywords,
            after=self.names(found.get("after"), (*path, "after"), "`after`"),
        )
        control = read_control(self, found, path, task, patterns)
        each = None if found.get("each") is None else self._each(found["each"], (*path, "each"), task)
        per_item = self._per_item(found, path)
        if each is None and control is None and per_item is None:
            return task
        return msgspec.structs.replace(task, each=each, control=control, per_item=per_item)

    def _per_item(self, found: dict[str, Any], path: Path) -> model.PerItem | None:
        """Read what is done for items whose calls fail."""
        if found.keys().isdisjoint(("otherwise", "on_error", "default")):
            return None
        given = found.get("otherwise")
        listed = [] if given is None else given if isinstance(given, list) else [given]
        on_error = found.get("on_error", "default" if "default" in found else "fail")
        if on_error not in ON_ERROR:
            self.fail_word("W105", f"an item cannot `{on_error}`", (*path, "on_error"), str(on_error), ON_ERROR)
        if ("default" in found) != (on_error == "default"):
            key = "default" if "default" in found else "on_error"
            self.fail("W105", "`default` goes with `on_error: default`", (*path, key))
        fallbacks = tuple(self._fallback(one, (*path, "otherwise", at)) for at, one in enumerate(listed))
        return model.PerItem(fallbacks, on_error, found.get("default"))

    def _fallback(self, data: Any, path: Path) -> model.Fallback:
        if not isinstance(data, dict):
            return model.Fallback(self.text(data, path, _SERVICE))
        found = self.mapping(data, path, "a service that is called otherwise", FALLBACK_KEYS, required=("service",))
        test = {key: self.text_or_nothing(found.get(key), (*path, key), f"`{key}`") for key in ("when", "predicate")}
        usual = "failure" if not any(test.values()) else "condition"
        return model.Fallback(
            self.text(found["service"], (*path, "service"), _SERVICE),
            self._causes(found.get("on", usual), (*path, "on"), "a service"),
            **test,
        )

    # --- Arguments.

    def argument(self, data: Any, path: Path) -> model.Argument:
        """Read where an argument comes from."""
        if isinstance(data, str) and data.startswith("$"):
            if data.startswith("$$"):
                return model.Value(data[1:])
            if data == "$":
                self.fail("W105", "`$` without the name of an input", path, hint="the text `$` is written `$$`")
            return model.Input(data[1:])
        if isinstance(data, dict):
            if "from" in data:
                return self._result(data, path)
            if "resource" in data:
                return read_claim(self, data, path)
            if len(data) == 1:
                ((key, given),) = data.items()
                return self._single(key, given, data, path)
        return model.Value(data)

    def _single(self, key: str, given: Any, data: dict[str, Any], path: Path) -> model.Argument:
        """Read an argument that is a mapping of one entry: of a kind that its key says, or a constant."""
        match key:
            case "input":
                return model.Input(self.text(given, (*path, key), "the name of an input"))
            case "value":
                return model.Value(given)
            case "arrived":
                if given not in ("one", "all"):
                    self.fail("W105", "what has arrived is `one` or `all`", (*path, key), hint=_CONSTANT)
                return model.Arrived(given)
            case "signal":
                if given != "value":
                    self.fail("W105", "of a signal there is only its `value`", (*path, key), hint=_CONSTANT)
                return model.Signalled()
        return model.Value(data)

    def _result(self, data: dict[str, Any], path: Path) -> model.Result:
        self.mapping(data, path, "an argument with `from`", ("from", "item"))
        task = self.text(data["from"], (*path, "from"), "the name of a task")
        item = data.get("item")
        if item is not None and (type(item) is not int or item < 1):
            self.fail("W105", "`item` is a position: 1, 2, 3 ...", (*path, "item"))
        return model.Result(task, item)

    def _each(self, data: Any, path: Path, task: model.Task) -> model.Each:
        if isinstance(data, str):
            if data not in ("dot", "cross"):
                self.fail_word("W105", f"`{data}` is no way to combine lists", path, data, ("dot", "cross"))
            how: Any = data
            return model.Each(how, task.results_at)
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
        return model.Each(nested, tuple(over))

    def position(self, data: Any, path: Path, task: model.Task) -> int:
        """Read which argument of a task is meant: its position, from 0, or its keyword."""
        if type(data) is int:
            return data
        if isinstance(data, str):
            if data not in task.keywords:
                self.fail_word("W105", f"no argument is called `{data}`", path, data, task.keywords)
            return len(task.arguments) + list(task.keywords).index(data)
        self.fail("W104", "arguments are named by their positions, from 0, or by their keywords", path)

    # --- Alternatives.

    def _alternatives(self, data: Any, path: Path) -> tuple[model.Alternative, ...]:
        items = [] if data is None else self.list(data, path, "`alternatives`")
        found = [self._alternative(one, (*path, at), at + 1) for at, one in enumerate(items)]
        seen: set[str] = set()
        for at, one in enumerate(found):
            if one.name in seen:
                self.fail("W102", f"a second alternative is called `{one.name}`", (*path, at, "name"))
            seen.add(one.name)
        return tuple(found)

    def _alternative(self, data: Any, path: Path, number: int) -> model.Alternative:
        found = self.mapping(data, path, "an alternative", ALTERNATIVE_KEYS, required=("exits",))
        exits = self.mapping(found["exits"], (*path, "exits"), "`exits`")
        known = self._causes(found.get("on", "failure"), (*path, "on"), "an alternative")
        return model.Alternative(
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

    def _causes(self, data: Any, path: Path, what: str) -> Any:
        causes = self.names(data, path, "`on`")
        for cause in causes:
            if cause not in CAUSES:
                self.fail_word("W105", f"{what} cannot apply on `{cause}`", path, cause, CAUSES)
        return causes

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
            self.fail("W104", f"{what} must be a mapping, not {kind_of(data)}", path)
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

    def _results(self, data: Any, path: Path) -> dict[str, Any]:
        """Read the results: one, a list of them, or a mapping of labels to tasks."""
        if not isinstance(data, dict):
            return {"results": self.names(data, path, "`results`")}
        found = {
            self.text(label, path, "a label of a result"): self.text(task, (*path, label), f"the result `{label}`")
            for label, task in data.items()
        }
        return {"results": tuple(found.values()), "labels": tuple(found)}

    def _returns(self, data: Any, path: Path) -> Any:
        word = self.text_or_nothing(data, path, "`returns`") or ""
        if word and word not in RETURNS:
            self.fail_word("W105", f"a workflow cannot return a `{word}`", path, word, RETURNS)
        return word

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

    def duration(self, data: Any, path: Path, what: str) -> float | None:
        """Insist on a duration above zero where there is anything."""
        seconds = seconds_of(data)
        if data is not None and not seconds:
            self.fail("W105", f"{what} is a duration", path, hint=DURATION_RULE)
        return seconds

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


def _usual(data: Any) -> model.Argument | None:
    """Read an argument of the two kinds that nearly all are of; nothing if it is another, or wrong."""
    if type(data) is int:
        return model.Value(data)
    if type(data) is dict and len(data) == 1:
        task = data.get("from")
        return model.Result(task) if type(task) is str and task else None
    return None


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
