"""Where the parts of a workflow stand in its file, and the problems that checks find there.

A reader has the data first and is asked for places only when something is wrong, so places are looked up when they are
first asked for. Reading a file of a hundred thousand tasks without fault never pays for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from solvent.errors import WorkflowProblem, nearest
from solvent.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

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


# --- Problems.

_MAX_HINTS = 20

_MAX_NAMES = 5_000


def hint_at(span: Span | None, in_file: str, in_python: str) -> str:
    """Return the hint that fits the language of the text that a span lies in; without one, that is Python."""
    return in_python if span is None or span.source.name.endswith(".py") else in_file


class Problems:
    """The problems of a workflow found so far, and where its parts stand."""

    def __init__(self, places: Mapping[Key, Span]) -> None:
        self.found: list[WorkflowProblem] = []
        self._places = places
        self._hints = 0

    def add(self, code: str, message: str, key: Key, *, hint: str = "", python: str = "") -> None:
        """Add a problem about a part of the workflow, with a hint for files, and another for Python if it differs."""
        span = self._place_of(key)
        fitting = hint_at(span, hint, python or hint) if span is not None or not self._places else hint
        self.found.append(WorkflowProblem(code, message, span=span, hint=fitting))

    def _place_of(self, key: Key) -> Span | None:
        found = self._places.get(key)
        if found is None and key[0] == "condition":
            found = self._places.get(("alternative", key[1]))
        if found is None and key[0] == "route":
            found = self._places.get(("task", key[1].partition(" → ")[0]))
        return found

    def unknown(self, code: str, message: str, key: Key, wrong: str, known: Collection[str]) -> None:
        """Add a problem about an unknown name, with the one that was probably meant."""
        hint = ""
        # Looking for a similar name takes time for each known one, so it is done for the first few only.
        if self._hints < _MAX_HINTS and len(known) <= _MAX_NAMES:
            self._hints += 1
            hint = nearest(wrong, known)
        self.add(code, message, key, hint=hint)
