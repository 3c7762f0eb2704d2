"""How a run that agents have stands, and who is there: what `solvent status` shows."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import RecordProblem, StoreError
from solvent.runs.agents.following import Following
from solvent.runs.agents.lacking import Lacking, can_serve, lacking, needs_of
from solvent.runs.agents.plans import (
    damaged_lease,
    ending_of,
    is_over,
    key_of,
    log_at,
    places_of,
    plan_of,
    standings,
    successor_of,
    workflow_of,
)
from solvent.runs.agents.presence import AgentSeen, see_agents
from solvent.runs.agents.refusing import ALL, refused
from solvent.runs.agents.troubles import room_problem
from solvent.store.leases import Holder, holder_from_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from solvent.runs.agents.plans import Ending, Plan
    from solvent.store import Store
    from solvent.workflows.model import Workflow


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


class Damaged(msgspec.Struct, frozen=True):
    """A key of a run that does not read: what is wrong, and what to do."""

    key: str
    why: str
    hint: str


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
    #: What does not read, so that nobody can take a place.
    damaged: tuple[Damaged, ...] = ()
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


def existing(store: Store, run: str) -> Plan:
    """Give the plan of a run; raise `RecordProblem` where there is none."""
    plan = plan_of(store, run)
    if plan is None:
        raise RecordProblem("R401", f"there is no run `{run}` of agents in this store")
    return plan


def see_run(store: Store, run: str, *, patience: float | None = None) -> RunSeen:
    """Look how a run stands."""
    plan = existing(store, run)
    workflow, ending = workflow_of(store, plan), ending_of(store, run)
    agents = tuple(see_agents(store, patience=0.0 if ending is not None else patience))
    following = Following(store, run, workflow, plan.created)
    for _ in following.news():
        pass
    parts, _ = places_of(workflow, plan)
    held, damaged = _held(store, run, plan)
    places = tuple(_places(held, parts, following))
    trouble = "" if ending is not None else _trouble(store, agents)
    return RunSeen(
        run=run,
        workflow=plan.name,
        created=plan.created,
        ending=ending,
        places=places,
        agents=agents,
        # Where there is no room nobody's heartbeat is written, so nobody knows who is alive.
        lacking=Lacking() if ending is not None or trouble else lacking(needs_of(workflow, parts), agents),
        calls=following.answers + len(following.out) + following.again.total(),
        again=following.again.total(),
        refusals=() if ending is not None else tuple(_refusals(store, run, places, agents)),
        damaged=() if ending is not None else damaged,
        trouble=trouble,
        successor="" if ending is None else successor_of(store, run),
    )


def _refusals(
    store: Store, run: str, places: tuple[PlaceSeen, ...], agents: tuple[AgentSeen, ...]
) -> Iterator[Refusal]:
    """Give what hinders a run, as living agents say."""
    alive = {one.name for one in agents if one.is_alive}
    free = {one.number for one in places if one.agent not in alive}
    for agent, said in sorted(refused(store, run).items()):
        for place, why in sorted(said.items()):
            if agent in alive and (place in free or (place == ALL and free)):
                yield Refusal(agent, None if place == ALL else place, why)


def _trouble(store: Store, agents: tuple[AgentSeen, ...]) -> str:
    alive = [one.name for one in agents if one.is_alive]
    # To find out by writing may take long, where somebody keeps the store locked; and it is not needed.
    return room_problem(store, alive, is_tried=bool(agents) and not alive)


def _held(store: Store, run: str, plan: Plan) -> tuple[dict[int, Holder], tuple[Damaged, ...]]:
    """Give who has each place; and the leases that do not read: nobody has a place by them."""
    below = key_of(run, "has") + "/"
    held, damaged = dict[int, Holder](), list[Damaged]()
    found = store.keys(below)
    for number in range(plan.places):
        key = f"{below}{number}"
        try:
            if key in found:
                held[number] = holder_from_entry(found[key])
        except StoreError as error:
            problem = damaged_lease(run, number, error)
            damaged.append(Damaged(key, problem.message, problem.hint))
    return held, tuple(damaged)


def _places(held: dict[int, Holder], parts: list[frozenset[str]], following: Following) -> list[PlaceSeen]:
    out = Counter(place for place, _ in following.out.values())
    found = []
    for number, names in enumerate(parts):
        ends = Counter(following.ends[name] for name in names if name in following.ends)
        holder = held.get(number)
        agent, epoch = (holder.agent, holder.epoch) if holder is not None else ("", 0)
        found.append(PlaceSeen(number, agent, epoch, len(names), ends["done"], ends["failed"], out[number]))
    return found


def who_goes_on(store: Store, run: str, workflow: Workflow, agents: Iterable[AgentSeen]) -> list[str]:
    """Name the living agents that something can still happen with.

    These have a place at which not all is done that can be, or offer all services of one that no living agent has.
    """
    alive = {one.name: one for one in agents if one.is_alive}
    plan = existing(store, run)
    held, _ = _held(store, run, plan)
    needs = needs_of(workflow, places_of(workflow, plan)[0])
    told, parts = standings(store, run), store.keys(key_of(run, "part") + "/")
    has_all_told = is_over(told, plan.places)
    found = dict[str, None]()
    for number in range(plan.places):
        if key_of(run, "part", number) in parts:
            # How its tasks are is known already.
            continue
        if number not in held or held[number].agent not in alive:
            found |= dict.fromkeys(name for name, one in alive.items() if can_serve(one, needs[number]))
        elif has_all_told or number not in told or told[number].position != store.last(log_at(run, number)):
            found[held[number].agent] = None
    return list(found)


def lasted(plan: Plan, ending: Ending | None) -> float:
    """Give for how long a run has been there, by the clocks of who submitted and who ended it."""
    return max(0.0, (time.time() if ending is None else ending.at) - plan.created)


__all__ = [
    "Damaged",
    "PlaceSeen",
    "Refusal",
    "RunSeen",
    "existing",
    "lasted",
    "see_run",
    "who_goes_on",
]
