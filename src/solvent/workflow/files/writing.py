"""The model to plain data, and plain data to YAML and JSON.

YAML is set for reading: one line for each service, task and alternative, quotes only where a word could mean something
else. A Python function becomes its `module:name`, which is all that a file can say of it; what has no such name, and
values that are neither numbers, texts, lists nor mappings, raise a `WorkflowProblem`.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from solvent.workflow.files.control_writing import plain_control
from solvent.workflow.files.reading import all_results
from solvent.workflow.files.resources import plain_resource
from solvent.workflow.files.values import name_of_function, plain_argument, plain_value, unsayable
from solvent.workflow.model import REQUIRED, Each, Policy, Result, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.workflow.model import Alternative, Service, Task

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*")
_MEANS_MORE = frozenset("y n yes no on off true false null none inf nan".split())  # noqa: SIM905
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
_KEY_WORDS = frozenset({"on"})


def write_yaml(workflow: Workflow) -> str:
    """Write a workflow as YAML."""
    data = plain_workflow(workflow)
    lines = [f"workflow: {_flow(data['workflow'])}"]
    if "inputs" in data:
        lines.append(f"inputs: {_flow(data['inputs'])}")
    lines += [f"{part}: {_flow(data[part])}" for part in ("locks", "patterns") if part in data]
    for part in ("resources", "services", "tasks"):
        if part in data:
            lines.append(f"{part}:")
            lines += [f"  {_key(name)}: {_flow(value)}" for name, value in data[part].items()]
    if "alternatives" in data:
        lines += ["alternatives:", *(f"  - {_flow(one)}" for one in data["alternatives"])]
    if "results" in data:
        lines.append(f"results: {_flow(data['results'])}")
    if not data["tasks"]:
        lines[lines.index("tasks:")] = "tasks: {}"
    return "\n".join(lines) + "\n"


def write_json(workflow: Workflow, *, indent: int | None = 2) -> str:
    """Write a workflow as JSON, in the same layout; without `indent` in one line, which is five times as fast."""
    data = plain_workflow(workflow)
    try:
        text = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:
        raise unsayable("JSON knows neither infinity nor NaN") from error
    # Half characters, as in names of files that are no UTF-8, cannot be in a file; JSON has the same escape for them.
    return text.encode(errors="backslashreplace").decode()


def plain_workflow(workflow: Workflow) -> dict[str, Any]:
    """Give a workflow as mappings, lists, texts and numbers in the layout of the files."""
    found: dict[str, Any] = {"workflow": workflow.name}
    if workflow.inputs:
        found["inputs"] = {name: _default(value) for name, value in workflow.inputs.items()}
    if workflow.locks:
        found["locks"] = dict(workflow.locks)
    if workflow.patterns:
        found["patterns"] = dict(workflow.patterns)
    if workflow.resources:
        found["resources"] = _by_name("resources", ((one.name, plain_resource(one)) for one in workflow.resources))
    if workflow.services:
        found["services"] = _by_name("services", ((one.name, _service(one)) for one in workflow.services))
    found["tasks"] = _by_name("tasks", ((one.name, _task(one)) for one in workflow.tasks))
    if workflow.alternatives:
        found["alternatives"] = [_alternative(one) for one in workflow.alternatives]
    if workflow.results:
        found["results"] = list(workflow.results)
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
    if isinstance(value, str) and value == REQUIRED:
        return None
    if value is None or (isinstance(value, dict) and set(value) == {"default"}):
        return {"default": plain_value(value)}
    return plain_value(value)


def _service(service: Service) -> dict[str, Any]:
    kind = service.kind
    options = plain_value(service.options)
    target: Any = service.target or None
    if isinstance(service.function, Workflow):
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
    found |= limits_of(service.policy)
    return found


def limits_of(policy: Policy) -> dict[str, Any]:
    """Give the limits of a policy that differ from the usual ones."""
    usual = Policy()
    limits = {key: getattr(policy, key) for key in Policy.__struct_fields__}
    return {key: value for key, value in limits.items() if value != getattr(usual, key)}


def _task(task: Task) -> dict[str, Any]:
    found: dict[str, Any] = {"service": task.service}
    if len(task.arguments) and all(isinstance(one, Result) and one.item is None for one in task.arguments):
        found["from"] = [one.task for one in task.arguments if isinstance(one, Result)]
    elif task.arguments:
        found["in"] = [plain_argument(one) for one in task.arguments]
    if task.keywords:
        found["with"] = {key: plain_argument(one) for key, one in task.keywords.items()}
    if task.each is not None:
        is_over_all = task.each.over == all_results(task)
        found["each"] = task.each.how if is_over_all else _each(task.each)
    if task.after:
        found["after"] = list(task.after)
    if task.control is not None:
        found |= plain_control(task.control)
    return found


def _each(each: Each) -> dict[str, Any]:
    return {each.how: [_each(one) if isinstance(one, Each) else one for one in each.over]}


def _alternative(one: Alternative) -> dict[str, Any]:
    found: dict[str, Any] = {"name": one.name, "exits": dict(one.exits)}
    if one.on != ("failure",):
        found["on"] = one.on[0] if len(one.on) == 1 else list(one.on)
    if one.when is not None:
        found["when"] = one.when
    if one.predicate is not None:
        found["predicate"] = one.predicate if isinstance(one.predicate, str) else name_of_function(one.predicate)
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


__all__ = ["limits_of", "name_of_function", "plain_value", "plain_workflow", "unsayable", "write_json", "write_yaml"]
