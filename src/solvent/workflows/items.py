"""The items of tasks that are called for each of several: what follows when the call of one has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from solvent.lang.molecule import Opaque, Symbol
from solvent.workflows.rule_functions import LEFT_OUT, molecule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.lang.molecule import Molecule
    from solvent.workflows.model import Each, PerItem

_GOT = Symbol("GOT")


class Follows(NamedTuple):
    """What is done for an item: another service is `tried`, it is `skipped`, or it gets the `default`."""

    what: Literal["tried", "skipped", "default"]
    service: str = ""


def follows(per_item: PerItem, route: int, kind: str, is_rejected: Callable[[int], bool]) -> Follows | None:
    """Return what follows when the call of an item has ended; nothing if that stands.

    `route` counts the services that were called for it before this one; `kind` is that of the failure, if it failed;
    `is_rejected` returns whether the next service is to be called since this result is not good.
    """
    if kind == "CANCELLED":
        return None
    if route < len(per_item.otherwise):
        after = per_item.otherwise[route]
        if kind:
            applies = "failure" in after.on or (kind == "TIMEOUT" and "timeout" in after.on)
        else:
            applies = "condition" in after.on and is_rejected(route)
        if applies:
            return Follows("tried", after.service)
    if not kind or per_item.on_error == "fail":
        return None
    return Follows("skipped" if per_item.on_error == "skip" else "default")


def in_place(per_item: PerItem, what: Follows, index: Molecule) -> Molecule:
    """Return the answer of an item that has none of its own."""
    return _GOT, index, Opaque(LEFT_OUT) if what.what == "skipped" else molecule_of(per_item.default)


def leaves(each: Each) -> Iterator[int]:
    """Yield the positions of the arguments whose items are combined."""
    for one in each.over:
        if isinstance(one, int):
            yield one
        else:
            yield from leaves(one)


__all__ = ["Follows", "follows", "in_place", "leaves"]
