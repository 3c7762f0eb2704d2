"""The model to plain data, and plain data to YAML and JSON.

YAML is set for reading: one line for each service, task and alternative, quotes only where a word could mean something
else. A Python function becomes its `module:name`, which is all that a file can say of it; what has no such name, and
values that are neither numbers, texts, lists nor mappings, raise a `WorkflowProblem`.
"""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import WorkflowProblem
from solvent.workflows import model
from solvent.workflows.value_checks import shown

if TYPE_CHECKING:
    from collections.abc import Iterable


def plain_resource(resource: model.Resource) -> dict[str, Any]:
    """Return a resource as a file holds it."""
    found: dict[str, Any] = {}
    if resource.shape is not None:
        found |= {"shape": [_plain(length) for length in resource.shape], "dtype": resource.dtype}
    found |= {key: _plain(getattr(resource, key)) for key in ("size", "file", "save") if getattr(resource, key)}
    return found if resource.undo else found | {"undo": False}


def _plain(value: int | str | model.Input) -> Any:
    if isinstance(value, model.Input):
        return f"${value.name}"
    return f"${value}" if isinstance(value, str) and value.startswith("$") else value


def plain_claim(claim: model.Claim) -> dict[str, Any]:
    """Return a claim as a file holds it."""
    found: dict[str, Any] = {"resource": claim.resource}
    if claim.mode != "write":
        found["mode"] = claim.mode
    if claim.offset:
        found["offset"] = claim.offset
    return found if claim.length is None else found | {"length": claim.length}


_ALONE = ({"input"}, {"value"}, {"arrived"}, {"signal"})
"""The keys that make a mapping of one entry an argument of another kind than a constant."""

_STRONG = frozenset(("from", "resource"))
"""The keys that make any mapping one."""


def plain_argument(argument: model.Argument) -> Any:
    """Return an argument as a file can hold it; a constant that looks like something else is wrapped."""
    # The two kinds that nearly all are of.
    if type(argument) is model.Result and argument.item is None:
        return {"from": argument.task}
    if type(argument) is model.Value and type(argument.value) is int:
        return argument.value
    match argument:
        case model.Result():
            return {"from": argument.task} | ({} if argument.item is None else {"item": argument.item})
        case model.Value():
            value = plain_value(argument.value)
            if isinstance(value, str) and value.startswith("$"):
                return f"${value}"
            looks_like_more = isinstance(value, dict) and (not _STRONG.isdisjoint(value) or set(value) in _ALONE)
            return {"value": value} if looks_like_more else value
        case model.Input():
            return {"input": argument.name} if argument.name.startswith("$") else f"${argument.name}"
        case model.Arrived():
            return {"arrived": argument.which}
        case model.Signalled():
            return {"signal": "value"}
        case model.Claim():
            return plain_claim(argument)


def plain_value(value: Any) -> Any:
    """Return a constant as a file can hold it, or fail."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [plain_value(one) for one in value]
    if kind is dict and all(type(key) is str for key in value):
        return {key: plain_value(one) for key, one in value.items()}
    raise unsayable(f"a file cannot hold the value: {shown(value)}")


def name_of_function(function: Any) -> str:
    """Return the `module:name` by which a function can be found again."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not name or "<" in name:
        raise unsayable(
            f"{function!r} has no name by which a file could call it", hint="define it at the top of a module"
        )
    return f"{module}:{name}"


def unsayable(message: str, hint: str = "") -> WorkflowProblem:
    """Make the problem of a workflow that a format has no words for."""
    return WorkflowProblem("W106", message, hint=hint)


def plain_control(control: model.Control) -> dict[str, Any]:
    """Return the words for what a task does besides calling its service, in the order in which they are documented."""
    found: dict[str, Any] = {
        "join": _join(control),
        "split": None if control.split == "all" else control.split,
        "to": _routes(control.routes),
        "again": None if control.again is None else _again(control.again, control.max_rounds),
        "threads": None if control.copies == 1 else control.copies,
    }
    if control.takes == control.gives:
        found["lock"] = _names(control.takes)
    else:
        found |= {"takes": _names(control.takes), "gives": _names(control.gives)}
    found |= {
        "signal": _signal(control),
        "sends": _names(control.sends),
        "during": None if control.during is None else list(control.during),
        "cancels": _names(control.cancels),
        "completes": _names(control.completes),
        "ends": {"": None, "case": True}.get(control.ends, control.ends),
        "instances": None if control.many is None else _many(control.many),
    }
    return {key: value for key, value in found.items() if value is not None}


def _signal(control: model.Control) -> Any:
    if control.timeout is None:
        return {"transient": control.signal} if control.is_transient else control.signal
    return {"transient" if control.is_transient else "persistent": control.signal, "timeout": control.timeout}


