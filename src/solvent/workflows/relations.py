"""How the tasks of a workflow with control flow depend on each other.

`Relations.addressed_by` returns the tasks that a task may pass to, skip, cancel or signal: these get messages. The
molecules that one rule takes must be in one solution, so `joined` yields tasks that must share a shard, because of
these rules of `rules/patterns.hocl` and `rules/instances.hocl`:

    start_*_locked           the tasks that take a lock; a task that only gives it back sends it there
    start_*_offer, lose*     the rivals of a deferred choice
    prepareReach, *_during   the three tasks of a milestone
    mi_complete*             a task that completes others, and those
    *Dated, dateAgain        a task that may be cancelled, and all tasks that pass or skip to it
    *CancelDated             a task that may be cancelled, and all tasks that it cancels itself
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.workflows.model import Control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from solvent.workflows.model import Workflow
    from solvent.workflows.paths import Paths

_PLAIN = Control()


class Relations:
    """How tasks depend on each other."""

    def __init__(self, workflow: Workflow, paths: Paths) -> None:
        self.paths = paths
        self.control = {task.name: task.control or _PLAIN for task in workflow.tasks if task.name in paths.sources}
        #: The tasks that wait for each signal.
        self.listeners: dict[str, list[str]] = {}
        for name, control in self.control.items():
            if control.signal is not None:
                self.listeners.setdefault(control.signal, []).append(name)
        #: Where each milestone begins and ends, and the task that it is for.
        self.milestones = [
            (control.during, name) for name, control in self.control.items() if control.during is not None
        ]
        #: The tasks that are offered something, each with the task that offers it.
        self.offered = {
            later: name
            for name, control in self.control.items()
            if control.split == "deferred"
            for later in paths.destinations[name]
        }
        #: The branches that each join by the first so many cancels.
        self.regions = {name: paths.upstream(name) for name, control in self.control.items() if control.cancels_rest}
        #: The tasks that another one may cancel.
        self.cancelled = frozenset(
            (
                *(one for control in self.control.values() for one in control.cancels),
                *(one for name, region in self.regions.items() for one in (name, *region)),
            )
        )

    def takers(self) -> dict[str, list[str]]:
        """Return the tasks that take each lock; of a lock that no task takes, those that give it back."""
        taking: dict[str, list[str]] = {}
        giving: dict[str, list[str]] = {}
        for name, control in self.control.items():
            for lock in control.takes:
                taking.setdefault(lock, []).append(name)
            for lock in control.gives:
                giving.setdefault(lock, []).append(name)
        return {**giving, **taking}

    def told_by(self, name: str) -> dict[str, None]:
        """Return the tasks that one may pass or skip to."""
        paths = self.paths
        skipped = [arc for _, arc in paths.skips.exits(name)] + paths.skips.of(name)
        if name in self.offered:
            rivals = [one for one in paths.destinations[self.offered[name]] if one != name]
            skipped += [arc for one in rivals for arc in paths.skips.of(one)]
        return dict.fromkeys((*paths.destinations[name], *(to for _, to in skipped)))

    def addressed_by(self, name: str) -> dict[str, None]:
        """Return the tasks to which one may send anything."""
        control = self.control[name]
        signalled = (one for signal in control.sends for one in self.listeners.get(signal, ()))
        cancelled = (*self.regions.get(name, ()), *(one for one in control.cancels if one in self.control))
        return self.told_by(name) | dict.fromkeys((*signalled, *cancelled))

    def joined(self) -> Iterator[list[str]]:
        """Yield tasks that rules join."""
        yield from self.takers().values()
        for name, control in self.control.items():
            if control.split == "deferred" and self.paths.destinations[name]:
                yield [*self.paths.destinations[name]]
            if control.completes:
                yield self._known((name, *control.completes))
            if name in self.cancelled and (control.cancels or name in self.regions):
                yield self._known((name, *control.cancels, *self.regions.get(name, ())))
            dated = [one for one in self.told_by(name) if one in self.cancelled] if self.cancelled else []
            if dated:
                yield [name, *dated]
        for during, name in self.milestones:
            yield self._known((*during, name))

    def _known(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name in self.control]
