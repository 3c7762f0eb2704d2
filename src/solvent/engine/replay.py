"""One reaction of an exploration again, in solutions that change, so that it can be recorded like that of a run."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from solvent.engine.choice import Stepper, all_entries
from solvent.engine.index import in_order
from solvent.engine.support import store_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.engine.trace import Recorder
    from solvent.lang.rule import Rule
    from solvent.lang.solution import Solution


class _Step(NamedTuple):
    """A reaction by its place: which open solution, which rule in it, which of the rule's matches."""

    place: int
    at: int
    number: int


def replay(state: Solution, rule: Rule, after: Solution, recorder: Recorder) -> None:
    """Let the reaction of a rule that leads from a state to another happen, and record it."""
    for step in _enabled(_opened(state.copied()), rule):
        tried = state.copied()
        _take(tried, step, None)
        if tried == after:
            _take(recorder.solution, step, recorder)
            return
    raise AssertionError("a reaction that was found once is found again")


def _enabled(stepper: Stepper, rule: Rule) -> Iterator[_Step]:
    for place, solution in enumerate(stepper.open):
        store = store_of(solution)
        for at, entry in enumerate(all_entries(store)):
            if entry.rule == rule and not (entry.code.is_late and solution.waiting):
                for number, _ in enumerate(entry.matches(store, in_order, solution)):
                    yield _Step(place, at, number)


def _opened(solution: Solution) -> Stepper:
    """Settle a solution and close everything in it that has nothing to do, innermost first."""
    stepper = Stepper(solution)
    at = 0
    while at < len(stepper.open):
        one = stepper.open[at]
        # Whatever is closed changes only its host, which then stands at the end.
        if one is solution or _has_reaction(one):
            at += 1
        else:
            stepper.close(at)
    return stepper


def _has_reaction(solution: Solution) -> bool:
    store = store_of(solution)
    for entry in all_entries(store):
        if entry.code.is_late and solution.waiting:
            continue
        for _ in entry.matches(store, in_order, solution):
            return True
    return False


def _take(solution: Solution, step: _Step, recorder: Recorder | None) -> None:
    """Make the reaction at a place happen."""
    stepper = _opened(solution)
    stepper.observe = recorder
    inner = stepper.open[step.place]
    store = store_of(inner)
    entry = all_entries(store)[step.at]
    match = next(islice(entry.matches(store, in_order, inner), step.number, None))
    inner.inert = False
    stepper._react(entry, match, None, inner, store)  # noqa: SLF001 - this is the stepper's other half


__all__ = ["replay"]
