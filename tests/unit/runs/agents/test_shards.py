"""Runs, as a store has them; and when one is over."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.errors import RecordProblem, SolventError
from solvent.runs.agents.shards import Standing, is_over, standings, submit
from solvent.runs.closed_shards import report_of
from solvent.runs.registry import (
    FINISHED,
    SUBMITTED,
    announced,
    end,
    existing,
    journal_of,
    key_of,
    prefix_from,
    record_of,
    shards_of,
    workflow_of,
)
from solvent.workflows.shards import divided
from tests.unit.runs.agents.flows import adaptive

if TYPE_CHECKING:
    from solvent.store import Store


class World:
    """A small world of places that work, say something to each other, and tell now and then how they are."""

    def __init__(self, places: int, chance: random.Random) -> None:
        self.places = range(places)
        self.chance = chance
        self.work = [chance.randrange(2) for _ in self.places]
        self.said: list[Counter[int]] = [Counter() for _ in self.places]
        self.heard: list[Counter[int]] = [Counter() for _ in self.places]
        self.letters: dict[int, list[int]] = {one: [] for one in self.places}
        self.told: dict[int, Standing] = {}
        self.left = 12

    def is_really_over(self) -> bool:
        """Whether nobody works, and nothing that was said is unheard."""
        return not any(self.work) and not any(self.letters.values())

    def step(self) -> None:
        """Let something happen."""
        one = self.chance.choice(self.places)
        what = self.chance.choice(("work", "hear", "tell"))
        if what == "work" and self.work[one]:
            self.work[one] -= 1
            for to in self.places:
                if to != one and self.left and self.chance.random() < 0.4:
                    self.left -= 1
                    self.said[one][to] += 1
                    self.letters[to].append(one)
        elif what == "hear" and self.letters[one]:
            sender = self.letters[one].pop(0)
            self.heard[one][sender] += 1
            self.work[one] += self.chance.randrange(2)
        elif what == "tell" and not self.work[one]:
            self.tell(one)

    def tell(self, one: int) -> None:
        """Let a place that is idle tell how it is; others may have told long ago."""
        self.told[one] = Standing(0, dict(self.said[one]), dict(self.heard[one]))


@given(st.integers(1, 4), st.integers(0, 2**32))
def test_a_run_is_called_over_only_when_it_is(places: int, seed: int) -> None:
    """In whatever order places work, hear and tell: what they have told says `over` only if nothing can happen."""
    world = World(places, random.Random(seed))
    for _ in range(200):
        world.step()
        if is_over(world.told, places):
            assert world.is_really_over()


@given(st.integers(1, 4), st.integers(0, 2**32))
def test_the_end_is_not_missed(places: int, seed: int) -> None:
    """When nothing can happen any more and all have told, the run is over."""
    world = World(places, random.Random(seed))
    while not world.is_really_over():
        world.step()
    for one in world.places:
        world.tell(one)
    assert is_over(world.told, places)


def test_a_submitted_workflow_is_found_as_it_was(store: Store) -> None:
    """What is read of a run is the workflow, its inputs and its places; its functions are names."""
    plan = submit(store, "r1", adaptive(), {})
    assert record_of(store, "r1") == plan
    found = workflow_of(store, plan)
    assert [task.name for task in found.tasks] == ["one", "two", "spare", "sum"]
    assert {service.name: service.target for service in found.services} == {
        "add": "tests.unit.runs.agents.flows:add",
        "broken": "tests.unit.runs.agents.flows:broken",
    }
    assert [announced(record.data)[0] for record in store.read(SUBMITTED)] == ["r1"]


def test_a_run_is_submitted_once(store: Store) -> None:
    """A second run of the same name is refused."""
    submit(store, "r1", adaptive(), {})
    with pytest.raises(SolventError):
        submit(store, "r1", adaptive(), {})


def test_a_run_ends_once(store: Store) -> None:
    """Who ends a run first says how; everybody hears of it, also if the first one has died before it said so."""
    submit(store, "r1", adaptive(), {})
    assert end(store, "r1", "done")
    assert not end(store, "r1", "failed", "too late")
    found = existing(store, "r1")
    assert (found.state, found.why) == ("done", "")
    assert [record.data for record in store.read(FINISHED)] == [b"r1", b"r1"]


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"a b", b"../x", b"a/b", b"x" * 300, b"r\n"])
def test_what_is_no_name_is_none(data: bytes) -> None:
    """Anybody who can write may write anything where names of runs are; it is passed over."""
    assert prefix_from(data) == ""


def test_the_division_is_that_of_the_plan(store: Store) -> None:
    """A plan has the place of each task, and it is the one that agents would come to without it."""
    plan = submit(store, "r1", adaptive(), {})
    assert len(plan.division) == len(adaptive().tasks)
    assert shards_of(adaptive(), plan) == shards_of(adaptive(), replace(plan, division=b""))
    assert shards_of(adaptive(), plan)[0] == [frozenset(names) for names in divided(adaptive(), plan.max_shards)]


@pytest.mark.parametrize("division", [b"\0", b"\0\0\0\0", b"\0\1\2\3\4", b"\7\7\7\7"])
def test_a_division_of_something_else_is_refused(store: Store, division: bytes) -> None:
    """A division with too few or too many tasks, or places that are not there or empty, does not fit."""
    plan = submit(store, "r1", adaptive(), {})
    with pytest.raises(RecordProblem, match="does not fit") as problem:
        shards_of(adaptive(), replace(plan, division=division))
    assert problem.value.code == "R403"


def test_a_division_that_parts_what_an_alternative_watches_is_refused(store: Store) -> None:
    """The rule that applies an alternative must see all tasks that it watches, whoever has divided."""
    flow = adaptive()
    flow = replace(flow, alternatives=tuple(replace(one, watch=("one", "two")) for one in flow.alternatives))
    plan = replace(submit(store, "r1", flow, {}), shards=2, division=b"\0\1\0\0")
    with pytest.raises(RecordProblem, match="does not fit"):
        shards_of(flow, plan)


def test_nonsense_is_no_record_and_no_end(store: Store) -> None:
    """What does not read says so, and is no crash."""
    record = submit(store, "r1", adaptive(), {}, max_shards=1)
    store.put(key_of("r1"), b"nonsense")
    store.put(key_of("r1", "rest", 0), b"nonsense")
    store.append(journal_of("r1"), b"nonsense")
    with pytest.raises(RecordProblem, match="the record of the run `r1`"):
        existing(store, "r1")
    assert standings(store, "r1") == {}
    with pytest.raises(RecordProblem, match="runs/r1/shard/0"):
        report_of(store, record, adaptive())
