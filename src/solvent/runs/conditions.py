"""The conditions of a workflow: which alternatives reject a result, and which ways a result takes.

A condition that cannot be computed, or a predicate that raises, rejects the result and lets it take no way, and says
why: nobody would rely on a result that could not be judged.
"""

from __future__ import annotations

import reprlib
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.errors import SolventError, WorkflowProblem
from solvent.hocl.program import rule
from solvent.lang.evaluate import evaluate
from solvent.lang.functions import Functions
from solvent.lang.molecule import Symbol
from solvent.lang.operators import Incomputable, truth
from solvent.lang.solution import Solution
from solvent.services.failure import cause_of
from solvent.services.python import function_of
from solvent.values.classes import needs_restoring, restore
from solvent.workflows.formats.yaml.writer import name_of_function
from solvent.workflows.model import Service, Test, test_text
from solvent.workflows.rule_functions import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from solvent.lang.molecule import Molecule
    from solvent.lang.syntax import Expression
    from solvent.workflows.model import Task, Workflow

_BACK, _ONE, _SOME = Symbol("BACK"), Symbol("ONE"), Symbol("SOME")
_TOLD = Symbol("TOLD")
_FUNCTIONS = Functions()


class Judge:
    """Judges results for one run."""

    def __init__(
        self,
        conditions: Mapping[str, str],
        predicates: Mapping[str, Callable[[Any], object]],
        *,
        unpickles: bool = False,
    ) -> None:
        self._unpickles = unpickles
        self._conditions = {name: _condition(name, text) for name, text in conditions.items()}
        self._predicates = predicates
        # What predicates said of the result of a task that was taken in last, where they were asked beforehand.
        self._said: dict[str, Mapping[str, bool]] = {}
        # Why an alternative could not judge.
        self.troubles: dict[str, str] = {}

    def ask(self, names: list[str], value: Any) -> dict[str, bool]:
        """Return which predicates reject a result, by alternative; from any thread."""
        return {name: self._ask(name, value) for name in names}

    def take_in(self, task: str, verdicts: Mapping[str, bool]) -> None:
        """Know what predicates said of the result that a task has from now on."""
        self._said[task] = verdicts

    def rejecting(self, task: str, judges: Molecule, result: Molecule) -> list[str]:
        """Give the alternatives that reject a result."""
        found = []
        verdicts = self._said.get(task, {})
        for name, text in judges:
            if name in self._predicates:
                said = verdicts.get(name)
                rejects = self._ask(name, value_of(result)) if said is None else said
            else:
                rejects = self._holds(name, text, result)
            if rejects:
                found.append(name)
        return found

    def _ask(self, name: str, value: Any) -> bool:
        try:
            return bool(self._predicates[name](_whole(value, unpickles=self._unpickles)))
        except BaseException as error:
            # A predicate is the user's and may raise anything; but Ctrl-C comes to the main thread, and only there.
            if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise
            self.troubles[name] = cause_of(error)
            return True

    def _holds(self, name: str, text: str, result: Molecule) -> bool:
        condition = self._conditions.get(name)
        if condition is None:
            condition = self._conditions[name] = _condition(name, text)
        try:
            return truth(evaluate(condition, {"result": result}, _FUNCTIONS))
        except (Incomputable, ArithmeticError) as error:
            self.troubles[name] = f"`{text}` cannot be computed: {error}"
            return True


def _whole(value: Any, *, unpickles: bool) -> Any:
    """Return a value as functions get it."""
    return restore(value, unpickles=unpickles) if needs_restoring() else value


def _condition(name: str, text: str) -> Expression:
    return condition_of(f"the condition `{text}` of the alternative `{name}`", text)


def condition_of(what: str, text: str) -> Expression:
    """Read a condition on `result`; `what` says whose it is, should it not read."""
    try:
        condition = rule(f"replace RES : result by ERR if ({text})", functions=_FUNCTIONS).node.condition
    except SolventError as error:
        raise WorkflowProblem("W130", f"{what} is not valid HOCL: {error.message}", hint=error.hint) from None
    assert condition is not None
    return condition


