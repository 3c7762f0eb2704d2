"""Parts of values as pickles: what is no data, in the results of services that ask for it (`@service(pickle=True)`).

A `Pickled` is data like any other: it is written, read and passed on as bytes, and looked into by nobody. Only
`classes.restore` makes the object of it again, for a workflow that asked for pickles.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, ClassVar

from solvent.errors import exception_text

if TYPE_CHECKING:
    from collections.abc import Callable

_NOTHING: Any = object()


class Pickled:
    """An object as a pickle; it has the object itself where that was made, or read before."""

    __slots__ = ("_object", "data", "kind")
    #: Whether this process has one: see `classes.needs_restoring`.
    were_made: ClassVar[bool] = False

    def __init__(self, kind: str, data: bytes, found: Any = _NOTHING) -> None:
        Pickled.were_made = True
        #: The class of the object, with its module; and the pickle.
        self.kind, self.data = kind, data
        self._object = found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pickled) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)

    def __repr__(self) -> str:
        return f"<pickled {self.kind}>" if self._object is _NOTHING else repr(self._object)

    def object(self) -> Any:
        """Return the object; raise `ValueError` where it cannot be read. This may run any code."""
        if self._object is _NOTHING:
            try:
                self._object = pickle.loads(self.data)  # noqa: S301 - the workflow asked for it
            except Exception as error:
                said = f"a pickle of the type `{self.kind}` cannot be read: {exception_text(error)}"
                raise ValueError(said) from error
        return self._object


def pickled(value: Any, dump: Callable[[Any], bytes]) -> Pickled:
    """Return an object as a pickle; raise `ValueError` where it cannot be one."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    try:
        return Pickled(kind, dump(value), value)
    except Exception as error:
        raise ValueError(f"a value of the type `{kind}` cannot be pickled: {exception_text(error)}") from error


__all__ = ["Pickled", "pickled"]
