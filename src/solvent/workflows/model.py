"""The one model of a workflow, whichever way it was written.

A workflow has services (what can be called), tasks (calls of services, and where their arguments come from) and
alternatives (tasks that take the place of others when something goes wrong). It says *what* is to be done; rules
that make it happen are added by `translate`.

    T1 ─┬─ T2 ─┬─ T4        Task("T4", service="s4", arguments=(Result("T2"), Result("T3")))
        └─ T3 ─┘            Alternative("fallback", exits={"T2": "T5"})

A value may be anything that Python can pass; only what a file can say survives being written to a file.

A task without `Control` waits for all its sources, is called once and passes its result to all its destinations. With
one, tasks pass *tokens*: a task may be started several times, also while it still runs, once for each time its join is
satisfied. `docs/reference/patterns.md` says which words make which pattern.

    Resource("grid", shape=(1000, 1000), dtype="float32", save="grid.npy")
    Resource("image", file="image.raw")

A resource is an array, so many bytes, or a file. Numbers and paths may be inputs of the workflow, whose values are
known when it runs. Who has it when is said by the claims among a task's arguments (`Claim`).
"""

from __future__ import annotations

import math
import re
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Value(msgspec.Struct, frozen=True, tag="value", tag_field="is"):
    """A constant argument."""

    value: Any


class Input(msgspec.Struct, frozen=True, tag="input", tag_field="is"):
    """An input of the workflow, given by name when it is run."""

    name: str


class Result(msgspec.Struct, frozen=True, tag="result", tag_field="is"):
    """The result of a task, or one item of it (`FILTER : (T1 : 3)`; items count from 1).

    Where not every source must arrive, one that has not is nothing (`None`).
    """

    task: str
    item: int | None = None


class Arrived(msgspec.Struct, frozen=True, tag="arrived", tag_field="is"):
    """What started the task, whoever sent it: the first that arrived, or all, as a list in the order of the sources."""

    which: Literal["one", "all"] = "one"


class Signalled(msgspec.Struct, frozen=True, tag="signalled", tag_field="is"):
    """What came with the signal that the task waits for."""


class Claim(msgspec.Struct, frozen=True, tag="resource", tag_field="is"):
    """A resource of the workflow, which the call has while it runs.

    To write, the call has it alone; to read, beside others that read. A stretch of it counts rows of an array and bytes
    of anything else; without a length it goes to the end.
    """

    resource: str
    mode: Literal["write", "read"] = "write"
    offset: int = 0
    length: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all of the resource is meant."""
        return self.offset == 0 and self.length is None

    def conflicts(self, other: Claim) -> bool:
        """Return whether the two cannot be had at the same time."""
        if self.resource != other.resource or (self.mode == "read" and other.mode == "read"):
            return False
        first, second = sorted((self, other), key=lambda claim: claim.offset)
        return first.length is None or first.offset + first.length > second.offset


Argument = Value | Input | Result | Arrived | Signalled | Claim
"""Where an argument of a call comes from."""


class Test(msgspec.Struct, frozen=True, omit_defaults=True):
    """A condition on a result: HOCL text that calls it `result`, or a Python function of it."""

    __test__ = False  # Not a test case, whatever pytest thinks of its name.

    when: str | None = None
    predicate: Any = None


class Route(msgspec.Struct, frozen=True, omit_defaults=True):
    """A way onwards; without a test it is taken where no route with one is (`one`, `some`), or always."""

    task: str
    test: Test | None = None


class Many(msgspec.Struct, frozen=True, omit_defaults=True):
    """Several instances of a task for each start of it.

    Either `count` says how many, each called with the same arguments; or `over` is the position of an argument that is
    a list, and each instance gets one item of it.
    """

    count: Argument | None = None
    over: int | None = None
    need: int | None = None
    """How many results are waited for; all, if not given."""
    apart: bool = False
    """Nothing is waited for: each instance passes on its result by itself."""
    cancels: bool = False
    """The instances that are still running are cancelled when enough results are there."""
    more: Test | None = None
    """A result for which this holds asks for one more instance, which (with `over`) gets it in place of its item."""
    enough: Test | None = None
    """The list of results so far for which this holds is enough."""


class Control(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a task does besides calling its service."""

    join: str = "all"
    """What starts it: `all` its sources, `any` one of them (each arrival starts it once more), the `first` so many of
    a round (`need`; the rest of the round is ignored), all that are `active` (that can still arrive), or a rule library
    of the workflow's `patterns`."""
    need: int = 1
    """With `first`: how many arrivals start it. With a library: a number for its rules."""
    cancels_rest: bool = False
    """With `first`: what is still at work on the other branches is cancelled."""
    threads: int = 1
    """How many arrivals of each source it takes to start once (thread merge)."""
    split: Literal["all", "one", "some", "deferred"] = "all"
    """Whom its result is passed to: `all`, the `one` route that holds first, `some` (every route that holds), or
    `deferred`: offered to all, and gone with the first that starts."""
    routes: tuple[Route, ...] = ()
    """The destinations with their conditions, in order. Destinations that are not named have none."""
    again: Route | None = None
    """Where to go back to, and while what holds of the result; otherwise onwards."""
    max_rounds: int | None = None
    """With `again`: how often it may be done before it goes onwards; if it is to go back once more, it fails."""
    copies: int = 1
    """How often it passes its result to each destination (thread split)."""
    takes: tuple[str, ...] = ()
    """Locks it takes when it starts."""
    gives: tuple[str, ...] = ()
    """Locks it gives back when it is done."""
    signal: str | None = None
    """A signal that it waits for."""
    is_transient: bool = False
    """The signal is lost if it comes while the task does not wait for it; otherwise it is kept."""
    timeout: float | None = None
    """How many seconds it waits for the signal; after that it fails."""
    sends: tuple[str, ...] = ()
    """Signals it sends when it is done."""
    during: tuple[str, str] | None = None
    """It can start only while the first of these is done and the second has not started since (milestone)."""
    cancels: tuple[str, ...] = ()
    """Tasks that are withdrawn when it is done: what waits for them is dropped, and their calls are ended."""
    completes: tuple[str, ...] = ()
    """Tasks of several instances that go on with the results they have when it is done."""
    ends: Literal["", "case", "cancelled"] = ""
    """When it is done the case is over at once: successfully, or cancelled."""
    many: Many | None = None
    """Several instances of it."""

    @property
    def named(self) -> tuple[str, ...]:
        """The destinations that it names itself."""
        back = () if self.again is None else (self.again.task,)
        return tuple(dict.fromkeys([*(route.task for route in self.routes), *back]))


