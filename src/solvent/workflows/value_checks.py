"""Numbers, names and constants that no run could use.

W185  a task calls a service that asks for an argument which the task does not give: `{0}`, `{name}`
W206  a limit of a service that is no finite number from 0 on, or is too large
W207  a name or a text of a service that is not whole: half of a surrogate pair, which no file and no record can hold
W208  a constant with lists that are nested too deeply, or inside themselves, or that is too large
W209  a number of instances, threads, permits or arrivals that is too large

Files are checked when they are read; workflows in Python and in HOCL are checked only here.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem, nearest
from solvent.workflows.durations import DURATION_RULE, MAX_SECONDS
from solvent.workflows.model import Policy, Value, names_in
from solvent.workflows.rule_functions import MAX_NESTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.workflows.model import Service, Task, Workflow
    from solvent.workflows.places import Key, Problems

MAX_LIMIT = 1_000_000_000
"""The largest limit of a service: seconds of more than 30 years, or as many calls."""
MAX_COUNT = 1_000_000
"""The most instances, threads or permits: each becomes a molecule."""
MAX_SIZE = (1 << 63) - 1
"""The most rows or bytes of a resource: what a position in memory can be."""
MAX_ITEMS = 100_000_000
"""The most items of a constant, each counted as often as it is met: aliases in YAML multiply."""
_NOWHERE: Key = ("input", "")
_MAX_FORM = 60
_WHOLE = ("retries", "concurrency", "max_lost")
ABOVE_ZERO = ("timeout", "concurrency", "rate", "heartbeat", "cache")


def refuse_options(code: str, service: Service, known: set[str]) -> None:
    """Raise `WorkflowProblem` for an option that this kind of service does not have."""
    for name in sorted(set(service.options) - known):
        if name in Policy.__struct_fields__:
            said = f"`{name}` does not belong in `options`"
            hint = f"write it beside the service: `{{{service.kind}: ..., {name}: {service.options[name]}}}`"
        else:
            said = f"there is no option `{name}`"
            hint = nearest(name, known) or f"options are {', '.join(sorted(known))}"
        raise WorkflowProblem(code, f"service `{service.name}`: {said}", hint=hint)


def check_values(workflow: Workflow, problems: Problems) -> None:
    """Report numbers, names and constants that no run could use."""
    for key, name in _names(workflow):
        if not is_whole_text(name):
            message = f"the text `{name}` has half of a surrogate pair, which no record can hold"
            problems.add("W207", message, key, hint="write the whole character")
    deadline = workflow.deadline
    if deadline is not None and not (type(deadline) in (int, float) and 0 < deadline <= MAX_SECONDS):
        problems.add("W206", f"the deadline of `{workflow.name}` is {shown(deadline)}", _NOWHERE, hint=DURATION_RULE)
    for service in workflow.services:
        _check_service(service, problems)
    for lock, permits in workflow.locks.items():
        _check_count(permits, f"the lock `{lock}` has", "permits", _NOWHERE, problems)
    for name, value in workflow.inputs.items():
        _check_constant(value, f"the input `{name}`", ("input", name), problems)
    for one in workflow.resources:
        for number in (*(one.shape or ()), one.size):
            if type(number) is int and number > MAX_SIZE:
                message = f"the resource `{one.name}` has more than {MAX_SIZE:,} rows or bytes"
                problems.add("W209", message, ("resource", one.name), hint=f"at most {MAX_SIZE:,}")
    for task in workflow.tasks:
        _check_task(task, problems)


def is_whole_text(text: str) -> bool:
    """Return whether a text can be written as UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def limit_fault(name: str, value: Any) -> str:
    """Return what is wrong with a limit of a service; nothing if it is right."""
    if name == "cache" and value == inf:
        return ""
    if type(value) is not int and (name in _WHOLE or type(value) is not float):
        return f"`{name}` is a {'whole ' * (name in _WHOLE)}number, not {shown(value)}"
    if (type(value) is float and not isfinite(value)) or value < 0 or (value == 0 and name in ABOVE_ZERO):
        return f"`{name}` cannot be {shown(value)}"
    return f"`{name}` is more than {MAX_LIMIT:,}" if value > MAX_LIMIT else ""


def shown(value: Any) -> str:
    """Return the Python form of a value, if it has a short one, or else its type."""
    try:
        form = repr(value)
    except Exception:  # noqa: BLE001 - a user's `__repr__` may raise anything, and that of a long integer does
        form = ""
    return form if 0 < len(form) <= _MAX_FORM else f"a value of type {type(value).__name__}"


