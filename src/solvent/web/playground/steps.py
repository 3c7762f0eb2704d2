"""A run step by step: what is in the solution after each of its first reactions.

Molecules have numbers, and a state is a list of them, so that a molecule's text is sent once. A molecule that holds
solutions is a list: its number, then by turns a piece of its text and the list of what is in its next solution, a piece
of text last. What happens after the last step that is kept is not recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.trace import Recorder
from solvent.lang.molecule import ATOMS, Endless, List, Molecule, order_key, sub_solutions
from solvent.lang.printer import print_molecule
from solvent.lang.rule import Rule
from solvent.web.playground.question import MAX_MEMBERS, MAX_MOLECULE, MAX_STEPS, NAME, units

if TYPE_CHECKING:
    from solvent.engine.reaction import Reaction
    from solvent.engine.trace import Made, Record
    from solvent.lang.solution import Solution


class Steps:
    """Records the steps of a run, as its `observe`."""

    def __init__(self, solution: Solution, *, max_steps: int = MAX_STEPS, max_members: int = MAX_MEMBERS) -> None:
        self._solution = solution
        self._recorder = Recorder(solution)
        self._max_steps = max_steps
        self._members_left = max_members
        self.states: list[list[Any]] = [self._members(solution)]
        self.reactions: list[dict[str, Any]] = []
        #: Whether reactions have happened that were not recorded.
        self.is_cut = False

    def __call__(self, reaction: Reaction) -> None:
        """Record the state after a reaction, as long as there is room."""
        if self.is_cut or len(self.reactions) >= self._max_steps or self._members_left <= 0:
            self.is_cut = True
            return
        self._recorder(reaction)
        self.reactions.append(_reaction(self._recorder.records[-1], reaction.rule))
        self.states.append(self._members(self._solution))

    def as_json(self) -> dict[str, Any]:
        """Return the states, the reactions between them, and the molecules in them."""
        return {
            "molecules": [_molecule(made) for made in self._recorder.molecules],
            "states": self.states,
            "reactions": self.reactions,
            "is_cut": self.is_cut,
        }

    def _members(self, solution: Solution) -> list[Any]:
        held = sorted(self._recorder.held(solution), key=lambda made: order_key(made.molecule))
        self._members_left -= len(held)
        return [self._member(made) for made in held]

    def _member(self, made: Made) -> Any:
        if not sub_solutions(made.molecule):
            return made.number
        pieces: list[Any] = [""]
        self._write(made.molecule, pieces)
        return [made.number, *pieces]

    def _write(self, molecule: Molecule, pieces: list[Any]) -> None:
        """Write a molecule; the pieces begin and end with a text, and every second one is a solution."""
        kind = type(molecule)
        if kind is tuple or kind is List:
            between, begin, end = (":", "", "") if kind is tuple else (", ", "(", ")")
            pieces[-1] += "list(" if kind is List and len(molecule) == 1 else begin
            for at, part in enumerate(molecule):
                pieces[-1] += between if at else ""
                is_inner = kind is tuple and type(part) is tuple
                pieces[-1] += "(" if is_inner else ""
                self._write(part, pieces)
                pieces[-1] += ")" if is_inner else ""
            pieces[-1] += end
        elif kind is Endless:
            self._write(molecule.molecule, pieces)
            pieces[-1] += "^inf"
        elif kind not in ATOMS and getattr(molecule, "is_solution", False):
            pieces += [self._members(molecule), ""]
        else:
            pieces[-1] += _short(print_molecule(molecule))


def _reaction(record: Record, rule: Rule) -> dict[str, Any]:
    kept = len(record.kept)
    found = {
        "rule": _short(record.rule),
        "place": record.place,
        "by": record.by.number,
        "taken": [one.number for one in record.reactants],
        "kept": [one.number for one in record.kept],
        "made": [one.number for one in record.products],
        "before": [_short(one) for one in record.before[kept:]],
        "stays": [_short(one) for one in record.before[:kept]],
        "after": [_short(one) for one in record.after[kept:]],
    }
    node = rule.node
    if node.source is not None and node.source.name == NAME:
        text = node.source.text
        found |= {"start": units(text, node.start), "end": units(text, node.end)}
    return found


def _molecule(made: Made) -> dict[str, Any]:
    molecule = made.molecule
    found: dict[str, Any] = {"id": made.number, "text": _short(made.text)}
    if type(molecule) is Rule:
        found["rule"] = molecule.name or ""
    return found


def _short(text: str) -> str:
    return text if len(text) <= MAX_MOLECULE else f"{text[:MAX_MOLECULE]}…"


__all__ = ["Steps"]