def test_text(test: Test | None, key: str) -> str:
    """Return a condition as the rules carry it: its text, or `?` and a key for a Python function, or nothing."""
    if test is None:
        return ""
    return test.when if test.when is not None else f"?{key}"


_BYTES = {
    "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "float16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip

_SHORT = re.compile(r"[<>=|]?([biufcS])(\d{1,4})")

_SHORT_BYTES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}

DTYPES = tuple(_BYTES)
"""The types of arrays, by the names that NumPy has for them."""


class Resource(msgspec.Struct, frozen=True, omit_defaults=True):
    """Data of a workflow that one task at a time may change."""

    name: str
    shape: tuple[int | Input, ...] | None = None
    """The lengths of an array."""
    dtype: str = "float64"
    """The type of its items, as NumPy calls it."""
    size: int | Input | None = None
    """How many bytes it has, if it is no array."""
    file: str | Input = ""
    """The file whose bytes it is, changed in place; made if there is none and the size is known."""
    save: str | Input = ""
    """Where it is written when the run has ended: `.npy` for an array as NumPy saves it, the bytes otherwise."""
    undo: bool = True
    """Whether the version before is kept until a call has succeeded, so that a call that fails has changed nothing."""

    @property
    def inputs(self) -> Iterator[Input]:
        """The inputs of the workflow that it needs."""
        for part in (*(self.shape or ()), self.size, self.file, self.save):
            if isinstance(part, Input):
                yield part

    @property
    def bytes_count(self) -> int | None:
        """How many bytes it has, if that is said and all of it is numbers."""
        if self.shape is None:
            return None if isinstance(self.size, Input) else self.size
        item = item_bytes(self.dtype)
        if item is None or any(isinstance(length, Input) for length in self.shape):
            return None
        return math.prod(length for length in self.shape if isinstance(length, int)) * item

    @property
    def rows_count(self) -> int | None:
        """How many rows or bytes its stretches count, if it is known."""
        if self.shape is None:
            return self.bytes_count
        return self.shape[0] if self.shape and isinstance(self.shape[0], int) else None


def item_bytes(dtype: str) -> int | None:
    """Return how many bytes an item of an array of this type has, or None if that is no type."""
    if dtype in _BYTES:
        return _BYTES[dtype]
    short = _SHORT.fullmatch(dtype)
    if short is None:
        return None
    kind, size = short[1], int(short[2])
    return size if size in _SHORT_BYTES.get(kind, (size or -1,)) else None


