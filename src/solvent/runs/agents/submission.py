"""Gives a workflow to agents, if it is one that they can run: all of it must be said as data."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.errors import AgentProblem, Conflict, Misuse, RecordProblem, WorkflowProblem
from solvent.runs.agents.membership import SURE_PART_OF_TTL, has_a_part, marks_of, offered_apart, see_agents
from solvent.runs.agents.offers import ALONE, refuse_what_agents_cannot
from solvent.runs.agents.shards import submit
from solvent.runs.events import SignalReceived
from solvent.runs.holders import SeenDead, ShardLease, agent_name
from solvent.runs.journal import read_journal
from solvent.runs.recorded_run import refuse_to_continue
from solvent.runs.registry import (
    NAME_RULE,
    change,
    existing,
    is_name,
    journal_of,
    key_of,
    signals_of,
    tell_agents,
    workflow_of,
)
from solvent.runs.resources.lender import settled_resources
from solvent.runs.signals import check_signal, send_signal
from solvent.workflows.translate import Concretiser

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.runs.registry import RunRecord
    from solvent.runs.signals import Signal
    from solvent.store import Store
    from solvent.workflows.model import Workflow


def give_to_agents(
    store: Store,
    run: str,
    workflow: Workflow,
    inputs: Mapping[str, Any] | None,
    *,
    max_shards: int | None = None,
    signals: Sequence[Signal] = (),
    deadline: float | None = None,
) -> RunRecord:
    """Have a workflow run by whichever agents there are, with signals that come at once.

    It must end in so many seconds as `deadline` says, if not as the workflow says.

    Raise `AgentProblem` A101 for one that they cannot run.
    """
    refuse_what_agents_cannot(workflow)
    for at, name, value in signals:
        check_signal(workflow.name, workflow.signals_heard, name, value)
        if at:
            hint = f"send it when it is time: `solvent signal RUN {name}`"
            raise Misuse("H313", f"with --agents the signal `{name}` cannot come at a time", hint=hint)
    # Whoever has forgotten an input shall hear of it here, and not from an agent.
    Concretiser(workflow, inputs)
    settled_resources(workflow, inputs)
    if not is_name(run):
        raise AgentProblem("A101", f"a run cannot be called {run!a}", hint=NAME_RULE)
    if store.get(key_of(run)) is not None:
        raise _taken(run)
    try:
        offered = _offered_apart(store, workflow)
        record = submit(store, run, workflow, inputs, max_shards=max_shards, offered=offered, deadline=deadline)
    except WorkflowProblem as error:
        if error.code != "W106":
            raise
        hint = (
            f"{error.hint or 'what agents call has a name: a function of a module, a command, an address'}; or {ALONE}"
        )
        raise AgentProblem("A101", f"`{workflow.name}` cannot be given to agents: {error.message}", hint=hint) from None
    except Conflict:
        raise _taken(run) from None
    for number, (_, name, value) in enumerate(signals, 1):
        send_signal(store, run, name, value, id=f"--signal {number}")
    return record


def hand_to_agents(store: Store, record: RunRecord, *, takes_over: bool = False) -> RunRecord:
    """Have a run that one process has begun continued by agents, from its record; return what that is then.

    Raise `AgentProblem` A101 for one that they cannot run, and `RecordProblem` where its process is still there.
    """
    refuse_to_continue(store, record, takes_over=takes_over)
    run, without = record.run, f"resume it without agents: `solvent resume {record.run}`"
    if not record.document:
        said = f"`{run}` cannot be given to agents: its workflow cannot be said in a file"
        raise AgentProblem("A101", said, hint=without)
    try:
        refuse_what_agents_cannot(workflow_of(store, record))
    except AgentProblem as error:
        error.hint = without
        raise
    shard = ShardLease(store, record, 0, agent_name("resume"))
    if not shard.take(SeenDead(store, takes_over=takes_over)):
        raise RecordProblem("R402", f"another process goes on with the run `{run}`", hint="nothing is lost")
    # From now on nobody has it who does not know that agents do; should this process die here, they wait a moment.
    changed = change(store, run, lambda one: None if one.has_ended else replace(one, by_agents=True))
    shard.release()
    if changed is not None:
        _send_those_to_come(store, changed)
        tell_agents(store, changed)
    return existing(store, run)


def _send_those_to_come(store: Store, record: RunRecord) -> None:
    """Send the signals that the run was started with and has not heard: agents have no clock for them."""
    noted = (one for _, one in read_journal(store, journal_of(record.prefix)))
    heard = Counter(one.name for one in noted if isinstance(one, SignalReceived) and not one.id)
    for number, (_, name, value) in enumerate(signals_of(record), 1):
        heard[name] -= 1
        if heard[name] < 0:
            send_signal(store, record.run, name, value, id=f"--signal {number}")


def _offered_apart(store: Store, workflow: Workflow) -> dict[str, frozenset[str]]:
    """Give who offers each service, if nobody who is alive offers all of them."""
    marks = marks_of(workflow)
    # Whether agents are alive is seen only after a moment, for which nobody waits where they all have the same.
    if not any(has_a_part(one, marks) for one in see_agents(store, patience=0.0)):
        return {}
    return offered_apart(marks, see_agents(store, part=SURE_PART_OF_TTL))


def _taken(run: str) -> RecordProblem:
    return RecordProblem("R408", f"there is a run `{run}` already", hint=f"look at it: `solvent status {run}`")


__all__ = ["give_to_agents", "hand_to_agents"]
