"""What a run needs that living agents do not offer: services that nobody has, and those that nobody has together.

A shard is with one agent, so one of them must have all services of its tasks. A workflow is divided by what agents
offer when it is submitted (see `workflows/shards`); those that come and go later may have the same services otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from solvent.runs.agents.offers import mark_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from solvent.runs.agents.presence import AgentSeen
    from solvent.workflows.model import Workflow


class Lacking(msgspec.Struct, frozen=True):
    """Services that no living agent offers, and those of a shard that several offer, and no one all of them."""

    missing: tuple[str, ...] = ()
    apart: tuple[tuple[str, ...], ...] = ()

    def lines(self) -> list[str]:
        """Say it, and what to do."""
        found = [f"no living agent offers: {', '.join(self.missing)}"] if self.missing else []
        for names in self.apart:
            both = "both" if len(names) == 2 else "all of"
            what = "start one with the files of all of them: `solvent agent --services FILE FILE`"
            found.append(f"no living agent offers {both}: {', '.join(names)}; {what}")
        return found


def marks_of(workflow: Workflow) -> dict[str, str]:
    """Give the services that tasks call, each with the mark by which agents know it."""
    used = {task.service for task in workflow.tasks}
    return {one.name: mark_of(one) for one in workflow.services if one.name in used}


def needs_of(workflow: Workflow, shards: Iterable[Collection[str]]) -> list[dict[str, str]]:
    """Give the services that each shard needs."""
    marks, calls = marks_of(workflow), {task.name: task.service for task in workflow.tasks}
    return [{calls[name]: marks[calls[name]] for name in names} for names in shards]


def lacking(needs: Sequence[Mapping[str, str]], agents: Iterable[AgentSeen]) -> Lacking:
    """Say what living agents do not offer of what shards need."""
    alive = [one for one in agents if one.is_alive]
    everything = {name: mark for one in needs for name, mark in one.items()}
    missing = everything.keys() - {name for one in alive for name in _offered(one, everything)}
    apart = {
        tuple(sorted(one))
        for one in needs
        if missing.isdisjoint(one) and not any(can_serve(agent, one) for agent in alive)
    }
    return Lacking(tuple(sorted(missing)), tuple(sorted(apart)))


def offered_apart(marks: Mapping[str, str], agents: Iterable[AgentSeen]) -> dict[str, frozenset[str]]:
    """Give who offers each service, if living agents offer all of them together, and none of them all; else nothing."""
    alive = [one for one in agents if one.is_alive]
    if not lacking([marks], alive).apart:
        return {}
    return {name: frozenset(one.name for one in alive if name in _offered(one, marks)) for name in marks}


def can_serve(agent: AgentSeen, needs: Mapping[str, str]) -> bool:
    """Whether an agent offers all services that a shard needs."""
    return len(_offered(agent, needs)) == len(needs)


def has_a_part(agent: AgentSeen, marks: Mapping[str, str]) -> bool:
    """Whether an agent offers some of these services, and not all of them."""
    return 0 < len(_offered(agent, marks)) < len(marks)


def _offered(agent: AgentSeen, needs: Mapping[str, str]) -> set[str]:
    return {name for name, mark in needs.items() if agent.trusts_all or (mark and agent.services.get(name) == mark)}


__all__ = ["Lacking", "can_serve", "has_a_part", "lacking", "marks_of", "needs_of", "offered_apart"]