def dtype_name(dtype: Any) -> str:
    """Return the name of a type of arrays, be it written as a text, as one of Python's types or as one of NumPy's."""
    if isinstance(dtype, str):
        return dtype
    if isinstance(dtype, type):
        return {float: "float64", int: "int64", complex: "complex128"}.get(dtype, dtype.__name__.rstrip("_"))
    return str(getattr(dtype, "str", dtype))


def settled(resource: Resource, inputs: Mapping[str, Any]) -> Resource:
    """Put the values of inputs in their places; what is then wrong is said by `faults_of`."""

    def value(part: Any) -> Any:
        return inputs[part.name] if isinstance(part, Input) else part

    return Resource(
        resource.name,
        None if resource.shape is None else tuple(value(length) for length in resource.shape),
        resource.dtype,
        value(resource.size),
        value(resource.file),
        value(resource.save),
        resource.undo,
    )


def faults_of(resource: Resource) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a resource, and what would be right."""
    if resource.shape is not None and resource.size is not None:
        yield "has a shape and a size", "an array's size follows from its shape and dtype"
    if resource.shape is None and resource.size is None and not resource.file:
        yield "has no size", "say `shape` and `dtype`, or `size` in bytes, or which `file` it is"
    for length in resource.shape or ():
        if not isinstance(length, Input) and (type(length) is not int or length < 1):
            yield f"has the length {length!r} in its shape", "lengths are whole numbers from 1 on"
    if resource.shape == ():
        yield "has an empty shape", "an array of one item has the shape (1,)"
    if resource.shape is not None and item_bytes(resource.dtype) is None:
        yield f"has the dtype `{resource.dtype}`, which is none", f"known: {', '.join(DTYPES)}"
    size = resource.size
    if size is not None and not isinstance(size, Input) and (type(size) is not int or size < 1):
        yield f"has the size {size!r}", "a size is a whole number of bytes, from 1 on"
    for key in ("file", "save"):
        if not isinstance(getattr(resource, key), str | Input):
            yield f"has no path as its `{key}`: {getattr(resource, key)!r}", "a path is a text"
    if resource.file and resource.file == resource.save:
        yield "is saved to the file that it is", "a `file` is changed in place; leave out `save`"
    if isinstance(resource.save, str) and resource.save.endswith(".npy") and resource.shape is None:
        yield f"is saved to `{resource.save}` and is no array", "give it a shape, or a path that ends otherwise"


def stretch_of(resource: Resource, claim: Claim) -> tuple[int, int | None]:
    """Return where a claim begins and how long it is, in bytes; a length of none goes to the end."""
    row = 1
    if resource.shape is not None:
        assert resource.bytes_count is not None
        assert resource.rows_count
        row = resource.bytes_count // resource.rows_count
    return claim.offset * row, None if claim.length is None else claim.length * row


def shape_of(resource: Resource, claim: Claim) -> tuple[int, ...]:
    """Return the shape of the part of an array that is claimed."""
    first, *others = [length for length in resource.shape or () if isinstance(length, int)]
    return (first - claim.offset if claim.length is None else claim.length, *others)


class Each(msgspec.Struct, frozen=True):
    """Call a task once for each combination of the items of some arguments, which are lists.

    `over` names arguments by position (from 0, keywords after the positional ones in their order), or nests. `dot`
    combines first with first, second with second, as long as all have one; `cross` combines each with each, the last
    one changing fastest. Arguments that are not named stay the same in every call.
    """

    how: Literal["dot", "cross"]
    over: tuple[int | Each, ...]


class Fallback(msgspec.Struct, frozen=True, omit_defaults=True):
    """A service that is called for an item with the same arguments, in place of the one before it."""

    service: str
    on: tuple[Literal["failure", "timeout", "condition"], ...] = ("failure",)
    """As of an alternative: when it is called."""
    when: str | None = None
    predicate: Any = None


class PerItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is done for an item whose call fails, where a task is called for each."""

    otherwise: tuple[Fallback, ...] = ()
    """Services that are called instead, one after the other."""
    on_error: Literal["fail", "skip", "default"] = "fail"
    """If all fail: the task fails, the item is left out of the list, or `default` takes the place of its result."""
    default: Any = None