def cause(kind: Molecule, what: Molecule, troubles: Mapping[str, str]) -> str:
    """Say why a task failed: the service's words, or the result that was rejected."""
    if type(kind) is not tuple:
        return f"{kind.name}: {what}"
    try:
        shown = reprlib.repr(value_of(what))
    except Exception:  # noqa: BLE001 - a foreign `__repr__` may raise anything
        shown = f"a {type(value_of(what)).__name__}"
    trouble = "".join(f"; {troubles[name]}" for name in kind[1] if name in troubles)
    return f"its result was rejected: {shown}{trouble}"


def judge_of(workflow: Workflow, folder: Path | None) -> Judge:
    """Make the judge of a workflow's alternatives."""
    conditions = {one.name: one.when for one in workflow.alternatives if one.when is not None}
    asked = [one for one in workflow.alternatives if one.predicate is not None]
    predicates = {one.name: predicate_of(one.name, one.predicate, folder) for one in asked}
    return Judge(conditions, predicates, unpickles=workflow.unpickles)


def predicate_of(alternative: str, predicate: Any, folder: Path | None) -> Callable[[Any], object]:
    """Give the predicate of an alternative, which a file names as `module:function`."""
    if callable(predicate):
        found: Callable[[Any], object] = predicate
        return found
    return function_of(Service(alternative, target=str(predicate)), folder)


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
        self._unpickles = workflow.unpickles
        self._conditions: dict[str, Expression] = {}
        self._predicates: dict[tuple[str, str], Callable[[Any], object]] = {}
        for task, key, test in tests_of(workflow):
            if test.predicate is not None:
                self._predicates[task, key] = predicate_of(f"{task} {key}", test.predicate, folder)
            elif test.when is not None:
                self._condition(task, test.when)
        self._fallbacks = {
            (task.name, number): test for task in workflow.tasks for number, test in fallback_tests(task)
        }
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

    def rounds(self, name: str, choice: tuple[Molecule, ...], number: int) -> int:
        """Return how often a task has gone back in a row, when it was so many times before, with this result."""
        back = [way[1] for way in choice[2] if way[0] is _BACK]
        return number + 1 if self._choose(name, *choice)[0][:1] == back and back else 0

    def holds(self, name: str, text: str, result: Molecule) -> bool:
        """Tell whether a condition holds of a result."""
        return bool(self._asked(name, text, result))

    def rejects(self, name: str, fallback: int, result: Molecule) -> bool:
        """Return whether a fallback is to be called since an item's result is not good; also if nobody can say."""
        test = self._fallbacks[name, fallback]
        return self._asked(name, test_text(test, _fallback_key(fallback)), result) is not False

    def _asked(self, name: str, text: str, result: Molecule) -> bool | None:
        """Return whether a condition holds of a result; nothing where that cannot be said."""
        try:
            if text.startswith("?"):
                value = _whole(value_of(result), unpickles=self._unpickles)
                return bool(self._predicates[name, text[1:]](value))
            condition = self._conditions.get(text) or self._condition(name, text)
            return truth(evaluate(condition, {"result": result}, _FUNCTIONS))
        except (Incomputable, ArithmeticError) as error:
            self.troubles[name] = f"`{text}` cannot be computed: {error}"
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a predicate is the user's and may raise anything
            self.troubles[name] = cause_of(error)
        return None

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
        yield from ((task.name, _fallback_key(number), test) for number, test in fallback_tests(task))
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


def fallback_tests(task: Task) -> Iterator[tuple[int, Test]]:
    """Yield the conditions on which fallbacks of a task are called for items, with their numbers."""
    for number, one in enumerate(() if task.per_item is None else task.per_item.otherwise):
        if one.when is not None or one.predicate is not None:
            yield number, Test(one.when, one.predicate)


def _fallback_key(number: int) -> str:
    return f"otherwise {number}"


def predicates_of(workflow: Workflow) -> Iterator[str]:
    """Give the names of the functions that a workflow asks about results; one without a name is left out."""
    asked: list[Any] = [one.predicate for one in workflow.alternatives]
    asked += [test.predicate for _, _, test in tests_of(workflow)]
    for one in asked:
        if isinstance(one, str):
            yield one
        elif one is not None:
            try:
                yield name_of_function(one)
            except WorkflowProblem:
                continue


__all__ = ["Chooser", "Judge", "cause", "condition_of", "judge_of", "predicate_of", "predicates_of", "tests_of"]