def _names(workflow: Workflow) -> Iterator[tuple[Key, str]]:
    """Yield all names, and the texts of services."""
    yield _NOWHERE, workflow.name
    for name in (*workflow.inputs, *workflow.locks, *workflow.patterns, *workflow.patterns.values()):
        yield _NOWHERE, name
    for one in workflow.resources:
        yield ("resource", one.name), one.name
    for service in workflow.services:
        for text in (service.name, service.target, service.method):
            yield ("service", service.name), text
    for alternative in workflow.alternatives:
        for text in (alternative.name, alternative.when or ""):
            yield ("alternative", alternative.name), text
    for task in workflow.tasks:
        yield ("task", task.name), task.name
        for text in task.keywords:
            yield ("task", task.name), text
        if task.control is not None:
            for text in (task.control.signal or "", *task.control.sends, *task.control.takes, *task.control.gives):
                yield ("task", task.name), text


def _check_service(service: Service, problems: Problems) -> None:
    for fault in limit_faults(service):
        hint = "leave it out for no limit"
        problems.add("W206", f"service `{service.name}`: {fault}", ("service", service.name), hint=hint)


def limit_faults(service: Service) -> list[str]:
    """Return what is wrong with the limits of a service."""
    limits = {name: getattr(service.policy, name) for name in service.policy.__struct_fields__}
    return [
        fault
        for name, value in limits.items()
        if not (value is None and getattr(_USUAL, name) is None) and (fault := limit_fault(name, value))
    ]


_USUAL = Policy()


def _check_task(task: Task, problems: Problems) -> None:
    key: Key = ("task", task.name)
    for slot in task.slots:
        if isinstance(slot, Value) and type(slot.value) is list:
            _check_constant(slot.value, f"a constant of `{task.name}`", key, problems)
    control = task.control
    if control is None:
        return
    does = f"`{task.name}` has"
    _check_count(control.copies, does, "threads", key, problems)
    _check_count(control.threads, does, "threads", key, problems)
    _check_count(control.need, does, "arrivals to wait for", key, problems)
    if control.many is not None:
        _check_count(control.many.need, does, "results to wait for", key, problems)
        if isinstance(control.many.count, Value):
            _check_count(control.many.count.value, does, "instances", key, problems)


def _check_count(count: Any, does: str, what: str, key: Key, problems: Problems) -> None:
    if type(count) is int and count > MAX_COUNT:
        problems.add("W209", f"{does} more than {MAX_COUNT:,} {what}", key, hint=f"at most {MAX_COUNT:,}")


def _check_constant(value: Any, what: str, key: Key, problems: Problems) -> None:
    if type(value) is not list:
        return
    depth, size = _extent(value, {}, MAX_NESTED)
    if depth > MAX_NESTED:
        message = f"{what} has lists more than {MAX_NESTED} deep in each other, or in themselves"
        problems.add("W208", message, key, hint="keep long data flat")
    elif size > MAX_ITEMS:
        problems.add("W208", f"{what} has more than {MAX_ITEMS:,} items", key, hint="read it from a file in a service")


def _extent(items: list[Any], known: dict[int, tuple[int, int]], levels: int) -> tuple[int, int]:
    """Return how deep lists are nested and how many items they have; a list in itself is deeper than allowed."""
    if id(items) in known:
        return known[id(items)]
    if not levels:
        return MAX_NESTED + 1, 0
    inner = [_extent(one, known, levels - 1) for one in items if type(one) is list]
    found = 1 + max((depth for depth, _ in inner), default=0), len(items) + sum(size for _, size in inner)
    known[id(items)] = found
    return found


# --- Arguments of commands and addresses.

_FILE = "file:"


def check_placeholders(task: Task, service: Service, problems: Problems) -> None:
    """Report the arguments that a service asks for and a task does not give."""
    given = {*map(str, range(len(task.arguments))), *task.keywords}
    for name in sorted(_asked(service) - given):
        message = f"`{task.name}` calls `{service.name}`, which needs the argument {{{name}}}, and does not give it"
        how = "`in: [...]`" if name.isdecimal() else f"`with: {{{name}: ...}}`"
        plain = f"{{{{{name}}}}} is the text {{{name}}} itself"
        problems.add(
            "W185",
            message,
            ("task", task.name),
            hint=f"give it: {how}; {plain}",
            python=f"give it in the call; {plain}",
        )


def _asked(service: Service) -> set[str]:
    if service.kind == "http":
        return names_in(service.target)
    if service.kind != "shell":
        return set()
    result, stdin = service.options.get("result"), service.options.get("stdin")
    asked = names_in(service.target)
    if isinstance(result, str) and result.startswith(_FILE):
        asked = (asked - {"out"}) | names_in(result[len(_FILE) :])
    if type(stdin) is int:
        asked.add(str(stdin))
    return asked - {"task"}
