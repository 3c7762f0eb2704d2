"""The parameters of a service's function that are of classes with fields: data that stands for one is made one.

So a service takes the JSON that another one has answered with as the dataclass it says it takes.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from solvent.values.annotations import converted, has_fields, type_text, types_of

if TYPE_CHECKING:
    from collections.abc import Callable

_DATA = frozenset((dict, list))


class Parameters:
    """The parameters of one function to which data is to be converted."""

    def __init__(self, function: Callable[..., Any]) -> None:
        types = {name: kind for name, kind in types_of(function).items() if name != "return" and has_fields(kind)}
        names: list[str] = []
        if types:
            try:
                names = list(inspect.signature(function).parameters)
            except (TypeError, ValueError):
                names = []
        self._by_name = types
        self._by_place = {at: name for at, name in enumerate(names) if name in types}

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def fit(self, arguments: list[Any], keywords: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return arguments as the function takes them; raise `ValueError` for data that does not fit."""
        known = self._by_place
        found = [self._fit(known[at], one) if at in known else one for at, one in enumerate(arguments)]
        return found, {name: self._fit(name, one) if name in self._by_name else one for name, one in keywords.items()}

    def _fit(self, name: str, value: Any) -> Any:
        if type(value) not in _DATA:
            return value
        try:
            return converted(value, self._by_name[name])
        except ValueError as error:
            said = str(error)
            kind = type_text(self._by_name[name])
            raise ValueError(f"its argument `{name}` is no `{kind}`: {said[:1].lower()}{said[1:]}") from None


__all__ = ["Parameters"]
