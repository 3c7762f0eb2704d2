"""The one order that a run has taken, out of what was noted of it, for the statements of examples."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from solvent.runs.exploration import Counts, Orders
from solvent.runs.projection import CallChanged, Follower

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow

_OVER = ("done", "cancelled", "failed")


def order_of(
    workflow: Workflow,
    happened: Iterable[tuple[str, str]],
    *,
    stuck: list[str],
    is_ended: bool,
    is_cancelled: bool,
) -> Orders:
    """Make an order of what happened to which task; instances of a task and its calls are one run of it."""
    several = {task.name for task in workflow.tasks if task.each or (task.control and task.control.many)}
    started, done, over = Counter[str](), Counter[str](), Counter[str]()
    orders = Orders()

    def add() -> None:
        counts = [{one.name: number[one.name] for one in workflow.tasks} for number in (started, done, over)]
        running = {name: counts[0][name] - counts[2][name] for name in counts[0]}
        orders.states.append(Counts(counts[0], running, counts[1]))
        if len(orders.states) > 1:
            orders.edges.add((len(orders.states) - 2, len(orders.states) - 1))
        orders.came_from.append(len(orders.states) - 2 if len(orders.states) > 1 else None)

    add()
    for name, kind in happened:
        is_first = name not in several or not started[name]
        if kind == "started" and is_first:
            started[name] += 1
        elif kind in _OVER and over[name] < started[name] and (name not in several or not over[name]):
            over[name] += 1
            done[name] += kind == "done"
        add()
    last = orders.states[-1]
    last.is_final, last.stuck = True, stuck
    last.is_ended, last.is_cancelled = is_ended, is_cancelled
    return orders


def happened_in_store(store: Store, record: RunRecord) -> list[tuple[str, str]]:
    """Return what happened to which task, in the order in which the store has it."""
    follower = Follower(store, record)
    return [
        (one.call.task, "started" if one.what == "called" else one.what)
        for one in follower.news()
        if isinstance(one, CallChanged)
        # One that is made again has begun before.
        and not one.call.within
        and not (one.what == "called" and one.call.is_repeated)
    ]


def statements_about_runs(
    workflow: Workflow, statements: Iterable[str], shards: Sequence[Collection[str]] = ()
) -> list[str]:
    """Return the statements that can be told of a run; `shards` are the tasks of each, where there are several.

    What is completed may go on before any of its instances is done. And a task may begin until its shard hears that
    another one, at another shard, is done: the store does not say when that was.
    """
    completed = tuple(f"{name} before" for one in workflow.tasks if one.control for name in one.control.completes)
    where = {name: number for number, names in enumerate(shards) for name in names}

    def can_be_told(statement: str) -> bool:
        late, _, first = statement.partition(" not after ")
        return not (completed and statement.startswith(completed)) and (
            not first or where.get(late) == where.get(first)
        )

    return [one for one in statements if can_be_told(one)]


__all__ = ["happened_in_store", "order_of", "statements_about_runs"]