def _again(route: model.Route, max_rounds: int | None) -> dict[str, Any]:
    found = {"to": route.task, **_parts(route.test)}
    return found if max_rounds is None else {**found, "max_rounds": max_rounds}


def _names(names: tuple[str, ...]) -> str | list[str] | None:
    """Write one name as it is and several as a list."""
    return (names[0] if len(names) == 1 else list(names)) if names else None


def _join(control: model.Control) -> Any:
    word, need = control.join, control.need
    beside: dict[str, Any] = {"cancel": True} if control.cancels_rest else {}
    if control.threads != 1:
        beside["threads"] = control.threads
    if word == "all" and need == 1:
        return beside or None
    if need == 1 and not beside:
        return word
    has_number = need != 1 or word not in ("any", "active")
    return {word: need if has_number else True, **beside}


def _routes(routes: tuple[model.Route, ...]) -> Any:
    if not routes:
        return None
    if all(route.test is None for route in routes):
        return [route.task for route in routes]
    if len({route.task for route in routes}) == len(routes):
        return {route.task: _test(route.test) for route in routes}
    return [route.task if route.test is None else {route.task: _test(route.test)} for route in routes]


def _test(test: model.Test | None) -> Any:
    """Write a condition: its text, or a mapping where there is a function."""
    parts = _parts(test)
    return parts["when"] if set(parts) == {"when"} else parts or None


def _parts(test: model.Test | None) -> dict[str, str]:
    if test is None:
        return {}
    found = {} if test.when is None else {"when": test.when}
    if test.predicate is not None:
        found["predicate"] = test.predicate if isinstance(test.predicate, str) else name_of_function(test.predicate)
    if not found:
        raise unsayable("a condition asks nothing", hint="leave it out, or give it `when` or `predicate`")
    return found


def _many(many: model.Many) -> Any:
    count = many.count
    if isinstance(count, model.Value) and type(count.value) is int and many == model.Many(count):
        return count.value
    found = {
        "count": None if count is None else plain_argument(count),
        "over": many.over,
        "need": many.need,
        "cancel": many.cancels or None,
        "apart": many.apart or None,
        "more": _test(many.more),
        "enough": _test(many.enough),
    }
    return {key: value for key, value in found.items() if value is not None}


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*")

_MEANS_MORE = frozenset("y n yes no on off true false null none inf nan".split())  # noqa: SIM905

_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')

_KEY_WORDS = frozenset({"on"})


def write_yaml(workflow: model.Workflow) -> str:
    """Write a workflow as YAML."""
    data = plain_workflow(workflow)
    lines = [f"workflow: {_flow(data['workflow'])}"]
    if "inputs" in data:
        lines.append(f"inputs: {_flow(data['inputs'])}")
    lines += [f"{part}: {_flow(data[part])}" for part in ("locks", "patterns", "deadline") if part in data]
    for part in ("resources", "services", "tasks"):
        if part in data:
            lines.append(f"{part}:")
            lines += [f"  {_key(name)}: {_flow(value)}" for name, value in data[part].items()]
    if "alternatives" in data:
        lines += ["alternatives:", *(f"  - {_flow(one)}" for one in data["alternatives"])]
    if "results" in data:
        lines.append(f"results: {_flow(data['results'])}")
    if "returns" in data:
        lines.append(f"returns: {data['returns']}")
    if not data["tasks"]:
        lines[lines.index("tasks:")] = "tasks: {}"
    return "\n".join(lines) + "\n"


_write_fast = msgspec.json.Encoder().encode_into


def write_json(workflow: model.Workflow, *, indent: int | None = 2) -> str:
    """Write a workflow as JSON, in the same layout; without `indent` in one line, which is many times as fast."""
    data = plain_workflow(workflow)
    if indent is None:
        buffer = bytearray()
        # It has no half characters, and writes infinity as `null`.
        with suppress(UnicodeEncodeError):
            _write_fast(data, buffer)
            if b"null" not in buffer:
                return f"{buffer.decode()}\n"
    try:
        text = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:
        raise unsayable("JSON knows neither infinity nor NaN") from error
    # Half characters, as in names of files that are no UTF-8, cannot be in a file; JSON has the same escape for them.
    return text.encode(errors="backslashreplace").decode()


def plain_workflow(workflow: model.Workflow) -> dict[str, Any]:
    """Return a workflow as mappings, lists, texts and numbers in the layout of the files."""
    found: dict[str, Any] = {"workflow": workflow.name}
    if workflow.inputs:
        found["inputs"] = {name: _default(value) for name, value in workflow.inputs.items()}
    if workflow.locks:
        found["locks"] = dict(workflow.locks)
    if workflow.patterns:
        found["patterns"] = dict(workflow.patterns)
    if workflow.deadline is not None:
        found["deadline"] = workflow.deadline
    if workflow.resources:
        found["resources"] = _by_name("resources", ((one.name, plain_resource(one)) for one in workflow.resources))
    if workflow.services:
        found["services"] = _by_name("services", ((one.name, _service(one)) for one in workflow.services))
    found["tasks"] = _by_name("tasks", ((one.name, _task(one)) for one in workflow.tasks))
    if workflow.alternatives:
        found["alternatives"] = [_alternative(one) for one in workflow.alternatives]
    if workflow.results:
        labels, results = workflow.labels, workflow.results
        found["results"] = dict(zip(labels, results, strict=True)) if labels else list(results)
    if workflow.returns:
        found["returns"] = workflow.returns
    return found


