"""The model to HOCLflow text, as close to the paper as the workflow allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.lang.printer import print_atom, print_string
from solvent.workflows.formats.hoclflow.bonds import Bonds
from solvent.workflows.formats.hoclflow.reader import CAUSES, JOINS
from solvent.workflows.formats.hoclflow.values import (
    common_condition,
    is_name,
    print_argument,
    print_list,
    print_plain_name,
    print_task_name,
    print_test,
    print_value,
)
from solvent.workflows.formats.yaml.reader import RESOURCE_KEYS
from solvent.workflows.formats.yaml.writer import limits_of, name_of_function, unsayable
from solvent.workflows.model import REQUIRED, Control, Each, Input, Many, Resource, Result, Route, Task, Value, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.workflows.model import Alternative, Argument, Service


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
    if control.timeout is not None:
        found.append(f"SIGNAL_TIMEOUT : {control.timeout!r}")
    if control.max_rounds is not None:
        found.append(f"MAX_ROUNDS : {control.max_rounds}")
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
    is_known = control.join.upper() in JOINS and control.join.islower()
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


def print_resource(resource: Resource) -> str:
    """Write a resource."""
    entries = []
    if resource.shape is not None:
        entries.append(f"SHAPE : {print_list([_part(length) for length in resource.shape])}")
        entries.append(f"DTYPE : {_part(resource.dtype)}")
    for key in RESOURCE_KEYS:
        value = getattr(resource, key)
        if key in ("size", "file", "save") and value:
            entries.append(f"{key.upper()} : {_part(value)}")
    if not resource.undo:
        entries.append("UNDO : false")
    return f"{print_plain_name(resource.name)} : <{', '.join(entries)}>"


def _part(value: int | str | Input) -> str:
    return print_argument(value if isinstance(value, Input) else Value(value), in_order=False)


_WORDS = {cause: word for word, cause in CAUSES.items()}


def write(workflow: Workflow) -> str:
    """Write a workflow as HOCLflow text."""
    return _solution(workflow, "  ") + "\n"


def _solution(workflow: Workflow, margin: str) -> str:
    _check_names(workflow)
    bonds = Bonds(workflow)
    molecules = [f"WORKFLOW : {print_string(workflow.name)}"]
    molecules += [_input(name, default) for name, default in workflow.inputs.items()]
    if workflow.locks:
        counts = (f"{print_plain_name(name)} : {count}" for name, count in workflow.locks.items())
        molecules.append(f"LOCKS : <{', '.join(counts)}>")
    if workflow.patterns:
        paths = (f"{print_plain_name(name)} : {print_string(path)}" for name, path in workflow.patterns.items())
        molecules.append(f"PATTERNS : <{', '.join(paths)}>")
    if workflow.deadline is not None:
        molecules.append(f"DEADLINE : {workflow.deadline!r}")
    if workflow.resources:
        molecules.append(f"RESOURCES : <{', '.join(map(print_resource, workflow.resources))}>")
    molecules += [f"SERVICE : {print_plain_name(one.name)} : {_service(one, margin)}" for one in workflow.services]
    molecules += [f"{print_task_name(one.name)} : {_task(one, bonds)}" for one in workflow.tasks]
    molecules += [_rule(one, bonds, margin) for one in workflow.alternatives]
    if workflow.results:
        molecules.append(f"RESULTS : {_names(workflow.results)}")
    if workflow.returns:
        molecules.append(f"RETURNS : {workflow.returns.upper()}")
    inside = f",\n{margin}".join(molecules)
    return f"<\n{margin}{inside}\n{margin[2:]}>"


def _check_names(workflow: Workflow) -> None:
    for what, parts in (
        ("tasks", workflow.tasks),
        ("services", workflow.services),
        ("alternatives", workflow.alternatives),
        ("resources", workflow.resources),
    ):
        seen: set[str] = set()
        for one in parts:
            if one.name in seen:
                raise unsayable(f"two {what} are called `{one.name}`")
            seen.add(one.name)


def _names(names: Iterable[str]) -> str:
    return f"<{', '.join(map(print_task_name, names))}>"


def _input(name: str, default: Any) -> str:
    if isinstance(default, str) and default == REQUIRED:
        return f"INPUT : {print_plain_name(name)}"
    return f"INPUT : {print_plain_name(name)} : {print_value(default)}"


def _service(service: Service, margin: str) -> str:
    if isinstance(service.function, Workflow):
        target = _solution(service.function, margin + "  ")
    elif service.function is not None:
        target = print_string(name_of_function(service.function))
    else:
        target = print_string(service.target)
    entries = [f"{service.kind.upper()} : {target}"]
    if service.method != "POST":
        entries.append(f"METHOD : {print_string(service.method)}")
    if service.options:
        entries.append(f"OPTIONS : {print_value(service.options)}")
    if service.pickle:
        entries.append("PICKLE : true")
    entries += [f"{key.upper()} : {print_atom(value)}" for key, value in limits_of(service.policy).items()]
    return f"<{', '.join(entries)}>"


# --- Tasks.


def _task(task: Task, bonds: Bonds) -> str:
    if task.per_item is not None:
        raise unsayable(f"HOCLflow cannot say what is done for items of `{task.name}` that fail", "write YAML or JSON")
    is_plain = _arguments_as_read(task) == task.arguments
    given = [one for one in task.arguments if not isinstance(one, Result)] if is_plain else []
    sources = _sources(task)
    each = task.each
    if each is not None and each.over == task.results_at:
        sources.insert(0, each.how.upper())
        each = None
    entries = [
        f"SRC : <{', '.join(sources)}>",
        f"SRV : {print_plain_name(task.service)}",
        f"IN : <{', '.join(print_argument(one, in_order=False) for one in given)}>",
        f"DST : {_names(bonds.written(task.name))}",
    ]
    if not is_plain:
        entries.append(f"ARG : {print_list([print_argument(one, in_order=True) for one in task.arguments])}")
    if task.keywords:
        keywords = (f"{print_string(key)} : {print_argument(one, in_order=True)}" for key, one in task.keywords.items())
        entries.append(f"WITH : <{', '.join(keywords)}>")
    if each is not None:
        entries.append(f"EACH : {_each(each)}")
    if task.after:
        entries.append(f"AFTER : {_names(task.after)}")
    if task.control is not None:
        entries += print_control(task.control)
    return f"<{', '.join(entries)}>"


def _filters(task: Task) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for one in task.arguments:
        if isinstance(one, Result) and one.item is not None:
            found.setdefault(one.task, []).append(one.item)
    return found


def _sources(task: Task) -> list[str]:
    names = dict.fromkeys(one.task for one in task.slots if isinstance(one, Result))
    filters = (
        f"FILTER : ({print_task_name(name)} : {item})" for name, items in _filters(task).items() for item in items
    )
    return [*filters, *map(print_task_name, names)]


def _arguments_as_read(task: Task) -> tuple[Argument, ...]:
    """Return the arguments that a reader makes of IN and SRC: constants and inputs first, then the sources."""
    named = {one.task for one in task.keywords.values() if isinstance(one, Result)}
    filters = _filters(task)
    names = dict.fromkeys(one.task for one in task.arguments if isinstance(one, Result) and one.task not in named)
    return (
        *(one for one in task.arguments if not isinstance(one, Result)),
        *(Result(name, item) for name in names for item in filters.get(name, [None])),
    )


def _each(each: Each) -> str:
    over = [f"({_each(one)})" if isinstance(one, Each) else str(one) for one in each.over]
    return f"{each.how.upper()} : {print_list(over)}"


# --- Alternatives.


def _rule(one: Alternative, bonds: Bonds, margin: str) -> str:
    product = [f"TRIGGER : {_trigger(one)}"]
    product += [f"BOND : ({' : '.join(map(print_task_name, bond))})" for bond in bonds.of_alternative(one)]
    if one.also:
        product.append(f"ALSO : {_names(one.also)}")
    common = common_condition(one.when) if "condition" in one.on else None
    if one.when is not None and common is None:
        product.append(f"WHEN : {print_string(one.when)}")
    if one.predicate is not None:
        name = one.predicate if isinstance(one.predicate, str) else name_of_function(one.predicate)
        product.append(f"PREDICATE : {print_string(name)}")
    if not is_name(one.name):
        product.append(f"NAME : {print_string(one.name)}")
    watched = one.watched
    condition = _condition(one, common)
    if len(watched) != 1:
        condition = f"(t in {print_list(list(map(print_task_name, watched)))}) && ({condition})"
    who = print_task_name(watched[0]) if len(watched) == 1 else "t"
    name = f"{one.name} = " if is_name(one.name) else ""
    # A list of one result where the condition looks at it, any list where it only looks for a word in it.
    result = "(?result)" if common is None else "list(result)"
    return f"({name}inject {', '.join(product)}\n{margin}  with {who} : <RES : {result}, ?w> if {condition})"


def _trigger(one: Alternative) -> str:
    if len(one.exits) == 1:
        ((old, new),) = one.exits.items()
        return print_task_name(new) if (new != old and one.watched == (old,)) else f"({_pair(old, new)})"
    return print_list([f"({_pair(old, new)})" for old, new in one.exits.items()])


def _pair(old: str, new: str) -> str:
    return f"{print_task_name(old)} : {print_task_name(new)}"


def _condition(one: Alternative, common: str | None) -> str:
    words = []
    for cause in one.on:
        if cause == "condition" and common is not None:
            words.append(common)
        else:
            words.append(f"{_WORDS[cause]} in result" if common is None else f"result == {_WORDS[cause]}")
    return words[0] if len(words) == 1 else " || ".join(f"({word})" for word in words)
