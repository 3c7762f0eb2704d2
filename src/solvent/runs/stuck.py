"""Who still waits when nothing more can happen: the tokens that lie at gates, and what each gate lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.lang.molecule import List, Molecule, Symbol
from solvent.workflows.translate import task_symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from solvent.lang.solution import Solution
    from solvent.workflows.model import Workflow


_WAIT, _VALUE = Symbol("WAIT"), Symbol("VALUE")
_WAIT_PARTS = 5
_GROUPED = (Symbol("SYNCMG_SRC"), Symbol("SYNCMG_INBOX"))


def waiting_in(
    solution: Solution, workflow: Workflow, sources: Mapping[str, tuple[str, ...]] | None = None
) -> list[str]:
    """Say for each task that waits what has arrived and what has not; nothing where all tokens have gone through.

    `sources` says what each flat task waits for.
    """
    names = {task_symbol(task.name): task.name for task in workflow.tasks}
    molecules = [one for one in solution if type(one) is tuple]
    gates = {one[1]: _parts(one[2]) for one in molecules if one[0] is Symbol("GATE")}
    signals = {task.name: task.control.signal for task in workflow.tasks if task.control and task.control.signal}
    found = []
    for task, parts in gates.items():
        name = names.get(task, str(task))
        lacks = _lacks(parts, names, signals.get(name, ""))
        if lacks:
            found.append(f"`{name}` waits for {lacks}")
    for one in molecules:
        if sources is not None and one[0] is _WAIT and len(one) == _WAIT_PARTS and one[1] in names:
            name = names[one[1]]
            lacks = _lacks_flat(one, sources[name], names)
            if lacks:
                found.append(f"`{name}` waits for {lacks}")
    passed = {(one[1], one[2]) for one in molecules if one[0] is Symbol("PASS") and _counts(one, gates)}
    for to, source in sorted(passed, key=str):
        found.append(f"`{names.get(to, to)}` has a token of `{names.get(source, source)}` that it cannot use")
    return found


def _lacks_flat(task: Molecule, sources: tuple[str, ...], names: dict[Molecule, str]) -> str:
    """Say what a flat task lacks, if something has arrived."""
    _, _, missing, _, arguments = task
    if missing == len(sources):
        return ""
    if type(arguments) is not List:
        return f"{missing} of {len(sources)} sources; {len(sources) - missing} have arrived"
    used = {names.get(part[1]) for part in arguments if part[0] is not _VALUE}
    symbols = {name: symbol for symbol, name in names.items()}
    absent = [name for name in sources if name in used]
    # Of those that it only comes after nothing is kept but their number.
    silent = missing - len(absent)
    others = [name for name in sources if name not in used]
    if not silent:
        arrived = _listed((symbols[name] for name in others), names)
        return f"{_listed((symbols[name] for name in absent), names)}; {arrived} has arrived"
    return " and ".join(
        [_listed((symbols[name] for name in absent), names)] * bool(absent)
        + [f"{silent} more of {_listed((symbols[name] for name in others), names)}"]
    )


def _parts(inside: Solution) -> dict[Molecule, Molecule]:
    """Give the molecules of a gate by what they begin with; those that stand for a group by that, too."""
    found: dict[Molecule, Molecule] = {part[0] if type(part) is tuple else part: part for part in inside}
    grouped = [part for part in inside if type(part) is tuple and part[0] in _GROUPED]
    return found | {part[:2]: part for part in grouped}


def _counts(token: Molecule, gates: dict[Molecule, dict[Molecule, Molecule]]) -> bool:
    """Tell whether a token was not cancelled."""
    parts = gates.get(token[1])
    return parts is not None and bool(token[3] >= parts[Symbol("FROM")][1])


_INBOXES = [
    (Symbol(inbox), Symbol(missing))
    for inbox, missing in (("SYNC_INBOX", "SYNC_SRC"), ("DISCR_INBOX", "DISCR_SRC"), ("DISCR_INBOX", "ROUND_SRC"))
]


def _lacks(parts: dict[Molecule, Molecule], names: dict[Molecule, str], signal: str) -> str:
    """Say what a gate lacks, if it has something and lacks something."""
    armed = parts.get(Symbol("ARMED"))
    if armed is not None:
        return _condition(parts, signal)
    for inbox, missing in _INBOXES:
        if inbox in parts and missing in parts and len(parts[inbox][1]):
            absent = list(parts[missing][1]) + list(parts[Symbol("DEAD")][1] if Symbol("DEAD") in parts else ())
            arrived = _listed((one[0] for one in parts[inbox][1]), names)
            if not absent:
                # All others have answered that nothing comes.
                return f"{parts[Symbol('NEED')][1]} more; only {arrived} has arrived"
            return f"{_listed(absent, names)}; {arrived} has arrived"
    for group in (1, 2):
        inside = parts.get((Symbol("SYNCMG_INBOX"), group))
        if inside is not None and len(inside[2]):
            absent = parts[Symbol("SYNCMG_SRC"), group][2]
            return f"{_listed(absent, names)}; {_listed((one[0] for one in inside[2]), names)} has arrived"
    return ""


def _condition(parts: dict[Molecule, Molecule], signal: str) -> str:
    """Say what an armed gate waits for; one whose milestone has passed does not count."""
    if Symbol("DURING") in parts:
        return ""
    words = []
    if Symbol("SIGNALLED") in parts:
        words.append(f"the signal `{signal}`")
    if Symbol("TAKES") in parts:
        words.append(f"the lock {', '.join(f'`{lock}`' for lock in parts[Symbol('TAKES')][1:])}")
    if Symbol("OFFERED") in parts and not words:
        # One that lacks something else still has its offer.
        words.append("an offer that another has taken")
    return " and ".join(words)


def _listed(tasks: Iterable[Molecule], names: dict[Molecule, str]) -> str:
    found = sorted({f"`{names.get(task, task)}`" for task in tasks})
    return ", ".join(found) if len(found) <= 8 else f"{', '.join(found[:7])} and {len(found) - 7} others"


__all__ = ["waiting_in"]