class Policy(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a service is called: limits of time, number and pace, and what is tried before a call counts as failed."""

    timeout: float | None = None
    """Seconds after which an attempt is given up."""
    retries: int = 0
    """Further attempts after the first."""
    backoff: float = 0.1
    """Seconds before the first retry; doubled before each further one."""
    max_backoff: float = 30.0
    """The longest of these waits."""
    concurrency: int | None = None
    """Calls of the service that may run at the same time."""
    rate: float | None = None
    """Calls of the service that may begin in one second."""
    heartbeat: float | None = None
    """Seconds within which a running call must give a sign of life."""
    max_lost: int = 10
    """How often a call may be lost with its agent and be repeated by another."""
    cache: float | None = None
    """For how many seconds its results are used again by calls with the same arguments; infinity: for good."""


class Service(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that can be called. Which fields count depends on `kind`.

    python    `target` is `module:function`, or `function` holds the function itself
    shell     `target` is the command; `{0}`, `{name}` stand for arguments (see `solvent.services.shell`)
    http      `target` is the address, `method` the verb
    hocl      `target` is the path of a program
    workflow  `target` is the path of a workflow file, or `function` holds a `Workflow`
    replay    waits `options["seconds"]` and answers with nothing (imported traces)
    delay     `target` is how long it waits, such as `1h`; it answers with its argument, and needs no worker
    """

    name: str
    kind: Literal["python", "shell", "http", "hocl", "workflow", "replay", "delay"] = "python"
    target: str = ""
    method: str = "POST"
    options: dict[str, Any] = {}
    policy: Policy = Policy()
    function: Any = None
    pickle: bool = False
    """Whether results that are no data are kept as pickles; the workflow's functions are called with what these are."""


PLACE = re.compile(r"\{\{(?P<plain>\d+|[A-Za-z_]\w*)\}\}|(?<!\$)\{(?P<name>\d+|[A-Za-z_]\w*)\}")
"""An argument that the text of a service asks for: `{0}`, `{name}`; `{{name}}` is the text `{name}` itself."""


def names_in(text: str) -> set[str]:
    """Collect the arguments that a text asks for."""
    return {match["name"] for match in PLACE.finditer(text) if match["name"]}


class Task(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """One step: a service and the arguments it is called with."""

    name: str
    service: str
    arguments: tuple[Argument, ...] = ()
    keywords: dict[str, Argument] = {}
    each: Each | None = None
    after: tuple[str, ...] = ()
    """Tasks that must be done before this one although it takes nothing from them."""
    control: Control | None = None
    """How it joins, splits, repeats, waits and cancels, where that is more than waiting for all and passing to all."""
    per_item: PerItem | None = None
    """With `each`: what is done for items whose calls fail."""

    @property
    def services(self) -> tuple[str, ...]:
        """The services that it may call."""
        return (self.service, *(() if self.per_item is None else (one.service for one in self.per_item.otherwise)))

    @property
    def slots(self) -> tuple[Argument, ...]:
        """All arguments: the positional ones, then the keywords in their order."""
        return (*self.arguments, *self.keywords.values())

    @property
    def results_at(self) -> tuple[int, ...]:
        """The positions of the arguments that are results of other tasks."""
        return tuple(at for at, slot in enumerate(self.slots) if isinstance(slot, Result))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The resources that a call of it has while it runs."""
        return tuple(slot for slot in self.slots if isinstance(slot, Claim))

    @property
    def back(self) -> str | None:
        """The task that it goes back to, if it does."""
        return None if self.control is None or self.control.again is None else self.control.again.task

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The tasks it waits for, each once, in the order in which they are first named."""
        named = [slot.task for slot in self._taken if isinstance(slot, Result)]
        return tuple(dict.fromkeys([*named, *self.after]))

    @property
    def items(self) -> tuple[Result, ...]:
        """The arguments that are one item of a result, and the number of instances if that is one."""
        return tuple(slot for slot in self._taken if isinstance(slot, Result) and slot.item is not None)

    @property
    def _taken(self) -> tuple[Argument | None, ...]:
        many = None if self.control is None else self.control.many
        return self.slots if many is None else (*self.slots, many.count)

    def taking_arrivals(self, sources: tuple[str, ...]) -> Task:
        """Return the task with whatever arrives in place of the results of some sources, which still start it."""

        def taken(slot: Argument) -> Argument:
            return Arrived("one") if isinstance(slot, Result) and slot.item is None and slot.task in sources else slot

        control = self.control
        if control is not None and control.many is not None and control.many.count is not None:
            control = replace(control, many=replace(control.many, count=taken(control.many.count)))
        return replace(
            self,
            arguments=tuple(map(taken, self.arguments)),
            keywords={key: taken(slot) for key, slot in self.keywords.items()},
            after=self.sources,
            control=control,
        )


class Alternative(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tasks that take the place of others.

    `exits` says which task's result is used instead of which: `{"T2": "T5"}`. All tasks that lead only to an exit wait
    until the alternative applies. `also` names further tasks that are given up with those it replaces.
    """

    name: str
    exits: dict[str, str]
    also: tuple[str, ...] = ()
    on: tuple[Literal["failure", "timeout", "condition"], ...] = ("failure",)
    """When it applies: a failed call (a time-out is one too), a time-out only, or a result that `when` rejects."""
    when: str | None = None
    """A HOCL condition on the watched task's result, which it calls `result`; true means the result is rejected."""
    predicate: Any = None
    """The same as a Python function of the result."""
    watch: tuple[str, ...] = ()
    """The tasks whose outcome decides; those it replaces if none are named."""

    @property
    def replaced(self) -> tuple[str, ...]:
        """The tasks that are given up."""
        return tuple(dict.fromkeys([*self.exits, *self.also]))

    @property
    def watched(self) -> tuple[str, ...]:
        """The tasks whose outcome decides."""
        return self.watch or self.replaced

    def explain(self) -> str:
        """Put it into a line: `b instead of a, on failure`."""
        line = f"{', '.join(dict.fromkeys(self.exits.values()))} instead of {', '.join(self.replaced)}"
        reasons = [f"on {reason}" for reason in self.on if reason != "condition"]
        if "condition" in self.on:
            reasons.append(f"if {self.when or predicate_text(self.predicate, 'its result is rejected')}")
        line += f", {' or '.join(reasons)}"
        return f"{line}, watching {', '.join(self.watch)}" if self.watch else line


def predicate_text(function: object, default: str = "its function says so") -> str:
    """Write a Python function of a result as a call, if it has a name."""
    name = function.rpartition(":")[2] if isinstance(function, str) else getattr(function, "__name__", "")
    return f"{name}(result)" if name.isidentifier() else default


_OF_CONTROL = frozenset((Arrived, Signalled))


def has_control(task: Task) -> bool:
    """Return whether a task does more than wait for all its sources and pass to all its destinations."""
    return task.control is not None or not _OF_CONTROL.isdisjoint(map(type, task.slots))


class Workflow(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """The model of a workflow: tasks, services and alternatives.

    `definition()` of a `@workflow` and `load_python` return it, and `solvent.run` runs it.

    >>> from solvent import service, workflow
    >>> upper, strip = service(str.upper), service(str.strip)
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return upper(strip(text))
    >>> model = shout.definition()
    >>> [task.name for task in model.tasks], model.destinations
    (['strip', 'upper'], {'strip': ['upper'], 'upper': []})
    """

    name: str
    tasks: tuple[Task, ...]
    services: tuple[Service, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    inputs: dict[str, Any] = {}
    """The inputs it takes, with their defaults; `REQUIRED` for those without."""
    results: tuple[str, ...] = ()
    """The tasks whose results are the workflow's; if none are named, those that no other task uses."""
    locks: dict[str, int] = {}
    """How many tasks may hold a lock at the same time; one if it is not named here."""
    patterns: dict[str, str] = {}
    """Rule libraries of the user's own, by the names that tasks join by: `{"majority": "majority.hocl"}`."""
    resources: tuple[Resource, ...] = ()
    """Data that tasks change in place, one after the other, instead of passing it on as results."""
    labels: tuple[str, ...] = ()
    """The keys of the results, where the workflow returns a dictionary."""
    returns: Literal["", "list", "tuple", "nothing"] = ""
    """What its value is in Python; by default its only result, or a list or dictionary of them."""
    deadline: float | None = None
    """How many seconds after it was started a run of it must have ended; after that it fails."""

    def _repr_svg_(self) -> str:
        """Show it in a notebook; tasks that do the same are one box where there are many."""
        from solvent.pictures import drawn, group, svg

        # The diagram is made of the model: an import statement here would go round in a circle.
        diagram = import_module("solvent.workflows.diagram")
        return svg(drawn(group(diagram.graph_of(self)).graph))

    def task(self, name: str) -> Task:
        """Return the task of a name."""
        return next(task for task in self.tasks if task.name == name)

    @cached_property
    def by_name(self) -> dict[str, Task]:
        """All tasks by their names; not to be changed."""
        return {task.name: task for task in self.tasks}

    def resource(self, name: str) -> Resource | None:
        """Return the resource of a name."""
        return next((resource for resource in self.resources if resource.name == name), None)

    def service(self, name: str) -> Service | None:
        """Return the service of a name."""
        return next((service for service in self.services if service.name == name), None)

    @property
    def unpickles(self) -> bool:
        """Whether one of its services asks for pickles: then its functions are called with what these make."""
        return any(service.pickle for service in self.services)

    @cached_property
    def is_controlled(self) -> bool:
        """Whether any task does more than wait for all its sources and pass to all its destinations."""
        return any(map(has_control, self.tasks))

    @cached_property
    def signals(self) -> tuple[str, ...]:
        """The signals that its tasks wait for."""
        waited = (task.control.signal for task in self.tasks if task.control is not None)
        return tuple(dict.fromkeys(name for name in waited if name is not None))

    @cached_property
    def signals_heard(self) -> tuple[str, ...]:
        """The signals that its tasks wait for, and those of the sub-workflows that it has in place, at any depth."""
        inner = (
            name for one in self.services if isinstance(one.function, Workflow) for name in one.function.signals_heard
        )
        return tuple(dict.fromkeys([*self.signals, *inner]))

    @cached_property
    def may_hear(self) -> bool:
        """Whether a task may wait for a signal: what those of sub-workflows in files do is not known."""
        inner = [one.function for one in self.services if one.kind == "workflow"]
        return bool(self.signals) or any(not isinstance(one, Workflow) or one.may_hear for one in inner)

    @cached_property
    def signals_kept(self) -> frozenset[str]:
        """The signals that are kept if they come early: not all of the tasks that wait for them lose those."""
        waiting = (one.control for one in self.tasks if one.control is not None and not one.control.is_transient)
        return frozenset(one.signal for one in waiting if one.signal is not None)

    @cached_property
    def signals_from_outside(self) -> tuple[str, ...]:
        """Those of them that no task sends: people do."""
        sent = {name for task in self.tasks if task.control is not None for name in task.control.sends}
        return tuple(name for name in self.signals if name not in sent)

    @cached_property
    def destinations(self) -> dict[str, list[str]]:
        """For each task, the tasks that wait for it."""
        found: dict[str, dict[str, None]] = {task.name: {} for task in self.tasks}
        for task in self.tasks:
            for source in task.sources:
                found.setdefault(source, {})[task.name] = None
            if task.control is not None:
                found[task.name] |= dict.fromkeys(task.control.named)
        return {name: [*later] for name, later in found.items()}

    @cached_property
    def dormant(self) -> dict[str, str]:
        """The tasks that wait for an alternative to apply, with its name: those that lead only to exits."""
        return {name: alternatives[0] for name, alternatives in self.wakers.items()}

    @cached_property
    def wakers(self) -> dict[str, tuple[str, ...]]:
        """The tasks that wait for an alternative to apply, with all that need them, any of which wakes them."""
        return wakers_of(self)

    @cached_property
    def outcomes(self) -> tuple[str, ...]:
        """The tasks whose results are the workflow's."""
        if self.results:
            return self.results
        asleep, onward = self.dormant, self.destinations
        return tuple(
            task.name
            for task in self.tasks
            if task.name not in asleep and all(later == task.back for later in onward[task.name])
        )


REQUIRED = "<required>"
"""Stands for the default of an input that has none."""


def wakers_of(workflow: Workflow) -> dict[str, tuple[str, ...]]:
    """Find the tasks of each alternative: its exits, and backwards all that lead only to exits, be they of several."""
    onward = workflow.destinations
    known = {task.name: task for task in workflow.tasks}
    asleep: dict[str, list[str]] = {}
    todo = [name for one in workflow.alternatives for name in one.exits.values() if name in known]
    while todo:
        name = todo.pop()
        if name in asleep:
            continue
        asleep[name] = []
        todo += [one for one in known[name].sources if one in known and all(later in asleep for later in onward[one])]
    for alternative in workflow.alternatives:
        todo = [name for name in alternative.exits.values() if name in known]
        while todo:
            name = todo.pop()
            if name in asleep and alternative.name not in asleep[name]:
                asleep[name].append(alternative.name)
                todo += known[name].sources
    return {name: tuple(alternatives) for name, alternatives in asleep.items()}
