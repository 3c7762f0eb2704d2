"""Other types of the standard library, NumPy and pandas as data: each is a name and a value that can be written.

A row of the table per type, found by the exact class: a subclass would come back as less than it was.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from solvent.values import arrays

if TYPE_CHECKING:
    from collections.abc import Callable

_FACTORIES: dict[Any, str] = {None: "", list: "list", dict: "dict", set: "set", int: "int", float: "float", str: "str"}
_FACTORY = {name: kind for kind, name in _FACTORIES.items()}


def describe(value: Any) -> list[Any] | None:
    """Return the name of a type and the value that stands for an instance; None for a type without a row."""
    kind = type(value)
    name: str | None
    if kind in _NAMES:
        name = _NAMES[kind]
    elif arrays.is_array(kind):
        name = "array"
    else:
        name = _pandas_name(value)
    if name is None or (kind is defaultdict and value.default_factory not in _FACTORIES):
        return None
    return [name, _WRITERS[name](value)]


def build(described: Any) -> Any:
    """Return the instance that was described; raise `ValueError` for what describes none."""
    try:
        name, state = described
        return _BUILDERS[name](state)
    except ImportError as error:
        raise ValueError(f"it needs `{error.name}`, which is not installed here") from error
    except Exception as error:
        raise ValueError(f"not what a type is kept as: {error}") from error


def _pandas_name(value: Any) -> str | None:
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    # There is one of each of these two.
    if value is pandas.NaT or value is pandas.NA:
        return "NaT" if value is pandas.NaT else "NA"
    kind = type(value)
    if kind is pandas.Timestamp:
        return "Timestamp"
    return "Timedelta" if kind is pandas.Timedelta else None


def _timestamp_parts(value: Any) -> list[Any]:
    # The zone goes with a time of Python, which says it by its name.
    return [value.to_datetime64(), value.to_pydatetime(warn=False).replace(year=2000) if value.tzinfo else None]


def _timestamp_from(state: list[Any]) -> Any:
    import pandas as pd

    moment, zoned = state
    found = pd.Timestamp(moment)
    return found if zoned is None else found.tz_localize("UTC").tz_convert(zoned.tzinfo)


def _timedelta_from(state: Any) -> Any:
    import pandas as pd

    return pd.Timedelta(state)


def _missing(name: str) -> Any:
    import pandas as pd

    return getattr(pd, name)


_NAMES: dict[type, str] = {
    OrderedDict: "OrderedDict",
    Counter: "Counter",
    defaultdict: "defaultdict",
    deque: "deque",
    range: "range",
    Fraction: "Fraction",
}
_WRITERS: dict[str, Callable[[Any], Any]] = {
    "OrderedDict": lambda value: [[key, one] for key, one in value.items()],
    "Counter": dict,
    "defaultdict": lambda value: [_FACTORIES[value.default_factory], dict(value)],
    "deque": lambda value: [list(value), value.maxlen],
    "range": lambda value: [value.start, value.stop, value.step],
    "Fraction": lambda value: [value.numerator, value.denominator],
    "array": arrays.objects_of,
    "Timestamp": _timestamp_parts,
    "Timedelta": lambda value: value.to_timedelta64(),
    "NaT": lambda _: None,
    "NA": lambda _: None,
}
_BUILDERS: dict[str, Callable[[Any], Any]] = {
    "OrderedDict": lambda state: OrderedDict((key, one) for key, one in state),
    "Counter": Counter,
    "defaultdict": lambda state: defaultdict(_FACTORY[state[0]], state[1]),
    "deque": lambda state: deque(state[0], state[1]),
    "range": lambda state: range(*state),
    "Fraction": lambda state: Fraction(*state),
    "array": arrays.array_of_objects,
    "Timestamp": _timestamp_from,
    "Timedelta": _timedelta_from,
    "NaT": lambda _: _missing("NaT"),
    "NA": lambda _: _missing("NA"),
}

__all__ = ["build", "describe"]
