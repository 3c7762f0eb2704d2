"""Runs end once and for all, whoever dies or is stopped just then."""

from __future__ import annotations

import signal

import pytest

from solvent.runs.events import Ended
from solvent.runs.registry import end, messages_of
from solvent.workflows.model import Task, Value, Workflow
from tests.live.agents_services import PAUSE, SERVICES
from tests.live.agents_workflows import chain
from tests.live.agents_world import World, until

RUN = "run"


@pytest.mark.parametrize("moment", ["undone", "unsaid"])
def test_a_run_is_over_though_who_ends_it_dies(moment: str) -> None:
    """It dies before it writes how the run ended, or before it says so: another one does that, and no call is made."""
    workflow = chain(2, 3)
    with World() as world:
        world.submit(RUN, workflow)
        [first] = world.start(variant=moment)
        until(lambda: not first.is_running, world.words)
        made = len(world.lines())
        world.start()
        assert world.until_over(RUN).state == "done"
        assert len(world.lines()) == made
        assert world.check(RUN, workflow) == []


def test_a_run_that_cannot_go_on_is_over_though_who_notes_it_dies() -> None:
    """That it has failed is noted in a journal, and not written yet: the next agent finds that it has."""
    workflow = chain(2, 3)
    with World() as world:
        world.submit(RUN, workflow)
        [first] = world.start(variant="undone", **{PAUSE: "60"})
        world.until_calls(1)
        world.store.append(messages_of(RUN), b"nonsense")
        until(lambda: not first.is_running, world.words)
        assert any(isinstance(one, Ended) for journal in world.journals(RUN) for one in journal)
        world.start()
        assert world.until_over(RUN).state == "failed"


@pytest.mark.parametrize("moment", ["unopened", "unbegun"])
def test_a_run_that_is_cancelled_while_a_place_is_taken_over_stays_so(moment: str) -> None:
    """Who takes over is between lease and journal, or journal and call, when the run is cancelled: it ends nothing."""
    workflow = Workflow("one", (Task("T", "work", (Value(1),)),), SERVICES)
    with World() as world:
        world.submit(RUN, workflow)
        [first] = world.start(**{PAUSE: "60"})
        world.until_calls(1)
        world.kill(first)
        [second] = world.start(variant=moment, **{PAUSE: "60"})
        until(lambda: second.is_stopped, world.words)
        assert end(world.store, RUN, "cancelled")
        second.send(signal.SIGCONT)
        until(lambda: f"{RUN} is over" in second.said(), world.words)
        noted = world.journals(RUN)
        other = Workflow("other", (Task("T", "work", (Value(1),)),), SERVICES)
        world.submit("next", other)
        until(lambda: any(line.key == "next/T" for line in world.lines()), world.words)
        assert world.until_over(RUN).state == "cancelled"
        assert world.journals(RUN) == noted
        assert second.is_running
