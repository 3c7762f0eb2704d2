"""The reactions possible in a solution, and what is in it after each.

What is found out about the content of a solution is remembered, wherever this content stands: in a state, or deep
inside many of them. Where a solution inside another reacts, the molecule around it becomes another molecule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.engine.desk import Desk
from solvent.engine.interned import Content, Interned, Numbers
from solvent.engine.reaction import Stopped
from solvent.errors import LimitReached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.lang.rule import Rule
    from solvent.lang.solution import Solution

_MAX_DESKS = 64


class Successors:
    """The reactions in the states of one program."""

    def __init__(self, should_stop: Callable[[], bool] | None = None) -> None:
        self.interned = Interned()
        #: Asked now and then; what is under way ends with `Stopped` when it returns true.
        self.should_stop = should_stop
        self._desks: dict[Numbers, Desk] = {}
        self._finals: dict[int, int] = {}

    def content(self, solution: Solution) -> Content:
        """Return the content of a solution, which stays."""
        return self.interned.content(solution)

    def after(self, content: Content) -> list[tuple[Rule, Content]]:
        """Return every reaction possible in a solution and in those inside it, by its rule, with what is there then.

        Equal reactions are one.
        Raises `Stopped` when that is asked for.
        """
        if content.after is not None:
            return content.after
        self._poll()
        interned, should_stop = self.interned, self.should_stop
        found = [] if interned.holders.isdisjoint(content.molecules) else self._after_inside(content)
        if not interned.rules.isdisjoint(content.molecules):
            content_of = interned.content_of
            for rule, left in self._desk(content).reactions(content.molecules, is_waiting=bool(found)):
                if should_stop is not None and should_stop():
                    raise Stopped
                found.append((rule, content_of(left)))
        if not found or content.solution is not None:
            # Of a state, which nothing holds, this is asked once.
            content.after = found
        if not found:
            interned.settle(content)
        return found

    def _after_inside(self, content: Content) -> list[tuple[Rule, Content]]:
        """Return the reactions of the solutions inside a solution."""
        interned = self.interned
        found: list[tuple[Rule, Content]] = []
        for number in sorted(interned.holders.intersection(content.molecules)):
            for at, inner in enumerate(interned.inside[number]):
                for rule, changed in self.after(inner):
                    self._poll()
                    after = list(content.molecules)
                    if number not in interned.endless:
                        after.remove(number)
                    after.append(interned.replaced(number, at, changed))
                    found.append((rule, interned.content_of(after)))
        return found

    def fits(self, rule: Rule, content: Content) -> bool:
        """Return whether a rule that is not in a solution could react there."""
        return self._desk(content).fits(rule)

    def run(self, content: Content, max_reactions: int | None = None) -> Content:
        """Return what is in a solution when it has reacted until it is inert.

        Raises `Stopped` when that is asked for.
        """
        interned, begun, count = self.interned, content, 0
        while content.final is None:
            self._poll()
            if not interned.holders.isdisjoint(content.molecules):
                inside = [self._run_inside(number, max_reactions) for number in content.molecules]
                if inside != list(content.molecules):
                    content = interned.content_of(inside)
                    continue
            after, reactions = self._react(content)
            count += reactions
            if not reactions:
                content.final = content
            elif max_reactions is not None and count > max_reactions:
                raise LimitReached("H501", f"still reacting after {max_reactions} reactions")
            else:
                content = interned.content_of(after)
        begun.final = content.final
        return content.final

    def _react(self, content: Content) -> tuple[Numbers, int]:
        """Let reactions happen in a solution whose solutions are inert; return what is there then, and their number."""
        if self.interned.rules.isdisjoint(content.molecules):
            return content.molecules, 0
        desk = self._desk(content)
        if desk.is_plain:
            return desk.react_all(content.molecules)
        first = next(desk.reactions(content.molecules, is_waiting=False), None)
        return (content.molecules, 0) if first is None else (tuple(first[1]), 1)

    def _run_inside(self, number: int, max_reactions: int | None) -> int:
        """Return the number of a molecule when the solutions inside it are inert."""
        found = self._finals.get(number)
        if found is None:
            found = number
            for at, inner in enumerate(self.interned.inside[number]):
                final = self.run(inner, max_reactions)
                self.after(final)
                if final is not inner:
                    found = self.interned.replaced(found, at, final)
            self._finals[number] = found
        return found

    def _desk(self, content: Content) -> Desk:
        """Return a desk on which all that can react in a solution is laid out."""
        interned = self.interned
        fixed = tuple([number for number in content.molecules if number in interned.fixed])
        desk = self._desks.get(fixed)
        if desk is None:
            desk = Desk(interned, fixed)
            # What takes the rest takes it in its order, so that must not depend on what lay there before.
            if not desk.is_late:
                if len(self._desks) >= _MAX_DESKS:
                    self._desks.clear()
                self._desks[fixed] = desk
        loose = [number for number in content.molecules if number not in interned.fixed]
        if not interned.holders.isdisjoint(loose):
            loose = [number for number in loose if not any(map(self.after, interned.inside[number]))]
        desk.lay(tuple(loose))
        return desk

    def _poll(self) -> None:
        if self.should_stop is not None and self.should_stop():
            raise Stopped


class Opened:
    """A state in which to look for reactions."""

    def __init__(self, successors: Successors, content: Content) -> None:
        self._successors = successors
        self._content = content

    @property
    def state(self) -> Solution:
        """The state, as a solution of its own."""
        return self._successors.interned.copy(self._content)

    @property
    def should_stop(self) -> Callable[[], bool] | None:
        """Asked now and then whether to stop."""
        return self._successors.should_stop

    def fits(self, rule: Rule) -> bool:
        """Return whether a rule that is not in the state could react there."""
        return self._successors.fits(rule, self._content)


def successors(state: Solution) -> Iterator[tuple[Rule, Solution]]:
    """Return every reaction possible in a state by its rule, with the state after it."""
    found = Successors()
    for rule, after in found.after(found.content(state)):
        yield rule, found.interned.copy(after)


__all__ = ["Opened", "Successors", "successors"]
