"""Runs of agents are continued as further versions, and updated while they go on, over stores of every kind."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.pause import paused
from solvent.runs.agents.shards import submit
from solvent.runs.closed_shards import report_of
from solvent.runs.registry import existing
from solvent.runs.versions import apply, plan_update, tasks_from
from tests.unit.runs.agents.flows import AgentsHere, end_of
from tests.unit.runs.agents.test_both_forms import mixed

if TYPE_CHECKING:
    from solvent.store import Store


@pytest.mark.parametrize("seed", range(2))
def test_a_run_of_several_shards_is_done_again_from_a_task_on(store: Store, seed: int) -> None:
    """Messages between shards are as they were for what is kept; agents that saw it end go on with it."""
    workflow, run = mixed(seed), f"again{seed}"
    record = submit(store, run, workflow, None, max_shards=5)
    with AgentsHere(store, offers_of([workflow]), many=2):
        end_of(store, run)
        was = report_of(store, record, workflow)
        again = tasks_from(workflow, "t6")
        update = plan_update(store, existing(store, run), workflow, reopened=again)
        apply(store, update)
        end_of(store, run)
    found = report_of(store, existing(store, run), workflow)
    assert was is not None
    assert found is not None
    assert (found.results, found.states) == (was.results, was.states)
    assert (update.kept > 0, update.again > 0, update.new, update.gone) == (True, True, 0, 0)


def test_a_run_that_is_held_still_and_updated_again_and_again_ends_as_it_would(store: Store) -> None:
    """Whatever it was doing when it was stopped: what was answered is kept, and the results are the same."""
    workflow, run = mixed(3), "often"
    submit(store, run, workflow, None, max_shards=5)
    updates, is_over = 0, threading.Event()
    with AgentsHere(store, offers_of([workflow]), many=2):
        while not is_over.is_set():
            record = existing(store, run)
            if record.has_ended or updates == 5:
                is_over.set()
                continue
            with paused(store, record, max_seconds=60) as held:
                update = plan_update(store, held, workflow)
                assert not update.is_changed
                apply(store, update)
            updates += 1
        end_of(store, run)
    assert updates
    plain = f"{run}-plain"
    submit(store, plain, workflow, None, max_shards=5)
    with AgentsHere(store, offers_of([workflow]), many=1):
        end_of(store, plain)
    reports = [report_of(store, existing(store, one), workflow) for one in (run, plain)]
    assert all(reports)
    assert len({str(one.results) for one in reports if one is not None}) == 1
