"""The words that `control` reads, written: each only where it says more than a task without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.workflow.control import Many
from solvent.workflow.files.values import name_of_function, plain_argument, unsayable
from solvent.workflow.slots import Value

if TYPE_CHECKING:
    from solvent.workflow.control import Control, Route, Test


def plain_control(control: Control) -> dict[str, Any]:
    """Give the words for what a task does besides calling its service, in the order in which they are documented."""
    found: dict[str, Any] = {
        "join": _join(control),
        "split": None if control.split == "all" else control.split,
        "to": _routes(control.routes),
        "again": None if control.again is None else {"to": control.again.task, **_parts(control.again.test)},
        "threads": None if control.copies == 1 else control.copies,
    }
    if control.takes == control.gives:
        found["lock"] = _names(control.takes)
    else:
        found |= {"takes": _names(control.takes), "gives": _names(control.gives)}
    found |= {
        "signal": {"transient": control.signal} if control.is_transient else control.signal,
        "sends": _names(control.sends),
        "during": None if control.during is None else list(control.during),
        "cancels": _names(control.cancels),
        "completes": _names(control.completes),
        "ends": {"": None, "case": True}.get(control.ends, control.ends),
        "instances": None if control.many is None else _many(control.many),
    }
    return {key: value for key, value in found.items() if value is not None}


def _names(names: tuple[str, ...]) -> str | list[str] | None:
    """Write one name as it is and several as a list."""
    return (names[0] if len(names) == 1 else list(names)) if names else None


def _join(control: Control) -> Any:
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


def _routes(routes: tuple[Route, ...]) -> Any:
    if not routes:
        return None
    if all(route.test is None for route in routes):
        return [route.task for route in routes]
    if len({route.task for route in routes}) == len(routes):
        return {route.task: _test(route.test) for route in routes}
    return [route.task if route.test is None else {route.task: _test(route.test)} for route in routes]


def _test(test: Test | None) -> Any:
    """Write a condition: its text, or a mapping where there is a function."""
    parts = _parts(test)
    return parts["when"] if set(parts) == {"when"} else parts or None


def _parts(test: Test | None) -> dict[str, str]:
    if test is None:
        return {}
    found = {} if test.when is None else {"when": test.when}
    if test.predicate is not None:
        found["predicate"] = test.predicate if isinstance(test.predicate, str) else name_of_function(test.predicate)
    if not found:
        raise unsayable("a condition asks nothing", hint="leave it out, or give it `when` or `predicate`")
    return found


def _many(many: Many) -> Any:
    count = many.count
    if isinstance(count, Value) and type(count.value) is int and many == Many(count):
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


__all__ = ["plain_control"]
