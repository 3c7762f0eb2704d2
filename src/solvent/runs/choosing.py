"""Which ways a task's result takes: the conditions of its routes, and who must hear that a way is not taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.lang.evaluate import evaluate
from solvent.lang.functions import Functions
from solvent.lang.molecule import Symbol
from solvent.lang.operators import Incomputable, truth
from solvent.lang.solution import Solution
from solvent.runs.invoking import predicate_of
from solvent.runs.judging import condition_of
from solvent.services.failure import cause_of
from solvent.workflows.rule_functions import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from solvent.lang.molecule import Molecule
    from solvent.lang.syntax import Expression
    from solvent.workflows.model import Test, Workflow

_BACK, _ONE, _SOME = Symbol("BACK"), Symbol("ONE"), Symbol("SOME")
_TOLD = Symbol("TOLD")
_FUNCTIONS = Functions()


class _Way(NamedTuple):
    """A way onwards; see `Gates._ways`."""

    kind: Symbol
    to: Molecule
    text: str
    level: int
    told: Symbol
    copies: int
    answers: int


class Chooser:
    """Chooses for one run."""

    def __init__(self, workflow: Workflow, folder: Path | None = None) -> None:
        self._conditions: dict[str, Expression] = {}
        self._predicates: dict[tuple[str, str], Callable[[Any], object]] = {}
        for task, key, test in tests_of(workflow):
            if test.predicate is not None:
                self._predicates[task, key] = predicate_of(f"{task} {key}", test.predicate, folder)
            elif test.when is not None:
                self._condition(task, test.when)
        # A result is asked about several times in a row: where it goes, whether it goes anywhere, and who is told.
        self._last: tuple[Molecule, Molecule, list[Molecule], list[Molecule]] | None = None
        self.troubles: dict[str, str] = {}
        """Why a condition of a task could not be computed, by task; such a condition does not hold."""

    def chosen(self, name: str, choice: tuple[Molecule, ...]) -> Solution:
        """Give the tasks that a result is passed to; a choice is the task, how, the ways, the exits, the result."""
        return Solution(self._choose(name, *choice)[0])

    def skipped(self, name: str, choice: tuple[Molecule, ...]) -> Solution:
        """Give the arcs by which nothing will come."""
        found = self._choose(name, *choice)[1]
        # Asked for last. An equal result is another one: what its conditions say is asked again.
        self._last = None
        return Solution(found)

    def routed(self, name: str, choice: tuple[Molecule, ...]) -> bool:
        """Tell whether a result goes on where it has to."""
        return choice[1] not in (_ONE, _SOME) or not choice[2] or bool(self._choose(name, *choice)[0])

    def holds(self, name: str, text: str, result: Molecule) -> bool:
        """Tell whether a condition holds of a result."""
        try:
            if text.startswith("?"):
                return bool(self._predicates[name, text[1:]](value_of(result)))
            condition = self._conditions.get(text) or self._condition(name, text)
            return truth(evaluate(condition, {"result": result}, _FUNCTIONS))
        except (Incomputable, ArithmeticError) as error:
            self.troubles[name] = f"`{text}` cannot be computed: {error}"
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a predicate is the user's and may raise anything
            self.troubles[name] = cause_of(error)
        return False

    def _condition(self, name: str, text: str) -> Expression:
        found = self._conditions[text] = condition_of(f"the condition `{text}` of the task `{name}`", text)
        return found

    def _choose(  # noqa: PLR0917 - what the rule gives, in its order
        self, name: str, task: Molecule, how: Molecule, ways: Molecule, exits: Molecule, result: Molecule
    ) -> tuple[list[Molecule], list[Molecule]]:
        last = self._last
        if last is not None and last[0] is ways and last[1] is result:
            return last[2], last[3]
        every = [_Way(*way) for way in ways]
        taken = self._taken(name, how, every, result)
        # Who is told depends on how many loops the result leaves.
        level = min((way.level for way in taken), default=0)
        ids = set(map(id, taken))
        untaken = [way for way in every if way.told is _TOLD and way.level == level and id(way) not in ids]
        skips: list[Molecule] = [(*way.to, task) for way in untaken for _ in range(way.answers)]
        skips += [one[1:] for one in exits if one[0] == level]
        found = [way.to for way in taken for _ in range(way.copies)]
        self._last = (ways, result, found, skips)
        return found, skips

    def _taken(self, name: str, how: Molecule, ways: list[_Way], result: Molecule) -> list[_Way]:
        back = [way for way in ways if way.kind is _BACK]
        if back and self.holds(name, back[0].text, result):
            return back
        onward = [way for way in ways if way.kind is not _BACK]
        if how is not _ONE and how is not _SOME:
            return onward
        tested = (way for way in onward if way.text and self.holds(name, way.text, result))
        held = list(tested) if how is _SOME else [way for way in [next(tested, None)] if way is not None]
        otherwise = [way for way in onward if not way.text]
        if how is _SOME:
            # Ways without a condition are taken always, unless conditions stand beside them: then if none holds.
            return held or otherwise
        return held or otherwise[:1]


def tests_of(workflow: Workflow) -> Iterator[tuple[str, str, Test]]:
    """Give the conditions of a workflow's tasks, each with its task and what it is about."""
    for task in workflow.tasks:
        control = task.control
        if control is None:
            continue
        routes = [*control.routes, *([control.again] if control.again is not None else [])]
        yield from ((task.name, route.task, route.test) for route in routes if route.test is not None)
        if control.many is not None:
            if control.many.more is not None:
                yield task.name, "more", control.many.more
            if control.many.enough is not None:
                yield task.name, "enough", control.many.enough


__all__ = ["Chooser", "tests_of"]
