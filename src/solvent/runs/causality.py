"""What must hold of a workflow in every order: who precedes whom, who runs how often, who never runs, how it ends.

A before B            B has not started before A was done once
A before each B       B has not started more often than A was done
B not after A         B does not start once A is done
B never               B does not run;  `B once`, `B twice`, `B runs 3`, `B runs 0..2`: so often, in the end
one of B, C           in the end exactly one run of them was started;  `some of B, C`: at least one
B, C apart            they never run at the same time, nor does one of them twice at the same time
ends done             every order ends so: `done`, `cancelled`, `failed`, `stuck`;  `ends done or stuck`

A name with blanks stands in double quotes: `"check invoice" before Pay`.
"""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING

from solvent.errors import WorkflowProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.runs.exploration import Counts, Orders

_NUMBERS = {"never": 0, "once": 1, "twice": 2}
_ENDS = ("done", "cancelled", "failed", "stuck")
_NAME = r'("[^"]+"|\S+)'
_COMMA = re.compile(r', (?=(?:[^"]*"[^"]*")*[^"]*\Z)')  # One that does not stand between quotes.


def violations(orders: Orders, statements: Iterable[str]) -> list[str]:
    """Give the statements that do not hold, each with a shortest way to where it does not."""
    found = []
    for statement in statements:
        state = _violated(orders, statement)
        if state is not None:
            found.append(f"{statement}: {_told(orders, state)}")
    return found


def check_statements(statements: Iterable[str], tasks: Iterable[str]) -> None:
    """Refuse what is no statement about these tasks, before anything is explored."""
    from solvent.runs.exploration import Counts, Orders

    nothing = dict.fromkeys(tasks, 0)
    for statement in statements:
        _violated(Orders([Counts(nothing, nothing, nothing)], [None]), statement)


def _violated(orders: Orders, statement: str) -> int | None:
    """Give the first state in which a statement does not hold."""
    match = re.fullmatch(f"{_NAME} not after {_NAME}", statement)
    if match:
        late, first = _check_names(orders, statement, match.groups())
        for before, after in sorted(orders.edges):
            is_over = orders.states[before].done[first] > 0
            if is_over and orders.states[after].started[late] > orders.states[before].started[late]:
                return after
        return None
    holds, finals_only = _test(orders, statement)
    for at, state in enumerate(orders.states):
        if (state.is_final or not finals_only) and not holds(state):
            return at
    return None


def _test(orders: Orders, statement: str) -> tuple[Callable[[Counts], bool], bool]:
    """Read a statement about single states; tell whether it is about final ones only."""
    if match := re.fullmatch(f"{_NAME} before each {_NAME}", statement):
        first, second = _check_names(orders, statement, match.groups())
        return lambda state: state.started[second] <= state.done[first], False
    if match := re.fullmatch(f"{_NAME} before {_NAME}", statement):
        first, second = _check_names(orders, statement, match.groups())
        return lambda state: state.started[second] == 0 or state.done[first] > 0, False
    if match := re.fullmatch(f"{_NAME} (never|once|twice)", statement):
        (task,) = _check_names(orders, statement, match.groups()[:1])
        number = _NUMBERS[match[2]]
        return lambda state: state.started[task] == number, True
    if match := re.fullmatch(rf"{_NAME} runs (\d+)(?:\.\.(\d+))?", statement):
        (task,) = _check_names(orders, statement, match.groups()[:1])
        least, most = int(match[2]), int(match[3] or match[2])
        return lambda state: least <= state.started[task] <= most, True
    if match := re.fullmatch(r"(one|some) of (.+)", statement):
        tasks = _check_names(orders, statement, _COMMA.split(match[2]))
        limit = 1 if match[1] == "one" else inf
        return lambda state: 1 <= sum(state.started[task] for task in tasks) <= limit, True
    if match := re.fullmatch(r"(.+) apart", statement):
        tasks = _check_names(orders, statement, _COMMA.split(match[1]))
        return lambda state: sum(state.running[task] for task in tasks) <= 1, False
    if match := re.fullmatch(r"ends (.+)", statement):
        ends = match[1].split(" or ")
        if not set(ends) <= set(_ENDS):
            raise WorkflowProblem("W143", f"a workflow cannot end `{match[1]}`", hint=f"ends: {', '.join(_ENDS)}")
        return lambda state: state.end in ends, True
    raise WorkflowProblem("W143", f"`{statement}` is no statement about a workflow", hint="`A before B`, `C once` ...")


def _check_names(orders: Orders, statement: str, names: Iterable[str]) -> tuple[str, ...]:
    """Take the quotes off names, and refuse those that are of no task."""
    known = orders.states[0].done
    found = tuple(name if name in known else _unquoted(name) for name in names)
    for name in found:
        if name not in known:
            raise WorkflowProblem("W143", f"`{statement}` names `{name}`, which is not a task")
    return found


def _unquoted(name: str) -> str:
    return name[1:-1] if len(name) > 2 and name[0] == name[-1] == '"' else name


def _told(orders: Orders, state: int) -> str:
    """Tell a way to a state: what starts and what is done, in order."""
    events: list[str] = []
    before: Counts | None = None
    for one in orders.way_to(state):
        events += between(before, one)
        before = one
    final = orders.states[state]
    if final.is_final:
        events.append(f"ends {final.end}")
        events += final.stuck
    return ", ".join(events)


def between(before: Counts | None, after: Counts) -> list[str]:
    """Tell what happened between two states: first what ran is done or replaced, then the next starts."""
    ended: list[str] = []
    replaced: list[str] = []
    begun: list[str] = []
    over: list[str] = []
    for task, done in after.done.items():
        ends = done - (before.done[task] if before else 0)
        ran = min(ends, before.running[task] if before else 0)
        ended += [f"{task} done"] * ran
        over_to = after.replaced.get(task, 0) - (before.replaced.get(task, 0) if before else 0)
        replaced += [f"{task} replaced"] * over_to
        begun += [f"{task} starts"] * (after.started[task] - (before.started[task] if before else 0))
        over += [f"{task} done"] * (ends - ran)
    return [*ended, *replaced, *begun, *over]


__all__ = ["between", "check_statements", "violations"]
