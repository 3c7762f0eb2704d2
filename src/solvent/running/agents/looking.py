"""How a run that agents have stands, and who is there: what `solvent status` shows."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import RecordProblem
from solvent.live.space.leases import holder_from_entry
from solvent.running.agents.following import Following
from solvent.running.agents.lacking import Lacking, lacking, needs_of
from solvent.running.agents.plans import ending_of, key_of, places_of, plan_of, successor_of, workflow_of
from solvent.running.agents.presence import AgentSeen, see_agents
from solvent.running.agents.refusing import ALL, refused
from solvent.running.agents.troubles import room_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.live.space import Space
    from solvent.running.agents.plans import Ending, Plan


class PlaceSeen(msgspec.Struct, frozen=True):
    """A place: who has it, in which epoch, how many tasks it has, and how these are."""

    number: int
    agent: str
    epoch: int
    tasks: int
    done: int
    failed: int
    out: int

    @property
    def waiting(self) -> int:
        """How many of its tasks were not called yet."""
        return max(0, self.tasks - self.done - self.failed - self.out)


class Refusal(msgspec.Struct, frozen=True):
    """An agent that cannot open a place (nothing: any), and why."""

    agent: str
    place: int | None
    why: str


class RunSeen(msgspec.Struct, frozen=True):
    """A run."""

    run: str
    workflow: str
    created: float
    ending: Any
    places: tuple[PlaceSeen, ...]
    agents: tuple[AgentSeen, ...]
    lacking: Lacking
    calls: int
    again: int
    #: What living agents cannot do, of places that no living agent has.
    refusals: tuple[Refusal, ...] = ()
    #: What keeps agents from their work.
    trouble: str = ""
    #: The run that goes on with this one, which is over.
    successor: str = ""

    @property
    def state(self) -> str:
        """`done`, `failed`, `cancelled`; or `running`, or `waiting` where nobody alive has any of its places."""
        if self.ending is not None:
            return str(self.ending.state)
        alive = {one.name for one in self.agents if one.is_alive}
        return "running" if any(place.agent in alive for place in self.places) else "waiting"


def existing(space: Space, run: str) -> Plan:
    """Give the plan of a run; raise `RecordProblem` where there is none."""
    plan = plan_of(space, run)
    if plan is None:
        raise RecordProblem("R401", f"there is no run `{run}` of agents in this space")
    return plan


def see_run(space: Space, run: str, *, patience: float | None = None) -> RunSeen:
    """Look how a run stands."""
    plan = existing(space, run)
    workflow, ending = workflow_of(space, plan), ending_of(space, run)
    agents = tuple(see_agents(space, patience=0.0 if ending is not None else patience))
    following = Following(space, run, workflow, plan.created)
    for _ in following.news():
        pass
    parts, _ = places_of(workflow, plan)
    places = tuple(_places(space, run, parts, following))
    trouble = "" if ending is not None else _trouble(space, agents)
    return RunSeen(
        run=run,
        workflow=plan.name,
        created=plan.created,
        ending=ending,
        places=places,
        agents=agents,
        # Where there is no room nobody's pulse is written, so nobody knows who is alive.
        lacking=Lacking() if ending is not None or trouble else lacking(needs_of(workflow, parts), agents),
        calls=following.answers + len(following.out) + following.again.total(),
        again=following.again.total(),
        refusals=() if ending is not None else tuple(_refusals(space, run, places, agents)),
        trouble=trouble,
        successor="" if ending is None else successor_of(space, run),
    )


def _refusals(
    space: Space, run: str, places: tuple[PlaceSeen, ...], agents: tuple[AgentSeen, ...]
) -> Iterator[Refusal]:
    """Give what hinders a run, as living agents say."""
    alive = {one.name for one in agents if one.is_alive}
    free = {one.number for one in places if one.agent not in alive}
    for agent, said in sorted(refused(space, run).items()):
        for place, why in sorted(said.items()):
            if agent in alive and (place in free or (place == ALL and free)):
                yield Refusal(agent, None if place == ALL else place, why)


def _trouble(space: Space, agents: tuple[AgentSeen, ...]) -> str:
    alive = [one.name for one in agents if one.is_alive]
    # To find out by writing may take long, where somebody keeps the space locked; and it is not needed.
    return room_problem(space, alive, is_tried=bool(agents) and not alive)


def _places(space: Space, run: str, parts: list[frozenset[str]], following: Following) -> list[PlaceSeen]:
    below = key_of(run, "has") + "/"
    held = {int(key.removeprefix(below)): holder_from_entry(entry) for key, entry in space.keys(below).items()}
    out = Counter(place for place, _ in following.out.values())
    found = []
    for number, names in enumerate(parts):
        ends = Counter(following.ends[name] for name in names if name in following.ends)
        holder = held.get(number)
        agent, epoch = (holder.agent, holder.epoch) if holder is not None else ("", 0)
        found.append(PlaceSeen(number, agent, epoch, len(names), ends["done"], ends["failed"], out[number]))
    return found


def lasted(plan: Plan, ending: Ending | None) -> float:
    """Give for how long a run has been there, by the clocks of who submitted and who ended it."""
    return max(0.0, (time.time() if ending is None else ending.at) - plan.created)


__all__ = [
    "PlaceSeen",
    "Refusal",
    "RunSeen",
    "existing",
    "lasted",
    "see_run",
]