def _by_name(what: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise unsayable(f"two {what} are called `{name}`")
        found[name] = value
    return found


def _default(value: Any) -> Any:
    """Write the default of an input: nothing means that there is none, so a default of nothing is wrapped."""
    if isinstance(value, str) and value == model.REQUIRED:
        return None
    if value is None or (isinstance(value, dict) and set(value) == {"default"}):
        return {"default": plain_value(value)}
    return plain_value(value)


def _service(service: model.Service) -> dict[str, Any]:
    kind = service.kind
    options = plain_value(service.options)
    target: Any = service.target or None
    if isinstance(service.function, model.Workflow):
        target = plain_workflow(service.function)
    elif service.function is not None:
        target = name_of_function(service.function)
    elif kind == "replay" and target is None and type(options.get("seconds")) in (int, float):
        target = options.pop("seconds")
    found: dict[str, Any] = {kind: target}
    if service.method != "POST":
        found["method"] = service.method
    if options:
        found["options"] = options
    if service.pickle:
        found["pickle"] = True
    found |= limits_of(service.policy)
    return found


def limits_of(policy: model.Policy) -> dict[str, Any]:
    """Return the limits of a policy that differ from the usual ones."""
    usual = model.Policy()
    limits = {key: getattr(policy, key) for key in model.Policy.__struct_fields__}
    # No file format has infinity.
    return {key: True if value == math.inf else value for key, value in limits.items() if value != getattr(usual, key)}


def _task(task: model.Task) -> dict[str, Any]:
    found: dict[str, Any] = {"service": task.service}
    sources = [one.task for one in task.arguments if isinstance(one, model.Result) and one.item is None]
    if sources and len(sources) == len(task.arguments):
        found["from"] = sources
    elif task.arguments:
        found["in"] = [plain_argument(one) for one in task.arguments]
    if task.keywords:
        found["with"] = {key: plain_argument(one) for key, one in task.keywords.items()}
    if task.each is not None:
        is_over_all = task.each.over == task.results_at
        found["each"] = task.each.how if is_over_all else _each(task.each)
    if task.per_item is not None:
        found |= _per_item(task.per_item)
    if task.after:
        found["after"] = list(task.after)
    if task.control is not None:
        found |= plain_control(task.control)
    return found


def _each(each: model.Each) -> dict[str, Any]:
    return {each.how: [_each(one) if isinstance(one, model.Each) else one for one in each.over]}


def _per_item(one: model.PerItem) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if one.otherwise:
        found["otherwise"] = [
            {"service": each.service, **_when(each), "on": list(each.on)} if each.on != ("failure",) else each.service
            for each in one.otherwise
        ]
    if one.on_error != "fail" or not one.otherwise:
        found["on_error"] = one.on_error
    if one.on_error == "default":
        found["default"] = plain_value(one.default)
    return found


def _when(one: model.Alternative | model.Fallback) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if one.when is not None:
        found["when"] = one.when
    if one.predicate is not None:
        found["predicate"] = one.predicate if isinstance(one.predicate, str) else name_of_function(one.predicate)
    return found


def _alternative(one: model.Alternative) -> dict[str, Any]:
    found: dict[str, Any] = {"name": one.name, "exits": dict(one.exits)}
    if one.on != ("failure",):
        found["on"] = one.on[0] if len(one.on) == 1 else list(one.on)
    found |= _when(one)
    found |= {key: list(names) for key, names in (("also", one.also), ("watch", one.watch)) if names}
    return found


# --- YAML.


def _flow(value: Any) -> str:
    """Write a value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value.lower() not in _MEANS_MORE else _quoted(value)
    if isinstance(value, float):
        return _float(value)
    return str(value)


def _key(text: str) -> str:
    """Write a key: the reader takes every key as text, so words that would mean more as values stand as they are."""
    if text in _KEY_WORDS:
        return text
    return _flow(text)


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    # YAML 1.1 takes a number with an exponent for text unless it has a point.
    return text if "." in text or "e" not in text else text.replace("e", ".0e")


def _quoted(text: str) -> str:
    return '"' + _TO_ESCAPE.sub(lambda match: _escaped(match.group()), text) + '"'


def _escaped(char: str) -> str:
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}.get(char)
    return short if short is not None else f"\\u{ord(char):04x}"
