"""The problems that the checks of a workflow find, with their places in its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import WorkflowProblem
from solvent.lang.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from solvent.source import Span
    from solvent.workflows.places import Key

_MAX_HINTS = 20

_MAX_NAMES = 5_000


def hint_at(span: Span | None, in_file: str, in_python: str) -> str:
    """Return the hint that fits the language of the text that a span lies in; without one, that is Python."""
    return in_python if span is None or span.source.name.endswith(".py") else in_file


class Report:
    """The problems found so far, and where things stand."""

    def __init__(self, places: Mapping[Key, Span]) -> None:
        self.problems: list[WorkflowProblem] = []
        self._places = places
        self._hints = 0

    def add(self, code: str, message: str, key: Key, *, hint: str = "", python: str = "") -> None:
        """Add a problem about a part of the workflow, with a hint for files, and another for Python if it differs."""
        span = self._place_of(key)
        fitting = hint_at(span, hint, python or hint) if span is not None or not self._places else hint
        self.problems.append(WorkflowProblem(code, message, span=span, hint=fitting))

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


__all__ = ["Report", "hint_at"]
