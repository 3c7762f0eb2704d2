"""The ways onwards of a service: conditions that exclude each other, or that may hold side by side.

Rules that consume the same molecule exclude each other: the first that reacts takes it. Where each of them leads to one
service, that is a split to `one`. All other cases are a split to `some`, with conditions that say the same: a rule that
is excluded by others holds only where those do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.hocl import parse_molecules
from solvent.source import Source
from solvent.workflow.control import Route, Test
from solvent.workflow.hoclflow.conditions import print_condition

if TYPE_CHECKING:
    from solvent.workflow.chws.parts import Choice, Part
    from solvent.workflow.hoclflow.values import ValueReader


def split_of(part: Part, reader: ValueReader) -> dict[str, Any]:
    """Give how a service splits, in the words of a control."""
    if not part.choices:
        return {}
    # In a solution order means nothing, so a rule without condition is what is left when the others do not hold.
    choices = sorted(part.choices, key=lambda choice: choice.when is None)
    _check_reachable(choices, reader)
    is_exclusive = len({one.takes for one in choices}) == 1 and not any(one.is_given_back for one in choices)
    leads_to = [name for one in choices for name in one.destinations]
    is_plain = all(len(one.destinations) == 1 for one in choices) and len(set(leads_to)) == len(leads_to)
    if is_exclusive and is_plain and not part.destinations:
        routes = [Route(one.destinations[0], None if one.when is None else Test(one.when)) for one in choices]
        return {"split": "one", "routes": tuple(routes)}
    holds: dict[str, list[str]] = {}
    for at, one in enumerate(choices):
        when = _when(one, choices[:at])
        for name in one.destinations:
            holds.setdefault(name, []).append(when)
    always = ["true"] if "passInfo" in part.rules else [one.when or "true" for one in choices]
    for name in part.destinations:
        holds.setdefault(name, []).extend(always)
    return {"split": "some", "routes": tuple(Route(name, Test(_either(whens))) for name, whens in holds.items())}


def _check_reachable(choices: list[Choice], reader: ValueReader) -> None:
    seen: set[str] = set()
    for one in choices:
        if one.when is None and not one.is_given_back:
            if one.takes in seen:
                reader.fail(one.node, "two rules without a condition take the same molecule", hint="add `if ...`")
            seen.add(one.takes)


def _when(choice: Choice, earlier: list[Choice]) -> str:
    """Give the condition of a choice that holds only where those that take the same molecule do not."""
    parts: list[str] = []
    if not choice.is_given_back:
        parts = [
            f"!({one.when})" for one in earlier if one.takes == choice.takes and not one.is_given_back and one.when
        ]
    if choice.when is not None:
        parts.append(choice.when if not parts else f"({choice.when})")
    return _common(" && ".join(parts) or "true")


def _either(whens: list[str]) -> str:
    if "true" in whens:
        return "true"
    different = list(dict.fromkeys(whens))
    return different[0] if len(different) == 1 else _common(" || ".join(f"({when})" for when in different))


def _common(when: str) -> str:
    return print_condition(parse_molecules(Source(f"({when})"))[0])


__all__ = ["split_of"]
