"""Control flow that has no sound meaning: tasks that can never start, and loops that are never left.

Tokens are counted without running anything: how often at most can each task start? Nothing that cancels, waits or fails
makes it more, so a task for which the answer is never does not start in any order. The answer is asked

    once for the whole workflow            W120  tasks wait for each other
                                           W144  less arrives than a task waits for
    for each way that a choice can go      W144  whichever way, not all arrive that a task waits for
    without the end of each milestone      W144  a task comes only when its milestone is over

and a loop in which every task always passes something on inside it is never left (W145). What may go wrong but need not
is left to the run, which says who waits for what.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from solvent.workflow.cycles import components_of, cycles_of
from solvent.workflow.tokens import Tokens

if TYPE_CHECKING:
    from solvent.workflow.checks import Report
    from solvent.workflow.model import Workflow
    from solvent.workflow.paths import Paths

_WORK_MAX = 500_000
"""How many tasks are looked at in all for choices and milestones; what is left then is left to the run."""
_SHOWN_MAX = 8


def check_soundness(workflow: Workflow, paths: Paths, report: Report) -> None:
    """Report tasks of a controlled workflow that can never start, and loops that are never left."""
    tokens = Tokens(workflow, paths)
    starts = tokens.starts(tokens.names, {})
    found = _Finder(workflow, tokens, starts, report)
    found.never()
    found.choices()
    found.milestones()
    found.loops()


class _Finder:
    """Looks for what is wrong, given how often each task can start."""

    def __init__(self, workflow: Workflow, tokens: Tokens, starts: dict[str, int], report: Report) -> None:
        self.tokens = tokens
        self.starts = starts
        self.report = report
        self.order = {task.name: at for at, task in enumerate(workflow.tasks)}
        self.has_end = any(task.control is not None and task.control.ends for task in workflow.tasks)
        self.told: set[str] = set()
        self.work = 0

    # --- Tasks that can never start.

    def never(self) -> None:
        """Report tasks that wait for each other, or for more than arrives; not those that only come after them."""
        dead = [name for name, count in self.starts.items() if not count]
        waits = {name: [one for one in self.tokens.before(name) if not self.starts[one]] for name in dead}
        knots = [*components_of(waits)]
        circles = iter(cycles_of(waits))
        for knot in knots:
            is_circle = len(knot) > 1 or knot[0] in waits[knot[0]]
            circle = next(circles) if is_circle else []
            if any(one not in knot for name in knot for one in waits[name]):
                continue
            if is_circle:
                self._tell_circle(circle, set(knot))
            else:
                self._tell_lack(knot[0])

    def _tell_circle(self, circle: list[str], knot: set[str]) -> None:
        # A task waits for its sources, so tokens go the other way.
        names = self._turned([*reversed(circle)])
        message = f"these tasks wait for each other: {_way(names)}"
        hint = "a way back needs a task that starts by the way in as well as by the way back: `join: any`"
        for before, name in pairwise(names):
            if before not in self.tokens.sources[name]:
                hint = f"`{name}` waits for a milestone that begins with `{before}`; let it come after that"
                break
            entries = [one for one in self.tokens.sources[name] if one not in knot]
            if entries and self.tokens.joins[name] in ("all", "first"):
                hint = f"let `{name}` start by each that arrives, `{entries[0]}` or the way back: `join: any`"
        self.report.add("W120", message, ("task", names[0]), hint=hint)

    def _tell_lack(self, name: str) -> None:
        wanted = self.tokens.wanted(name)
        message = f"`{name}` can never start: it waits for {wanted}, and less arrives"
        hint = "let it wait for less, or let more be passed on: `threads: 2`"
        self.report.add("W144", message, ("task", name), hint=hint)

    def _turned(self, circle: list[str]) -> list[str]:
        """Let a circle begin and end with the task that is named first."""
        at = circle.index(min(circle, key=self.order.__getitem__))
        return [*circle[at:], *circle[:at], circle[at]]

    # --- Tasks that can start whichever way is taken, but not on any single one.

    def choices(self) -> None:
        """Report tasks that wait for what a choice keeps apart."""
        for name in self.tokens.names:
            ways = self.tokens.ways[name]
            if len(ways) < 2 or not self.starts[name] or name in self.tokens.scattered:
                continue
            behind = self._behind(name)
            if behind is None:
                return
            if not any(self.tokens.is_joint(one) for one in behind):
                continue
            alive = self._alive(name, behind)
            if alive is not None:
                self._tell_apart(name, [one for one in behind if self.starts[one] and one not in alive])

    def _alive(self, name: str, behind: set[str]) -> set[str] | None:
        """Give the tasks that can start on some way; nothing if the task may choose twice, and differently."""
        alive: set[str] = set()
        for way in self.tokens.ways[name]:
            self.work += len(behind)
            counts = self.tokens.starts(behind, self.starts, choice=(name, way), barred=self.tokens.rivals(name, way))
            if counts[name] > 1 or self.work > _WORK_MAX:
                return None
            alive |= {one for one, count in counts.items() if count}
        return alive

    def _tell_apart(self, name: str, dead: list[str]) -> None:
        lost = set(dead)
        first = [one for one in dead if lost.isdisjoint(self.tokens.before(one))] or dead[:1]
        for one in sorted(first, key=self.order.__getitem__):
            if one in self.told:
                continue
            self.told.add(one)
            message = f"`{one}` waits for {self.tokens.wanted(one)}, and whichever way `{name}` goes on, less arrives"
            hint = "`join: any` starts it by each that arrives, `join: active` by all that do"
            self.report.add("W144", message, ("task", one), hint=hint)

    def milestones(self) -> None:
        """Report tasks that can start only before another has started, but come only after it."""
        for name, (first, last) in self.tokens.milestones.items():
            if self.starts[first] > 1 or not self.starts[name] or not self.starts[last]:
                continue
            behind = self._behind(last)
            if behind is None:
                return
            # Where it begins only behind its end, it is there until that starts once more.
            if (
                first not in behind
                and name in behind
                and not self.tokens.starts(behind, self.starts, barred={last})[name]
            ):
                message = f"`{name}` can start only before `{last}` has started, but comes only after it"
                hint = f"let it come from a task before `{last}`, or take `during` out"
                self.report.add("W144", message, ("task", name), hint=hint)

    def _behind(self, name: str) -> set[str] | None:
        """Give a task and all that may come after it; nothing if too many were looked at already."""
        found = {name}
        todo = [name]
        while todo:
            if self.work > _WORK_MAX:
                return None
            self.work += 1
            for later in self.tokens.after(todo.pop()):
                if later not in found:
                    found.add(later)
                    todo.append(later)
        return found

    # --- Loops that are never left.

    def loops(self) -> None:
        """Report loops in which every task always passes something on inside the loop."""
        if self.has_end:
            return
        graph = {
            name: [later for later in self.tokens.passes[name] if self.starts[later]]
            for name in self.tokens.names
            if self.starts[name]
        }
        circles = cycles_of(graph)
        if not circles:
            return
        lost = self.tokens.lost
        knots = (one for one in components_of(graph) if len(one) > 1 or one[0] in graph[one[0]])
        for knot, circle in zip(knots, circles, strict=True):
            inside = set(knot)
            if inside.isdisjoint(lost) and not any(self.tokens.can_leave(name, inside) for name in knot):
                names = self._turned(circle)
                message = f"nothing leads out of the loop {_way(names)}"
                hint = (
                    f'let a task decide: `again: {{to: {names[0]}, when: "result < 3"}}`, or `split: one` with routes'
                )
                self.report.add("W145", message, ("task", names[0]), hint=hint)


def _way(names: list[str]) -> str:
    shown = names if len(names) <= _SHOWN_MAX else [*names[: _SHOWN_MAX - 2], "...", names[-1]]
    return " → ".join(shown)


__all__ = ["check_soundness"]
