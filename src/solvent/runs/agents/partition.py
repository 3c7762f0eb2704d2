"""Divides a workflow into shards: parts that live with one agent at a time, each.

Tasks that an alternative watches are together, since the rule that applies it looks at all of them. A task goes with
the only one it waits for, if that has no other to pass to: chains are not torn apart. The rest is dealt out in the
order in which tasks can begin, so that what can be done at the same time is at different shards; but a task goes where
most of what it waits for is, if not more than one too many would be there: what need not be said costs nothing. Where
no agent offers all services, each shard has only tasks that one of them can do, and chains are torn for that. A
workflow whose tasks join and split by patterns, or share resources, is one shard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.runs.registry import MAX_SHARDS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from solvent.workflows.model import Workflow

MIN_PLACES = 16
TASKS_PER_PLACE = 64
_ANYBODY = frozenset({""})


def places_for(workflow: Workflow) -> int:
    """Say into how many shards to divide a workflow at most: many agents have work, and do not only talk."""
    return max(MIN_PLACES, min(MAX_SHARDS, len(workflow.tasks) // TASKS_PER_PLACE))


def divided(
    workflow: Workflow, max_shards: int, offered: Mapping[str, frozenset[str]] | None = None
) -> list[list[str]]:
    """Give the tasks of each shard; `offered` says who offers each service, if that matters."""
    names = [task.name for task in workflow.tasks]
    if _is_whole(workflow) or max_shards == 1 or not names:
        return [names]
    groups = _Groups({one.name: offered[one.service] if offered else _ANYBODY for one in workflow.tasks})
    for alternative in workflow.alternatives:
        first, *others = alternative.watched
        for other in others:
            groups.join(first, other)
    onward = workflow.destinations
    for task in workflow.tasks:
        if len(task.sources) == 1 and len(onward[task.sources[0]]) == 1 and groups.fit(task.sources[0], task.name):
            groups.join(task.sources[0], task.name)
    found: dict[str, list[str]] = {}
    for name in _in_order(workflow):
        found.setdefault(groups.of(name), []).append(name)
    kinds: dict[frozenset[str], list[list[str]]] = {}
    for first, names in found.items():
        kinds.setdefault(groups.able(first), []).append(names)
    count, shards = min(max_shards, len(found)), list[list[str]]()
    for some in kinds.values():
        shards += _dealt(workflow, some, max(1, count * len(some) // len(found)))
    return shards if len(shards) <= MAX_SHARDS else divided(workflow, max_shards)


def are_together(workflow: Workflow, shards: Sequence[Collection[str]]) -> bool:
    """Whether all is at one shard, each, that must be: somebody else may have divided."""
    if len(shards) == 1 or not (workflow.alternatives or _is_whole(workflow)):
        return True
    where = {name: number for number, names in enumerate(shards) for name in names}
    return not _is_whole(workflow) and all(
        len({where.get(name) for name in one.watched}) == 1 for one in workflow.alternatives
    )


def _is_whole(workflow: Workflow) -> bool:
    return workflow.is_controlled or bool(workflow.resources)


def _dealt(workflow: Workflow, groups: list[list[str]], count: int) -> list[list[str]]:
    """Deal groups out to shards: to where what they wait for is, or to the next that has the fewest."""
    shards: list[list[str]] = [[] for _ in range(count)]
    sizes, where, tasks, following = [0] * count, dict[str, int](), workflow.by_name, 0
    for number, group in enumerate(groups):
        fair = number // count
        # Each shard has one before any has two.
        near = [where[one] for name in group for one in tasks[name].sources if one in where] if fair else []
        close = [shard for shard in near if sizes[shard] <= fair + 1]
        if close:
            *_, shard = max((close.count(one), -sizes[one], one) for one in close)
        else:
            while sizes[following] > fair:
                following = (following + 1) % count
            shard, following = following, (following + 1) % count
        sizes[shard] += 1
        shards[shard] += group
        where.update(dict.fromkeys(group, shard))
    return shards


def _in_order(workflow: Workflow) -> list[str]:
    """Give tasks such that each comes after those it waits for; tasks in a circle, which no check lets by, last."""
    missing = {task.name: len(task.sources) for task in workflow.tasks}
    onward = workflow.destinations
    ready = [name for name, count in missing.items() if not count]
    for name in ready:
        for later in onward[name]:
            missing[later] -= 1
            if not missing[later]:
                ready.append(later)
    done = set(ready)
    return ready + [name for name in missing if name not in done]


class _Groups:
    """Names that belong together."""

    def __init__(self, able: Mapping[str, frozenset[str]]) -> None:
        """`able`: who can do each."""
        self._above = {name: name for name in able}
        self._able = dict(able)

    def of(self, name: str) -> str:
        """Give the one that stands for a name's group."""
        above = self._above
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    def join(self, one: str, other: str) -> None:
        """Make one group of two."""
        one, other = self.of(one), self.of(other)
        self._able[one] &= self._able[other]
        self._above[other] = one

    def fit(self, one: str, other: str) -> bool:
        """Whether somebody can do all of two groups."""
        return not self.able(one).isdisjoint(self.able(other))

    def able(self, name: str) -> frozenset[str]:
        """Give who can do all of a name's group."""
        return self._able[self.of(name)]


__all__ = ["are_together", "divided", "places_for"]
