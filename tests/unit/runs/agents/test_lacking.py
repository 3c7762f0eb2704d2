"""What living agents do not offer of what a run needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.runs.agents.membership import AgentSeen, Lacking, lacking, marks_of, needs_of
from solvent.runs.agents.shards import submit
from solvent.runs.agents.status import see_run
from solvent.runs.agents.store_outage import Doubts
from tests.unit.runs.agents.flows import AgentsHere, chain, offering, store_at

if TYPE_CHECKING:
    from pathlib import Path

FLOW = chain()
MARKS = marks_of(FLOW)
NEEDS = needs_of(FLOW, [["one", "two", "three"]])


def agent(name: str, *services: str, is_alive: bool = True, trusts_all: bool = False) -> AgentSeen:
    """Give an agent that offers some services."""
    return AgentSeen(name, is_alive, services={one: MARKS[one] for one in services}, trusts_all=trusts_all)


def test_services_of_a_place_that_nobody_has_together_are_told() -> None:
    """Two agents that have one each do not do; one that has both does, and so does one that trusts all."""
    apart = [agent("x", "add"), agent("y", "double")]
    assert lacking(NEEDS, apart) == Lacking(apart=(("add", "double"),))
    assert lacking(NEEDS, [*apart, agent("z", "add", "double", is_alive=False)]).apart
    assert lacking(NEEDS, [*apart, agent("z", "add", "double")]) == Lacking()
    assert lacking(NEEDS, [agent("x", trusts_all=True)]) == Lacking()


def test_it_is_said_what_to_do() -> None:
    """Who reads it knows which services are meant, and what to start."""
    (line,) = lacking(NEEDS, [agent("x", "add"), agent("y", "double")]).lines()
    assert line.startswith("no living agent offers both: add, double; start one with")
    assert lacking(NEEDS, []).lines() == ["no living agent offers: add, double"]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the heartbeats of agents for as long as it takes: a machine may be busy."""
    monkeypatch.setattr("solvent.runs.agents.membership.MAX_SECONDS", 200.0)


def test_status_and_who_watches_are_told(tmp_path: Path) -> None:
    """A run that was submitted when nobody was there waits for one agent with both services, which is said."""
    with store_at(tmp_path) as store:
        plan = submit(store, "r1", FLOW, {})
        assert plan.shards == 1
        here = AgentsHere(store, offering(FLOW, "add"))
        with here, AgentsHere(store, offering(FLOW, "double"), name="b") as other:
            here.wait_for("needs services")
            other.wait_for("needs services")
            assert see_run(store, "r1", patience=200).lacking == Lacking(apart=(("add", "double"),))
            doubts = Doubts(store, NEEDS)
            doubts._look()
            assert doubts.lacking.apart == (("add", "double"),)


def test_where_there_is_no_room_nobody_is_said_to_lack_anything(tmp_path: Path) -> None:
    """Heartbeats cannot be written then, so that living agents look dead: only the true cause is told."""
    with store_at(tmp_path) as store:
        submit(store, "r1", FLOW, {})
        with AgentsHere(store, offering(FLOW, "add")) as here:
            here.wait_for("needs services")
            store.put("troubles/a0", b"there is no room for the store")
            seen = see_run(store, "r1", patience=200)
    assert (seen.trouble, seen.lacking) == ("there is no room for the store", Lacking())
