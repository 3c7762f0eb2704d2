"""Values and arguments as a file holds them, and what is said of those that no file can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem
from solvent.workflow.files.resources import plain_claim
from solvent.workflow.slots import Arrived, Claim, Input, Result, Signalled, Value

if TYPE_CHECKING:
    from solvent.workflow.slots import Argument

_ALONE = ({"input"}, {"value"}, {"arrived"}, {"signal"})
"""The keys that make a mapping of one entry an argument of another kind than a constant."""
_STRONG = frozenset(("from", "resource"))
"""The keys that make any mapping one."""


def plain_argument(argument: Argument) -> Any:
    """Give an argument as a file can hold it; a constant that looks like something else is wrapped."""
    match argument:
        case Result():
            return {"from": argument.task} | ({} if argument.item is None else {"item": argument.item})
        case Input():
            return {"input": argument.name} if argument.name.startswith("$") else f"${argument.name}"
        case Arrived():
            return {"arrived": argument.which}
        case Signalled():
            return {"signal": "value"}
        case Claim():
            return plain_claim(argument)
        case Value():
            value = plain_value(argument.value)
            if isinstance(value, str) and value.startswith("$"):
                return f"${value}"
            looks_like_more = isinstance(value, dict) and (not _STRONG.isdisjoint(value) or set(value) in _ALONE)
            return {"value": value} if looks_like_more else value


def plain_value(value: Any) -> Any:
    """Give a constant as a file can hold it, or fail."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [plain_value(one) for one in value]
    if kind is dict and all(type(key) is str for key in value):
        return {key: plain_value(one) for key, one in value.items()}
    shown = repr(value)
    raise unsayable(f"a file cannot hold the value {shown if len(shown) < 60 else shown[:57] + '...'}")


def name_of_function(function: Any) -> str:
    """Give the `module:name` by which a function can be found again."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not name or "<" in name:
        raise unsayable(
            f"{function!r} has no name by which a file could call it", hint="define it at the top of a module"
        )
    return f"{module}:{name}"


def unsayable(message: str, hint: str = "") -> WorkflowProblem:
    """Make the problem of a workflow that a format has no words for."""
    return WorkflowProblem("W106", message, hint=hint)


__all__ = ["name_of_function", "plain_argument", "plain_value", "unsayable"]
