"""Divides a workflow into shards: parts that live with one agent at a time, each.

Tasks that rules join are together: those that an alternative watches, since the rule that applies it looks at all of
them, and those that `Relations.joined` yields. A task goes with the only one it waits for, if that has no other to pass
to: chains are not torn apart. The rest is dealt out in the order in which tasks can begin, so that what can be done at
the same time is at different shards; but a task goes where most of what it waits for is, if not more than one too many
would be there: what need not be said costs nothing. Where no agent offers all services, each shard has only tasks that
one of them can do, and chains are torn for that.

Some workflows are one shard: one that has resources, which are with one agent; one with rules of the user's own,
which may join any tasks; and one that a task may end, since all others must hear of that at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.workflows.forms import forms_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from solvent.workflows.model import Workflow

MAX_SHARDS = 64
MIN_SHARDS = 16
TASKS_PER_SHARD = 64
_ANYBODY = frozenset({""})


def shards_for(workflow: Workflow) -> int:
    """Return into how many shards to divide a workflow at most: many agents have work, and do not only talk."""
    return max(MIN_SHARDS, min(MAX_SHARDS, len(workflow.tasks) // TASKS_PER_SHARD))


def divided(
    workflow: Workflow, max_shards: int, offered: Mapping[str, frozenset[str]] | None = None
) -> list[list[str]]:
    """Return the tasks of each shard; `offered` says who offers each service, if that matters."""
    names = [task.name for task in workflow.tasks]
    if _is_whole(workflow) or max_shards == 1 or not names:
        return [names]
    groups = _joined_groups(workflow, offered)
    onward, sources = _arcs(workflow)
    for task in workflow.tasks:
        before = sources[task.name]
        if len(before) == 1 and len(onward[before[0]]) == 1 and groups.fit(before[0], task.name):
            groups.join(before[0], task.name)
    found: dict[str, list[str]] = {}
    for name in _in_order(sources, onward):
        found.setdefault(groups.of(name), []).append(name)
    kinds: dict[frozenset[str], list[list[str]]] = {}
    for first, names in found.items():
        kinds.setdefault(groups.able(first), []).append(names)
    count, shards = min(max_shards, len(found)), list[list[str]]()
    for some in kinds.values():
        shards += _dealt(sources, some, max(1, count * len(some) // len(found)))
    return shards if len(shards) <= MAX_SHARDS else divided(workflow, max_shards)


def finest(workflow: Workflow) -> list[list[str]]:
    """Return the tasks that must be together, and each other one alone: no division is finer."""
    if _is_whole(workflow):
        return [[task.name for task in workflow.tasks]]
    groups = _joined_groups(workflow, None)
    found: dict[str, list[str]] = {}
    for task in workflow.tasks:
        found.setdefault(groups.of(task.name), []).append(task.name)
    return [*found.values()]


def are_together(workflow: Workflow, shards: Sequence[Collection[str]]) -> bool:
    """Return whether all is at one shard, each, that must be: somebody else may have divided."""
    if len(shards) == 1:
        return True
    where = {name: number for number, names in enumerate(shards) for name in names}
    return not _is_whole(workflow) and all(len({where.get(name) for name in some}) == 1 for some in _joined(workflow))


def _is_whole(workflow: Workflow) -> bool:
    return bool(
        workflow.resources
        or workflow.patterns
        or any(task.control is not None and task.control.ends for task in workflow.tasks)
    )


def _joined(workflow: Workflow) -> Iterator[list[str]]:
    """Yield tasks that rules join."""
    forms = forms_of(workflow)
    for alternative in workflow.alternatives:
        if alternative.name in forms.swapped:
            # What stands in for a task is called in its instance.
            yield [name for exit_ in alternative.exits.items() for name in exit_]
        else:
            yield [*alternative.watched]
    if forms.relations is not None:
        yield from forms.relations.joined()


def _joined_groups(workflow: Workflow, offered: Mapping[str, frozenset[str]] | None) -> _Groups:
    groups = _Groups(
        {
            one.name: frozenset.intersection(*(offered[name] for name in one.services)) if offered else _ANYBODY
            for one in workflow.tasks
        }
    )
    for first, *others in _joined(workflow):
        for other in others:
            groups.join(first, other)
    return groups


def _arcs(workflow: Workflow) -> tuple[Mapping[str, Sequence[str]], dict[str, list[str]]]:
    """Return to whom each task passes, and from whom it gets something."""
    onward = workflow.destinations
    sources: dict[str, list[str]] = {task.name: [] for task in workflow.tasks}
    for name, later in onward.items():
        for one in later:
            sources[one].append(name)
    return onward, sources


def _dealt(sources: Mapping[str, Sequence[str]], groups: list[list[str]], count: int) -> list[list[str]]:
    """Deal groups out to shards: to where what they wait for is, or to the next that has the fewest."""
    shards: list[list[str]] = [[] for _ in range(count)]
    sizes, where, following = [0] * count, dict[str, int](), 0
    for number, group in enumerate(groups):
        fair = number // count
        # Each shard has one before any has two.
        near = [where[one] for name in group for one in sources[name] if one in where] if fair else []
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


def _in_order(sources: Mapping[str, Sequence[str]], onward: Mapping[str, Sequence[str]]) -> list[str]:
    """Return tasks such that each comes after those it waits for; tasks in a circle last."""
    missing = {name: len(before) for name, before in sources.items()}
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
        """Return the one that stands for a name's group."""
        above = self._above
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    def join(self, one: str, other: str) -> None:
        """Make one group of two."""
        one, other = self.of(one), self.of(other)
        if one == other:
            return
        self._able[one] &= self._able[other]
        self._above[other] = one

    def fit(self, one: str, other: str) -> bool:
        """Return whether somebody can do all of two groups."""
        return not self.able(one).isdisjoint(self.able(other))

    def able(self, name: str) -> frozenset[str]:
        """Return who can do all of a name's group."""
        return self._able[self.of(name)]


__all__ = ["MAX_SHARDS", "are_together", "divided", "finest", "shards_for"]
