"""Explanations from the record of a run: where a molecule came from, and what stops a rule."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from solvent.engine.explain import Report, rules_named, why_not
from solvent.errors import Misuse, SolventError
from solvent.hocl.program import molecules
from solvent.lang.molecule import sub_solutions
from solvent.lang.printer import print_molecule
from solvent.lang.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.engine.trace import Made, Record, Recorder
    from solvent.lang.functions import Functions
    from solvent.lang.molecule import Molecule
    from solvent.lang.solution import Solution

_MAX_NEAR = 5
_MAX_COMPARED = 1_000


def read_molecule(text: str, functions: Functions, rules: dict[str, Rule]) -> Molecule | None:
    """Read the molecule asked about; return `None` for the name of an inner rule, which only its text can find."""
    try:
        found = molecules(text, functions=functions, rules=rules)
    except SolventError as error:
        if error.code == "H201":
            return None
        raise
    if len(found) != 1:
        raise Misuse("H308", f"`{text}` is {len(found)} molecules; ask about one")
    return found[0]


def find(recorder: Recorder, molecule: Molecule | None, text: str) -> Made | None:
    """Find a molecule in the record of a run."""
    if molecule is not None:
        found = recorder.why(molecule)
        if found is not None:
            return found
        text = print_molecule(molecule)
    same = [made for made in recorder.molecules if made.text == text or print_molecule(made.molecule) == text]
    return same[-1] if same else None


def near_texts(recorder: Recorder, text: str) -> list[str]:
    """Return the molecules of a run closest to a text, or its last ones."""
    from difflib import get_close_matches

    known = list(dict.fromkeys(made.text for made in recorder.molecules))
    if len(text) > _MAX_COMPARED:
        # Comparing takes quadratic time.
        return known[-_MAX_NEAR:]
    short = [one for one in known if len(one) <= _MAX_COMPARED]
    return get_close_matches(text, short, n=_MAX_NEAR, cutoff=0.5) or known[-_MAX_NEAR:]


def children_of(made: Made, record: Record) -> list[Made]:
    """Return the molecules that a molecule came from; if it moved out of a solution, only itself there."""
    found = [*record.kept, *record.reactants]
    if made.moved is None:
        return found
    return [made.moved, *(one for one in found if not sub_solutions(one.molecule))]


def tree_as_json(recorder: Recorder, made: Made) -> dict[str, Any]:
    """Return the molecules and reactions a molecule comes from, as a graph."""
    known: dict[int, Made] = {}
    reactions: dict[int, Record] = {}
    work = [made]
    while work:
        one = work.pop()
        if one.number in known:
            continue
        known[one.number] = one
        if one.reaction is not None:
            record = reactions[one.reaction] = recorder.records[one.reaction - 1]
            work += children_of(one, record)
    return {
        "molecule": made.text,
        "id": made.number,
        "molecules": [
            {"id": one.number, "molecule": one.text, "reaction": one.reaction} for _, one in sorted(known.items())
        ],
        "reactions": [_reaction(record) for _, record in sorted(reactions.items())],
    }


def _reaction(record: Record) -> dict[str, Any]:
    return {
        "number": record.number,
        "rule": record.rule,
        "reactants": [one.number for one in record.reactants],
        "kept": [one.number for one in record.kept],
        "products": [one.number for one in record.products],
    }


# --- What stops a rule.


def taken_by(recorder: Recorder, name: str) -> Record | None:
    """Find the last reaction that took a rule, or a molecule with it inside."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?![\w'])")
    for record in reversed(recorder.records):
        if record.rule == name and not record.kept:
            return record
        if any(word.search(one.text) for one in record.reactants):
            return record
    return None


def names_in(recorder: Recorder) -> set[str]:
    """Return the names of all rules that occurred in a run."""
    return {name for made in recorder.molecules for name in rule_names(made.molecule)}


def rule_names(molecule: Any) -> Iterator[str]:
    """Yield the names of the rules in a molecule, including its own."""
    if type(molecule) is Rule and molecule.name:
        yield molecule.name
    for sub in sub_solutions(molecule):
        for one in sub:
            yield from rule_names(one)


@dataclass(frozen=True, slots=True)
class Fate:
    """What happened to the rules of a name: how far each gets in the solution, or which reaction took them."""

    rule: str
    reports: list[Report]
    #: If none is left: the last reaction that took one, as far as known.
    taken: Record | None
    #: Whether there ever was one.
    existed: bool

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON has them."""
        taken = self.taken
        return {
            "rule": self.rule,
            "present": bool(self.reports),
            "existed": self.existed,
            "taken_by": {"number": taken.number, "rule": taken.rule} if taken is not None else None,
            "reports": [_report_as_json(one) for one in self.reports],
        }


def fate_of(solution: Solution, recorder: Recorder, name: str) -> Fate:
    """Find what happened to the rules of a name."""
    reports = [why_not(place, rule) for place, rule in rules_named(solution, name)]
    taken = None if reports else taken_by(recorder, name)
    return Fate(name, reports, taken, bool(reports) or taken is not None or name in names_in(recorder))


def _report_as_json(report: Report) -> dict[str, Any]:
    fields = {**asdict(report), "verdict": report.verdict}
    for pattern, shown in zip(report.patterns, fields["patterns"], strict=True):
        for misfit, misfit_fields in zip(pattern.misfits, shown["misfits"], strict=True):
            misfit_fields["sentence"] = misfit.sentence()
    return fields


__all__ = [
    "Fate",
    "children_of",
    "fate_of",
    "find",
    "names_in",
    "near_texts",
    "read_molecule",
    "rule_names",
    "taken_by",
    "tree_as_json",
]
