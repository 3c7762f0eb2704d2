"""Keeps a large workflow small: only the tasks at work need the engine's tables.

Where nothing adapts, a task comes into the solution when something is first sent to it, and is packed when it has
passed its result on. If very many are sent something at once, they come in as others get done; if nothing is out, the
next ones come in whatever they wait for, so nobody waits for one that is not let in.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from solvent.engine.batches import pack
from solvent.lang.molecule import Symbol
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from solvent.lang.molecule import Molecule

MAX_AWAKE = 1_000
_DST = Symbol("DST")


class Lean:
    """The tasks that are not in the solution yet."""

    def __init__(self, solution: Solution, names: frozenset[Molecule]) -> None:
        """`names` are the tasks that wait for something."""
        self._solution = solution
        molecules = solution.fresh
        self._asleep = {one[0]: one for one in molecules if type(one) is tuple and one[0] in names}
        solution.fresh = [one for one in molecules if type(one) is not tuple or one[0] not in names]
        #: How many tasks have not passed everything on.
        self.undone = sum(type(one) is tuple and type(one[1]) is Solution for one in molecules)
        self._called: deque[Molecule] = deque()
        self._awake = 0

    def wake(self, task: Molecule) -> None:
        """Let a task in that something is sent to, or note that it wants to come in."""
        if task in self._asleep:
            if self._awake < MAX_AWAKE:
                self._let_in(task)
            else:
                self._called.append(task)

    def finish(self, task: Solution) -> bool:
        """Pack a task that has passed everything on, and let the next one in; say whether there was one."""
        if not task.inert:
            return False
        for part in task:
            if type(part) is tuple and part[0] is _DST and len(part[1]):
                return False
        pack(task)
        self.undone -= 1
        self._awake = max(0, self._awake - 1)
        return self.let_more_in(1)

    def let_more_in(self, number: int) -> bool:
        """Let some tasks in that wait for it; say whether there were any."""
        found = False
        while self._called and number > 0:
            task = self._called.popleft()
            if task in self._asleep:
                self._let_in(task)
                found = True
                number -= 1
        return found

    def wake_all(self) -> None:
        """Put all tasks into the solution, so that they are there to be looked at."""
        self._solution.extend(self._asleep.values())
        self._asleep = {}

    def asleep(self) -> list[Molecule]:
        """Give the tasks that are not in the solution yet."""
        return list(self._asleep.values())

    def _let_in(self, task: Molecule) -> None:
        self._solution.add(self._asleep.pop(task))
        self._awake += 1


__all__ = ["MAX_AWAKE", "Lean"]
