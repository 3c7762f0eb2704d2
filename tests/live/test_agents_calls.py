"""Calls of agents that die: how often they are made again, large results, and agents that lack services."""

from __future__ import annotations

import pytest

from solvent.workflows.model import Result, Task, Value, Workflow
from tests.live.agents_faults import together
from tests.live.agents_services import SERVICES
from tests.live.agents_workflows import chain
from tests.live.agents_world import World, killed_at_random
from tests.live.store_backends import BACK_ENDS
from tests.live.store_servers import served

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_large_results_survive_who_made_them(back_end: str) -> None:
    """They are blobs: whoever takes a place over finds them."""
    lines, steps = 6, 6
    tasks = [
        Task(
            f"L{line}.{step}",
            "fill",
            (Value(300_000 + line), Result(f"L{line}.{step - 1}"), Value(step))
            if step
            else (Value(300_000), Value(line)),
        )
        for line in range(lines)
        for step in range(steps)
    ]
    workflow = Workflow("large", tuple(tasks), SERVICES)
    with served() as url, World("" if back_end == "sqlite" else url, pause=0.1) as world:
        world.start(3)
        together(world, 3)
        world.submit("run", workflow)
        assert killed_at_random(world, "run", seed=1, kills=3, calls=10)
        assert world.check("run", workflow) == []


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_agents_without_the_services_leave_places_to_others(back_end: str) -> None:
    """Many that have none of them do not keep one that has all from taking more than its share."""
    workflow = chain(3, 8)
    with served() as url, World("" if back_end == "sqlite" else url) as world:
        world.start(2, variant="poor")
        world.start(1)
        together(world, 3)
        world.submit("run", workflow)
        world.until_over("run")
        assert world.check("run", workflow) == []
