"""Where things stand in a file: what a reader of a format gives beside the workflow itself.

A reader has the data first and is asked for places only when something is wrong, so places are looked up when they are
first asked for. Reading a file of a hundred thousand tasks without fault never pays for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from solvent.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.workflows.model import Workflow

Part: TypeAlias = Literal["task", "service", "alternative", "condition", "input", "result", "route", "resource"]
Key: TypeAlias = tuple[Part, str]
Path: TypeAlias = tuple[str | int, ...]
"""A way down into a file: keys and positions."""


def route_key(task: str, to: str) -> Key:
    """Return the key of a way onwards or back of a task, or of a condition on its instances (`more`, `enough`)."""
    return "route", f"{task} → {to}"


class Places(Mapping[Key, Span]):
    """The spans of tasks, services, alternatives, inputs, results, routes and resources, found when first asked for."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], dict[Key, Span]]) -> None:
        self._find = find
        self._found: dict[Key, Span] | None = None

    def _all(self) -> dict[Key, Span]:
        if self._found is None:
            self._found = self._find()
        return self._found

    def __getitem__(self, key: Key) -> Span:
        return self._all()[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


class Loaded(msgspec.Struct, frozen=True):
    """A workflow, and where its parts stand in the file it was read from."""

    workflow: Workflow
    places: Mapping[Key, Span] = {}


__all__ = ["Key", "Loaded", "Part", "Path", "Places", "route_key"]
