"""Which alternatives reject a result: their conditions in HOCL and their predicates in Python.

A condition that cannot be computed, or a predicate that raises, rejects the result as well, and says why: nobody
would rely on a result that could not be judged.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

from solvent.errors import SolventError, WorkflowProblem
from solvent.hocl.program import rule
from solvent.lang.evaluate import evaluate
from solvent.lang.functions import Functions
from solvent.lang.operators import Incomputable, truth
from solvent.runs.invoking import predicate_of
from solvent.services.failure import cause_of
from solvent.workflows.rule_functions import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from solvent.lang.molecule import Molecule
    from solvent.lang.syntax import Expression
    from solvent.workflows.model import Workflow

_FUNCTIONS = Functions()


class Judge:
    """Judges results for one run."""

    def __init__(self, conditions: Mapping[str, str], predicates: Mapping[str, Callable[[Any], object]]) -> None:
        self._conditions = {name: _condition(name, text) for name, text in conditions.items()}
        self._predicates = predicates
        # What predicates said of a task's last result, where they were asked beforehand.
        self._said: dict[tuple[str, str], bool] = {}
        # Why an alternative could not judge.
        self.troubles: dict[str, str] = {}

    def ask(self, task: str, names: list[str], value: Any) -> None:
        """Let predicates judge a task's result, from any thread."""
        for name in names:
            self._said[task, name] = self._ask(name, value)

    def rejecting(self, task: str, judges: Molecule, result: Molecule) -> list[str]:
        """Give the alternatives that reject a result."""
        found = []
        for name, text in judges:
            if name in self._predicates:
                said = self._said.get((task, name))
                rejects = self._ask(name, value_of(result)) if said is None else said
            else:
                rejects = self._holds(name, text, result)
            if rejects:
                found.append(name)
        return found

    def _ask(self, name: str, value: Any) -> bool:
        try:
            return bool(self._predicates[name](value))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a predicate is the user's and may raise anything
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
    return Judge(conditions, {one.name: predicate_of(one.name, one.predicate, folder) for one in asked})


__all__ = ["Judge", "cause", "condition_of", "judge_of"]
