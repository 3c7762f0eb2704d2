"""The properties of `solvent explore`: how they are read, which hold, and a run that violates one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.cli.render import shortened, write, write_reaction
from solvent.engine.explore import Exploration, describe_state
from solvent.errors import Misuse
from solvent.hocl.json_fields import reaction_as_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.engine.properties import Never, Refines, Run
    from solvent.engine.trace import Record
    from solvent.lang.functions import Functions

_MAX_TEXT = 1000
_MAX_REASON = 4000


def read_never(text: str, functions: Functions | None = None) -> list[Never]:
    """Read the states that must never be: the rules of a file, or a pattern such as `A : x, B : y if x > y`."""
    from solvent.engine.properties import Never
    from solvent.hocl.program import load, rule
    from solvent.lang.rule import Rule

    if text.endswith(".hocl"):
        found = [Never(one) for one in load(text, functions=functions).solution() if isinstance(one, Rule)]
        if not found:
            raise Misuse("H322", f"{text} holds no rule", hint="its solution must hold the rules that may never react")
        return found
    # The text stands on a line of its own, so that an error shows it as it was given.
    return [Never(rule(f"inject NEVER with\n{text}\n", name="never", functions=functions), text=text)]


def read_refines(coarser: str, mapping: str | None, max_steps: int, functions: Functions | None = None) -> Refines:
    """Read the property that a program refines the one in a file, through the rules of another file, if given."""
    from solvent.engine.properties import Refines
    from solvent.hocl.program import load

    rules = () if mapping is None else load(mapping, functions=functions).solution()
    solution = load(coarser, functions=functions).solution()
    return Refines(solution, rules, name=coarser, max_steps=max_steps)


def write_property(one: Never | Refines, known: str = "") -> None:
    """Write that a property holds, as far as is known; of a refinement also what each rule is."""
    kind, _, rest = one.name.partition(" ")
    write((kind, "bold"), " " * (12 - len(kind)), (rest, "green"), known)
    if kind == "refines":
        write_counterparts(one.counterparts())  # type: ignore[union-attr]


def write_counterparts(counterparts: Mapping[str, Sequence[Run]]) -> None:
    """Write for each rule what its reactions are in the coarser program."""
    width = max(map(len, counterparts), default=0)
    for rule, runs in counterparts.items():
        write(f"  {rule:<{width}}  ", " or ".join(map(in_words, runs)))


def in_words(run: Run) -> str:
    """Write a run by its rules."""
    return " then ".join(run) or "nothing"


def write_violation(found: Exploration) -> None:
    """Write the property that does not hold, and a shortest run to where it does not."""
    violation = found.violation
    assert violation is not None
    write(("wrong", "bold red"), "       ", (violation.property.name, "bold red"))
    write("  start  ", shortened(describe_state(found.states[0]), _MAX_TEXT))
    write_records(found.run_to_violation())
    if violation.rule is None:
        write("  state  ", (shortened(describe_state(found.states[violation.state]), _MAX_TEXT), "red"))
    if violation.property.name.startswith("refines "):
        write("  ", shortened(violation.reason, _MAX_REASON))


def properties_as_json(found: Exploration, properties: Sequence[Never | Refines]) -> dict[str, Any]:
    """Give which properties hold, null where that is not known, what rules are, and the run to a violation."""
    violation = found.violation
    fields: dict[str, Any] = {"holds": {}, "violation": None}
    for one in properties:
        is_wrong = violation is not None and violation.property is one
        fields["holds"][one.name] = False if is_wrong else True if found.is_complete else None
        if one.name.startswith("refines "):
            fields["counterparts"] = {rule: list(map(list, runs)) for rule, runs in one.counterparts().items()}  # type: ignore[union-attr]
    if violation is not None:
        fields["violation"] = {
            "property": violation.property.name,
            "reason": violation.reason,
            "run": list(map(reaction_as_json, found.run_to_violation())),
            "state": describe_state(found.states[violation.state]),
        }
    return fields


def write_records(records: Sequence[Record], first: int | None = None) -> None:
    """Write reactions, numbered on from `first`."""
    for at, record in enumerate(records):
        if first is not None:
            record.number = first + at
        write_reaction(record, width=6)


__all__ = [
    "in_words", "properties_as_json", "read_never", "read_refines", "write_counterparts", "write_property",
    "write_records", "write_violation",
]  # fmt: skip
