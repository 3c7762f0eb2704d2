"""Workflows that can be given to agents, and those that cannot."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import AgentProblem, RecordProblem, WorkflowProblem
from solvent.runs.agents.membership import see_agents
from solvent.runs.agents.submission import give_to_agents
from solvent.runs.recorded_run import new_run
from solvent.runs.registry import SUBMITTED, announced, announced_record, end, key_of, list_runs, record_of
from solvent.workflows.model import REQUIRED, Input, Resource, Service, Task, Value, Workflow
from tests.unit.runs.agents.flows import AgentsHere, adaptive, chain, end_of, offering, store_at, workflow

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from solvent.runs.recorded_run import RecordedRun
    from solvent.store import Store


@pytest.mark.parametrize(
    "flow,words",
    [
        (Workflow("w", (Task("t", "f"),), (Service("f", function=lambda: 1),)), "no name"),
        (workflow(Task("t", "add", (Value({1, 2}),))), "cannot hold"),
        (workflow(Task("t", "add"), resources=(Resource("grid", file="grid.bin"),)), "`grid` is in a file"),
        (workflow(Task("t", "add"), resources=(Resource("grid", size=4, save="grid.bin"),)), "`grid` is in a file"),
    ],
)
def test_what_agents_cannot_run_is_refused(store: Store, flow: Workflow, words: str) -> None:
    """A workflow that is not all data, or needs more than a store, is refused with what to do."""
    with pytest.raises(AgentProblem, match=words) as caught:
        give_to_agents(store, "r1", flow, {})
    assert caught.value.code == "A101"
    assert "solvent run" in caught.value.hint
    assert record_of(store, "r1") is None


def test_resource_that_cannot_be_made_is_refused(store: Store) -> None:
    """Whoever submits hears what is wrong with a resource, and not an agent."""
    with pytest.raises(WorkflowProblem, match="`grid` has no size") as caught:
        give_to_agents(store, "r1", workflow(Task("t", "add"), resources=(Resource("grid"),)), {})
    assert caught.value.code == "W161"
    assert record_of(store, "r1") is None


def test_inputs_are_asked_for_before(store: Store) -> None:
    """An input that is missing, unknown or no data is said to who submits."""
    flow = workflow(Task("t", "add", (Input("n"),)), inputs={"n": REQUIRED})
    for given, code in (({}, "W132"), ({"n": 1, "m": 2}, "W131")):
        with pytest.raises(WorkflowProblem) as caught:
            give_to_agents(store, "r1", flow, given)
        assert caught.value.code == code
    odd: Any = object()
    with pytest.raises(RecordProblem, match="inputs"):
        give_to_agents(store, "r1", flow, {"n": odd})


def test_a_name_is_used_once(store: Store) -> None:
    """A run whose name is taken is refused."""
    give_to_agents(store, "r1", adaptive(), {})
    with pytest.raises(RecordProblem, match="already"):
        give_to_agents(store, "r1", adaptive(), {})


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 101])
def test_what_no_run_can_be_called_is_refused(store: Store, name: str) -> None:
    """It is said of what a name is made, and how long it may be: the names of keys have more behind it."""
    with pytest.raises(AgentProblem, match="cannot be called") as caught:
        give_to_agents(store, name, adaptive(), {})
    assert caught.value.hint == "letters, digits and _ . = - only, at most 100"


def own_run(store: Store, name: str = "") -> RecordedRun:
    """Give a run of this process that has not begun."""
    held = new_run(store, adaptive(), {})
    if name:
        held.name(name)
    return held


def test_a_run_of_one_process_does_not_take_the_name_of_a_run_of_agents(store: Store) -> None:
    """It is refused, and leaves nothing behind: who asks for this run is shown that of the agents."""
    give_to_agents(store, "r1", adaptive(), {})
    with pytest.raises(RecordProblem, match="already") as caught:
        own_run(store, "r1").open()
    assert caught.value.code == "R408"
    assert [one.by_agents for one in list_runs(store)] == [True]


@pytest.mark.parametrize("is_first", [False, True])
def test_a_name_that_is_wanted_by_both_at_once_is_one_run_s(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> None:
    """Whoever comes between the look and the claim of the other, just one of them has the name."""
    held, had = own_run(store, "r1"), list[str]()
    with store_at(tmp_path) as other:
        ways: list[Callable[[], Any]] = [held.open, lambda: give_to_agents(other, "r1", adaptive(), {})]
        asked, (one, quicker) = (store, ways) if is_first else (other, reversed(ways))
        put = asked.put

        def between(key: str, value: bytes, **how: Any) -> int:
            if key == key_of("r1") and not had:
                had.append("")
                quicker()
            return put(key, value, **how)

        monkeypatch.setattr(asked, "put", between)
        with pytest.raises(RecordProblem, match="already"):
            one()
    (record,) = list_runs(store)
    assert record.by_agents == is_first
    held.leave()


def test_a_name_is_free_again_when_its_run_could_not_begin(store: Store) -> None:
    """Who was refused may run the workflow otherwise, by the same name."""
    held = own_run(store, "r1")
    held.open()
    held.forget()
    again = own_run(store, "r1")
    again.open()
    again.forget()
    assert give_to_agents(store, "r1", adaptive(), {}) == record_of(store, "r1")


class Died(BaseException):
    """Stands for the death of who submits."""


@pytest.mark.parametrize("at,is_run", [("append", False), ("put", True)])
def test_a_run_is_one_from_its_announcement_on(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, *, is_run: bool
) -> None:
    """Agents that are there run what was announced, though who did so died before the plan was written; no other."""

    def dies(*_: Any, **__: Any) -> int:
        raise Died

    with AgentsHere(store) as here:
        give_to_agents(store, "r1", adaptive(), {})
        end_of(store, "r1")
        with store_at(tmp_path) as other:
            monkeypatch.setattr(other, at, dies)
            with pytest.raises(Died):
                give_to_agents(other, "r2", adaptive(), {})
        if is_run:
            assert end_of(store, "r2").state == "done"
        give_to_agents(store, "r3", adaptive(), {})
        here.wait_for("r3 is over")
    assert (record_of(store, "r2") is not None) == is_run


def test_agents_that_are_quicker_than_who_submits_are_no_conflict(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run may have begun, and ended, before its record is written by who submits it: its name is not taken."""
    append = store.append

    def helped(log: str, data: bytes, **how: Any) -> int:
        position = append(log, data, **how)
        if log == SUBMITTED:
            found = announced_record(store, *announced(data))
            if found is not None and found.run == "r2":
                end(store, "r2", "done")
        return position

    monkeypatch.setattr(store, "append", helped)
    assert give_to_agents(store, "r1", adaptive(), {}) == record_of(store, "r1")
    given, found = give_to_agents(store, "r2", adaptive(), {}), record_of(store, "r2")
    assert found is not None
    assert (found.created, found.state) == (given.created, "done")


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the heartbeats of agents for as long as it takes: a machine may be busy."""
    monkeypatch.setattr("solvent.runs.agents.membership.MAX_SECONDS", 200.0)
    monkeypatch.setattr("solvent.runs.agents.submission.SURE_PART_OF_TTL", 100.0)


@pytest.mark.usefixtures("patient")
def test_services_that_agents_have_apart_are_at_places_apart(store: Store) -> None:
    """A chain goes on from agent to agent where none of them offers all that it calls."""
    flow = chain()
    with (
        AgentsHere(store, offering(flow, "add")) as one,
        AgentsHere(store, offering(flow, "double"), name="b") as other,
    ):
        until(lambda: len(see_agents(store, patience=0.0)) == 2)
        assert give_to_agents(store, "r1", flow, {}).shards == 3
        assert end_of(store, "r1").state == "done"
    assert [words for agent in (one, other) for words in agent.told if "fail" in words] == []


@pytest.mark.usefixtures("patient")
def test_where_one_agent_has_all_services_chains_are_whole(store: Store) -> None:
    """Others that have a part of the services change nothing then."""
    flow = chain()
    with AgentsHere(store, offering(flow, "add")), AgentsHere(store, offering(flow, "add", "double"), name="b"):
        until(lambda: len(see_agents(store, patience=0.0)) == 2)
        assert give_to_agents(store, "r1", flow, {}).shards == 1
        assert end_of(store, "r1").state == "done"


def until(holds: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 200
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
