"""How a run that agents have stands, and who is there: what `solvent status` shows.

Whether an agent is alive cannot be read, only seen: its pulse changes (see `leases`). So whoever looks once waits for
a moment, until each agent's pulse has changed, or for a part of the time after which others presume it dead.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import RecordProblem, SpaceError
from solvent.live.space.leases import AGENTS, TTL, holder_from_entry, pulse_from_value
from solvent.running.agents.following import Following
from solvent.running.agents.offers import mark_of
from solvent.running.agents.plans import ending_of, key_of, places_of, plan_of, successor_of, workflow_of
from solvent.running.agents.refusing import ALL, refused
from solvent.running.agents.troubles import room_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.live.space import Space
    from solvent.running.agents.plans import Ending, Plan
    from solvent.workflow.model import Workflow

PART_OF_TTL = 0.6
#: Where more depends on it than what is shown: a machine may be busy.
SURE_PART_OF_TTL = 1.5
LOOK_SECONDS = 0.05
SECONDS_MAX = 10.0


class AgentSeen(msgspec.Struct, frozen=True):
    """An agent: what it says of itself, and whether its pulse was seen to change."""

    name: str
    is_alive: bool
    host: str = ""
    pid: int = 0
    started: float = 0.0
    services: dict[str, str] = {}
    trusts_all: bool = False


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
    #: Services that it needs and no living agent offers.
    missing: tuple[str, ...]
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


def see_agents(space: Space, *, patience: float | None = None, part: float = PART_OF_TTL) -> list[AgentSeen]:
    """Look who is there; `patience` is how long to wait for pulses at most (nothing: this part of what they last)."""
    before = space.keys(AGENTS)
    told = {name: _about(entry.value) for name, entry in before.items()}
    beaten = set[str]()
    lasts = max((_number(one.get("ttl"), TTL) for one in told.values()), default=0.0)
    until = time.monotonic() + min(SECONDS_MAX, lasts * part if patience is None else patience)
    while len(beaten) < len(before) and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
        now = space.keys(AGENTS)
        beaten |= {name for name, entry in now.items() if name not in before or entry != before[name]}
        told |= {name: _about(entry.value) for name, entry in now.items()}
        before = {name: entry for name, entry in before.items() if name in now}
    return [
        _seen(name.removeprefix(AGENTS), told[name], is_alive=name in beaten) for name in sorted({*before, *beaten})
    ]


def see_run(space: Space, run: str, *, patience: float | None = None) -> RunSeen:
    """Look how a run stands."""
    plan = existing(space, run)
    workflow, ending = workflow_of(space, plan), ending_of(space, run)
    agents = tuple(see_agents(space, patience=0.0 if ending is not None else patience))
    following = Following(space, run, workflow, plan.created)
    for _ in following.news():
        pass
    places = tuple(_places(space, run, plan, workflow, following))
    return RunSeen(
        run=run,
        workflow=plan.name,
        created=plan.created,
        ending=ending,
        places=places,
        agents=agents,
        missing=() if ending is not None else tuple(_missing(workflow, agents)),
        calls=following.answers + len(following.out) + following.again.total(),
        again=following.again.total(),
        refusals=() if ending is not None else tuple(_refusals(space, run, places, agents)),
        trouble="" if ending is not None else _trouble(space, agents),
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


def _places(space: Space, run: str, plan: Plan, workflow: Workflow, following: Following) -> list[PlaceSeen]:
    below = key_of(run, "has") + "/"
    held = {int(key.removeprefix(below)): holder_from_entry(entry) for key, entry in space.keys(below).items()}
    parts, _ = places_of(workflow, plan)
    out = Counter(place for place, _ in following.out.values())
    found = []
    for number, names in enumerate(parts):
        ends = Counter(following.ends[name] for name in names if name in following.ends)
        holder = held.get(number)
        agent, epoch = (holder.agent, holder.epoch) if holder is not None else ("", 0)
        found.append(PlaceSeen(number, agent, epoch, len(names), ends["done"], ends["failed"], out[number]))
    return found


def _missing(workflow: Workflow, agents: tuple[AgentSeen, ...]) -> list[str]:
    alive = [one for one in agents if one.is_alive]
    if any(one.trusts_all for one in alive):
        return []
    used = {task.service for task in workflow.tasks}
    return sorted(
        one.name
        for one in workflow.services
        if one.name in used and not any(agent.services.get(one.name) == mark_of(one) for agent in alive)
    )


def _about(value: bytes) -> dict[str, Any]:
    try:
        return pulse_from_value(value)
    except SpaceError:
        # Somebody else's key: it is shown, and nothing of it is believed.
        return {}


def _seen(name: str, about: dict[str, Any], *, is_alive: bool) -> AgentSeen:
    services = about.get("services")
    return AgentSeen(
        name,
        is_alive,
        host=str(about.get("host", ""))[:100],
        pid=int(_number(about.get("pid"), 0)),
        started=_number(about.get("started"), 0.0),
        services={str(one): str(mark) for one, mark in services.items()} if isinstance(services, dict) else {},
        trusts_all=about.get("trusts_all") is True,
    )


def _number(value: Any, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) and value == value else otherwise  # noqa: PLR0124 - not a number


def lasted(plan: Plan, ending: Ending | None) -> float:
    """Give for how long a run has been there, by the clocks of who submitted and who ended it."""
    return max(0.0, (time.time() if ending is None else ending.at) - plan.created)


__all__ = [
    "AgentSeen",
    "PlaceSeen",
    "Refusal",
    "RunSeen",
    "existing",
    "lasted",
    "see_agents",
    "see_run",
]
