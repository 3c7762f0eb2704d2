"""Mappings that never change: the states of machines are compared, kept and hashed.

`set` and `delete` return another mapping that shares nearly everything with this one. A few entries are one `dict`,
which is copied. More are spread over many by the hashes of their keys, so that a change copies one of these: of 10,000
entries about 80.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView

Key = TypeVar("Key")
Item = TypeVar("Item")
Other = TypeVar("Other")

_PARTS = 128
_MAX_TOGETHER = 64
"""How many entries are kept in one `dict`."""
_new = object.__new__


class Map(Mapping[Key, Item], Generic[Key, Item]):
    """A mapping that never changes."""

    __slots__ = ("_hash", "_parts")
    _parts: tuple[dict[Key, Item], ...]
    _hash: int

    def __init__(self, entries: Mapping[Key, Item] | Iterable[tuple[Key, Item]] = ()) -> None:
        self._parts = _spread(dict(entries))

    def __getitem__(self, key: Key) -> Item:
        parts = self._parts
        return parts[hash(key) % len(parts)][key]

    @overload
    def get(self, key: Key, default: None = None, /) -> Item | None: ...

    @overload
    def get(self, key: Key, default: Item | Other, /) -> Item | Other: ...

    def get(self, key: Key, default: Any = None, /) -> Any:
        """Return what a key has, or the default."""
        parts = self._parts
        return parts[hash(key) % len(parts)].get(key, default)

    def __contains__(self, key: object) -> bool:
        parts = self._parts
        return key in parts[hash(key) % len(parts)]

    def __iter__(self) -> Iterator[Key]:
        return chain.from_iterable(self._parts)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __bool__(self) -> bool:
        parts = self._parts
        return bool(parts[0]) if len(parts) == 1 else any(parts)

    def _together(self) -> dict[Key, Item]:
        parts = self._parts
        return parts[0] if len(parts) == 1 else dict(chain.from_iterable([part.items() for part in parts]))

    def keys(self) -> KeysView[Key]:
        """Return the keys."""
        return self._together().keys()

    def values(self) -> ValuesView[Item]:
        """Return the items of all keys."""
        return self._together().values()

    def items(self) -> ItemsView[Key, Item]:
        """Return the keys, each with its item."""
        return self._together().items()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Map):
            return NotImplemented
        if len(self._parts) == len(other._parts):
            return self._parts == other._parts
        return self._together() == other._together()

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(frozenset(self.items()))
            return self._hash

    def __repr__(self) -> str:
        return f"Map({self._together()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # The hash of a string is another one in each process.
        return Map, (self._together(),)

    def set(self, key: Key, item: Item) -> Map[Key, Item]:
        """Return this with another entry, or another item of a key."""
        parts = self._parts
        if len(parts) == 1:
            together = {**parts[0], key: item}
            changed: Map[Key, Item] = _new(Map)
            changed._parts = (together,) if len(together) <= _MAX_TOGETHER else _spread(together)
            return changed
        place = hash(key) % _PARTS
        return _with_part(parts, place, {**parts[place], key: item})

    def delete(self, key: Key) -> Map[Key, Item]:
        """Return this without an entry; raise `KeyError` if there is none."""
        parts = self._parts
        place = hash(key) % len(parts)
        part = parts[place].copy()
        del part[key]
        return _with_part(parts, place, part)

    def update(self, entries: Mapping[Key, Item] | Iterable[tuple[Key, Item]]) -> Map[Key, Item]:
        """Return this with more entries, or other items of keys."""
        found = self
        for key, item in dict(entries).items():
            found = found.set(key, item)
        return found

    def without(self, keys: Iterable[Key]) -> Map[Key, Item]:
        """Return this without some entries; raise `KeyError` if there is none of a key."""
        found = self
        for key in keys:
            found = found.delete(key)
        return found


def _spread(together: dict[Key, Item]) -> tuple[dict[Key, Item], ...]:
    """Return the parts of a map with these entries."""
    if len(together) <= _MAX_TOGETHER:
        return (together,)
    parts: list[dict[Key, Item]] = [{} for _ in range(_PARTS)]
    for key, item in together.items():
        parts[hash(key) % _PARTS][key] = item
    return tuple(parts)


def _with_part(parts: tuple[dict[Key, Item], ...], place: int, part: dict[Key, Item]) -> Map[Key, Item]:
    if len(parts) == 1:
        return _made((part,))
    changed = list(parts)
    changed[place] = part
    return _made(tuple(changed))


def _made(parts: tuple[dict[Key, Item], ...]) -> Map[Key, Item]:
    found: Map[Key, Item] = _new(Map)
    found._parts = parts  # noqa: SLF001
    return found


__all__ = ["Map"]
