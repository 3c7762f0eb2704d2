"""Rule libraries of the user's own: patterns that a task joins by, as a `.hocl` file.

    let majority_take = replace PASS : tj : ti : n : r, GATE : tj : <VOTES : k::int, FROM : f, ?w> by ... in
    <majority_take, ..., JOIN : <VOTES : 0, NEED : NUMBER, MISSING : <SOURCES>>>

The rules join the others of the workflow. `JOIN` holds what the gate of a task that joins by the library has at first:
`SOURCES` stands for the task's sources, `COUNT` for how many they are, `NUMBER` for the number given with the join. A
library takes tokens `PASS : T : source : n : value` and says by `FLAG_INVOKE : T : f : <tokens>` when the task starts;
a token is `source : n : value`, and `f` what the gate holds as `FROM`; tokens with `n < f` were cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import SolventError, WorkflowProblem
from solvent.lang.evaluate import lower_program
from solvent.lang.molecule import Symbol
from solvent.lang.parser import parse_program
from solvent.lang.rule import Rule
from solvent.lang.scope import resolve
from solvent.lang.solution import Solution
from solvent.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.lang.functions import Functions
    from solvent.lang.molecule import Molecule
    from solvent.workflows.places import Loaded


class Library:
    """A rule library of the user's own: rules, and what a gate that joins by them has at first."""

    def __init__(self, rules: list[Molecule], template: list[Molecule]) -> None:
        self.rules = rules
        self.template = template

    def gate(self, sources: list[Molecule], need: int) -> list[Molecule]:
        """Fill the template: SOURCES stands for the sources, COUNT for their number, NUMBER for the given one."""
        return [_filled(one, sources, need) for one in self.template]


def _filled(molecule: Molecule, sources: list[Molecule], need: int) -> Molecule:
    if type(molecule) is tuple:
        return tuple(_filled(part, sources, need) for part in molecule)
    if type(molecule) is Solution:
        parts: list[Molecule] = []
        for part in molecule:
            parts += sources if part is Symbol("SOURCES") else [_filled(part, sources, need)]
        return Solution(parts)
    if molecule is Symbol("COUNT"):
        return len(sources)
    return need if molecule is Symbol("NUMBER") else molecule


def library_of(name: str, solution: Solution) -> Library:
    """Take a library apart."""
    templates = [one[1] for one in solution if type(one) is tuple and one[0] is Symbol("JOIN")]
    if len(templates) != 1 or type(templates[0]) is not Solution:
        raise WorkflowProblem(
            "W141",
            f"the pattern `{name}` does not say what a gate holds at first",
            hint="add `JOIN : <...>` to its solution",
        )
    rules: list[Molecule] = [one for one in solution if type(one) is Rule]
    if not rules:
        raise WorkflowProblem(
            "W141",
            f"the pattern `{name}` has no rules, so no task would ever start by it",
            hint="name its rules in its solution: they take `PASS : ...` and give `FLAG_INVOKE : ...`",
        )
    return Library(rules, [*templates[0]])


def library_problems(loaded: Loaded, folder: Path, functions: Functions) -> list[SolventError]:
    """Read every library of a workflow as a run would, and list what is wrong with them."""
    found: list[SolventError] = []
    users = {task.control.join: task.name for task in reversed(loaded.workflow.tasks) if task.control is not None}
    for name, path in loaded.workflow.patterns.items():
        try:
            _read(name, folder / path, functions)
        except SolventError as problem:
            if problem.span is None and name in users:
                problem.span = loaded.places.get(("task", users[name]))
            found.append(problem)
    return found


def _read(name: str, file: Path, functions: Functions) -> Library:
    try:
        source = Source(file.read_text(encoding="utf-8"), str(file))
    except (OSError, ValueError) as error:
        raise WorkflowProblem("W140", f"the pattern `{name}` cannot be read: {error}") from None
    tree = parse_program(source)
    resolve(tree, source, functions)
    return library_of(name, lower_program(tree, source, functions))
