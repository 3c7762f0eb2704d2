"""Who still waits when nothing more can happen: the tokens that lie at gates, and what each gate lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.lang.molecule import List, Molecule, Symbol
from solvent.lang.solution import Solution
from solvent.workflows.forms import task_of
from solvent.workflows.model import Result
from solvent.workflows.translate import task_symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from solvent.workflows.model import Task, Workflow


_WAIT, _VALUE, _OPEN, _WAKE = map(Symbol, ("WAIT", "VALUE", "OPEN", "WAKE"))
_GROUPED = (Symbol("SYNCMG_SRC"), Symbol("SYNCMG_INBOX"))


def waiting_in(
    solution: Solution, workflow: Workflow, sources: Mapping[str, tuple[str, ...]] | None = None
) -> list[str]:
    """Say for each task that waits what has arrived and what has not; nothing where all tokens have gone through.

    `sources` says what each task waits for that is no gate; without them all tasks are gates.
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
    for one in molecules if sources is not None else ():
        task = task_of(one)
        if sources is None or task not in names or task in gates:
            continue
        name = names[task]
        if one[0] is _WAIT:
            lacks = _lacks_flat(one, workflow.by_name[name], sources[name], names)
        else:
            is_dormant = name in workflow.dormant
            lacks = _lacks_replaceable(one[1], names, is_dormant=is_dormant) if type(one[1]) is Solution else ""
        if lacks:
            found.append(f"`{name}` waits for {lacks}")
    passed = {(one[1], one[2]) for one in molecules if one[0] is Symbol("PASS") and _counts(one, gates)}
    for to, source in sorted(passed, key=str):
        found.append(f"`{names.get(to, to)}` has a token of `{names.get(source, source)}` that it cannot use")
    return found


def _lacks_flat(waiting: Molecule, task: Task, sources: tuple[str, ...], names: dict[Molecule, str]) -> str:
    """Say what a flat task lacks, if something has arrived."""
    _, _, missing, _, arguments = waiting
    if missing == len(sources):
        return ""
    if type(arguments) is not List:
        return f"{missing} of {len(sources)} sources; {len(sources) - missing} have arrived"
    taken = {slot.task for slot in task.slots if isinstance(slot, Result)}
    open_slots = {names.get(part[1]) for part in arguments if part[0] is not _VALUE}
    absent = [name for name in sources if name in open_slots]
    arrived = [name for name in sources if name in taken and name not in open_slots]
    # Of those that it only comes after nothing is kept but their number.
    others = [name for name in sources if name not in taken]
    silent = missing - len(absent)
    if silent == len(others):
        absent += others
    elif not silent:
        arrived += others
    else:
        return " and ".join([_quoted(absent)] * bool(absent) + [f"{silent} more of {_quoted(others)}"])
    return f"{_quoted(absent)}; {_quoted(arrived)} has arrived"


def _lacks_replaceable(inside: Solution, names: dict[Molecule, str], *, is_dormant: bool) -> str:
    """Say what a task that is a solution of its own lacks, if something has arrived or an alternative has woken it."""
    parts = _parts(inside)
    if _OPEN not in parts or Symbol("SRC") not in parts:
        return ""
    missing = list(parts[Symbol("SRC")][1])
    arrived = [one[0] for one in parts[Symbol("IN")][1]]
    if not missing or _WAKE in missing or not (arrived or is_dormant):
        return ""
    return _listed(missing, names) + (f"; {_listed(arrived, names)} has arrived" if arrived else "")


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
        has_started = Symbol("EVERY") in parts and parts[Symbol("RUNS")][1] > 0
        return "" if has_started else _condition(parts, signal)
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
    return _quoted(str(names.get(task, task)) for task in tasks)


def _quoted(tasks: Iterable[str]) -> str:
    found = sorted({f"`{task}`" for task in tasks})
    return ", ".join(found) if len(found) <= 8 else f"{', '.join(found[:7])} and {len(found) - 7} others"


__all__ = ["waiting_in"]
