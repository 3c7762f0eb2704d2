"""How a run stands, and who is there: what `solvent status` shows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from solvent.errors import StoreError
from solvent.runs.agents.membership import AgentSeen, Lacking, can_serve, lacking, needs_of, see_agents
from solvent.runs.agents.refusals import ALL, refused
from solvent.runs.agents.shards import is_over, standings
from solvent.runs.agents.store_outage import room_problem
from solvent.runs.closed_shards import report_of
from solvent.runs.holders import damaged_lease, status_of
from solvent.runs.projection import view_of
from solvent.runs.registry import existing, journal_of, key_of, shards_of, workflow_of
from solvent.store.leases import Holder, holder_from_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from solvent.runs.projection import RunView
    from solvent.runs.registry import RunRecord
    from solvent.runs.report import Failed
    from solvent.store import Store
    from solvent.workflows.model import Workflow


class ShardSeen(msgspec.Struct, frozen=True):
    """A shard: who has it, in which epoch, how many tasks it has, and how these are."""

    number: int
    agent: str
    epoch: int
    tasks: int
    done: int
    failed: int
    out: int
    waiting: int
    #: How many of its calls are out at other agents, by their names.
    elsewhere: dict[str, int] = {}


class Refusal(msgspec.Struct, frozen=True):
    """An agent that cannot open a shard (nothing: any), and why."""

    agent: str
    shard: int | None
    why: str


class Damaged(msgspec.Struct, frozen=True):
    """A key of a run that does not read: what is wrong, and what to do."""

    key: str
    why: str
    hint: str


class RunSeen(msgspec.Struct, frozen=True):
    """A run; of one that no agents run, who else is there means nothing."""

    record: RunRecord
    view: RunView
    #: `done`, `failed`, `cancelled`; or `running`, `waiting` where only people can let it go on, `queued` where nobody
    #: alive has any of its shards; or, of a run of one process, `stopped` or `interrupted`.
    state: str
    shards: tuple[ShardSeen, ...]
    #: The states of its tasks; of a run that has ended those of its report.
    states: dict[str, str]
    #: What failed for good, in a run that has ended.
    failures: tuple[Failed, ...] = ()
    agents: tuple[AgentSeen, ...] = ()
    lacking: Lacking = Lacking()
    #: What living agents cannot do, of shards that no living agent has.
    refusals: tuple[Refusal, ...] = ()
    #: What does not read, so that nobody can take a shard.
    damaged: tuple[Damaged, ...] = ()
    #: What keeps agents from their work.
    trouble: str = ""


def see_run(store: Store, run: str, *, patience: float | None = None) -> RunSeen:
    """Look how a run stands."""
    record = existing(store, run)
    workflow = workflow_of(store, record) if record.by_agents else None
    view = view_of(store, record)
    parts = [frozenset(view.tasks)] if workflow is None else shards_of(workflow, record)[0]
    held, damaged = _held(store, record)
    shards = tuple(_shards(held, parts, view))
    report = report_of(store, record, workflow) if record.has_ended else None
    status = status_of(store, record)
    states = view.open_states if report is None else report.states
    seen = RunSeen(
        record=record,
        view=view,
        state="waiting" if status == "running" and view.is_waiting else status,
        shards=shards,
        states={name: "waiting" if one == "asleep" else one for name, one in _with_inner(view, states).items()},
        failures=() if report is None else tuple(report.failures),
        damaged=() if record.has_ended else damaged,
    )
    if workflow is None or record.has_ended:
        return seen
    agents = tuple(see_agents(store, patience=patience))
    alive = {one.name for one in agents if one.is_alive}
    trouble = _trouble(store, agents)
    return replace(
        seen,
        state=seen.state if view.is_waiting or any(one.agent in alive for one in shards) else "queued",
        agents=agents,
        # Where there is no room nobody's heartbeat is written, so nobody knows who is alive.
        lacking=Lacking() if trouble else lacking(needs_of(workflow, parts), agents),
        refusals=tuple(_refusals(store, run, shards, agents)),
        trouble=trouble,
    )


def _with_inner(view: RunView, states: dict[str, str]) -> dict[str, str]:
    """Return the states of all tasks: those inside a sub-workflow follow the one that calls it."""
    inside: dict[str, list[str]] = {}
    for one in view.inner.values():
        inside.setdefault(one.task, []).extend(one.tasks.values())
    found: dict[str, str] = {}
    todo = list(reversed([*states]))
    while todo:
        name = todo.pop()
        found[name] = states.get(name) or view.states[name]
        todo += reversed([label for label in inside.get(name, ()) if label not in found])
    return found


def _refusals(
    store: Store, run: str, shards: tuple[ShardSeen, ...], agents: tuple[AgentSeen, ...]
) -> Iterator[Refusal]:
    """Give what hinders a run, as living agents say."""
    alive = {one.name for one in agents if one.is_alive}
    free = {one.number for one in shards if one.agent not in alive}
    for agent, said in sorted(refused(store, run).items()):
        for shard, why in sorted(said.items()):
            if agent in alive and (shard in free or (shard == ALL and free)):
                yield Refusal(agent, None if shard == ALL else shard, why)


def _trouble(store: Store, agents: tuple[AgentSeen, ...]) -> str:
    alive = [one.name for one in agents if one.is_alive]
    # To find out by writing may take long, where somebody keeps the store locked; and it is not needed.
    return room_problem(store, alive, is_tried=bool(agents) and not alive)


def _held(store: Store, record: RunRecord) -> tuple[dict[int, Holder], tuple[Damaged, ...]]:
    """Return who has each shard; and the leases that do not read: nobody has a shard by them."""
    below = key_of(record.prefix, "lease") + "/"
    held, damaged = dict[int, Holder](), list[Damaged]()
    found = store.keys(below)
    for number in range(record.shards):
        key = f"{below}{number}"
        try:
            if key in found:
                held[number] = holder_from_entry(found[key])
        except StoreError as error:
            problem = damaged_lease(record.prefix, number, error)
            damaged.append(Damaged(key, problem.message, problem.hint))
    return held, tuple(damaged)


def _shards(held: dict[int, Holder], parts: list[frozenset[str]], view: RunView) -> Iterator[ShardSeen]:
    out = Counter(call.shard for call in view.out.values())
    elsewhere: dict[int, Counter[str]] = {}
    for call in view.out.values():
        if call.is_elsewhere:
            elsewhere.setdefault(call.shard, Counter())[call.agent] += 1
    # One that was replaced has been done, or has failed, before.
    ends = {call.task: call.state for call in view.calls if call.state in {"done", "failed"}}
    for number, names in enumerate(parts):
        found = ((name, view.states[name]) for name in names)
        states = Counter(ends.get(name, state) if state == "replaced" else state for name, state in found)
        holder = held.get(number)
        agent, epoch = (holder.agent, holder.epoch) if holder is not None else ("", 0)
        waiting = states["waiting"] + states["interrupted"]
        done, failed, asked = states["done"], states["failed"], dict(elsewhere.get(number, {}))
        yield ShardSeen(number, agent, epoch, len(names), done, failed, out[number], waiting, asked)


def who_goes_on(store: Store, record: RunRecord, workflow: Workflow, agents: Iterable[AgentSeen]) -> list[str]:
    """Return the living agents that something can still happen with.

    These have a shard at which not all is done that can be, or offer all services of one that no living agent has.
    """
    alive = {one.name: one for one in agents if one.is_alive}
    held, _ = _held(store, record)
    needs = needs_of(workflow, shards_of(workflow, record)[0])
    told = standings(store, record.prefix)
    has_all_told = is_over(told, record.shards)
    found = dict[str, None]()
    for number in range(record.shards):
        if number in told and told[number].is_closed:
            # How its tasks are is known already.
            continue
        if number not in held or held[number].agent not in alive:
            found |= dict.fromkeys(name for name, one in alive.items() if can_serve(one, needs[number]))
        elif (
            has_all_told or number not in told or told[number].position != store.last(journal_of(record.prefix, number))
        ):
            found[held[number].agent] = None
    return list(found)


__all__ = ["Damaged", "Refusal", "RunSeen", "ShardSeen", "see_run", "who_goes_on"]
