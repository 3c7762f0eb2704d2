"""Signals that come to a run from outside, and who waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse, nearest
from solvent.lang.molecule import Symbol
from solvent.workflows.rule_functions import Unpassable, molecule_of
from solvent.workflows.translate import task_symbol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solvent.lang.molecule import Molecule
    from solvent.lang.solution import Solution
    from solvent.workflows.model import Workflow

_SIGNAL, _GATE, _ARMED = Symbol("SIGNAL"), Symbol("GATE"), Symbol("ARMED")

Signal = tuple[float, str, Any]
"""When it comes, in seconds from the start of the run; its name; what comes with it."""


class Signals:
    """The signals that are still to come."""

    def __init__(self, workflow: Workflow, signals: Sequence[Signal]) -> None:
        """Raise `Misuse` H316 for a signal that no task waits for, or that cannot be sent."""
        self._listeners: dict[str, list[Molecule]] = {}
        for task in workflow.tasks:
            if task.control is not None and task.control.signal is not None:
                self._listeners.setdefault(task.control.signal, []).append(task_symbol(task.name))
        for _, name, value in signals:
            if name not in self._listeners:
                known = ", ".join(self._listeners)
                hint = nearest(name, self._listeners) or (f"signals: {known}" if known else "it has no signals")
                raise Misuse("H316", f"no task of `{workflow.name}` waits for the signal `{name}`", hint=hint)
            try:
                molecule_of(value)
            except Unpassable as error:
                raise Misuse("H316", f"the signal `{name}` cannot be sent: {error.message}") from None
        self._coming = sorted(signals, key=lambda signal: signal[0])

    def next_at(self) -> float | None:
        """Return when the next one comes, in seconds from the start of the run."""
        return self._coming[0][0] if self._coming else None

    def pop(self) -> tuple[str, Any]:
        """Return the next one."""
        _, name, value = self._coming.pop(0)
        return name, value

    def came(self, name: str) -> None:
        """Do not wait for one that has come before, in an earlier life of the run."""
        sent = next((one for one in self._coming if one[1] == name), None)
        if sent is not None:
            self._coming.remove(sent)

    def molecules(self, name: str, value: Any) -> Iterator[Molecule]:
        """Yield what a signal is to the tasks that wait for it."""
        for task in self._listeners.get(name, ()):
            yield _SIGNAL, task, molecule_of(value)

    def are_awaited(self, solution: Solution) -> bool:
        """Tell whether a task can start as soon as one comes: if none can, nothing will ever happen again."""
        if not self._coming:
            return False
        waiting = {task for _, name, _value in self._coming for task in self._listeners[name]}
        return any(
            type(one) is tuple
            and one[0] is _GATE
            and one[1] in waiting
            and any(type(part) is tuple and part[0] is _ARMED for part in one[2])
            for one in solution
        )


__all__ = ["Signal", "Signals"]
