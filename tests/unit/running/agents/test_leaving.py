"""An agent that leaves: what it has is another's then, and what has ended there is not made again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from solvent.running.agents.agent import Agent
from solvent.running.agents.offers import offers_of
from solvent.running.agents.plans import log_at, submit
from solvent.running.records.entries import Answered, Withdrawn
from solvent.running.records.journal import read_journal
from solvent.workflow.model import Service, Task, Workflow
from tests.unit.running.agents.flows import space_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

STOPS: list[Callable[[], None]] = []


def last() -> int:
    """Ask the agent to leave, and answer."""
    STOPS[0]()
    return 1


def test_what_has_ended_when_an_agent_leaves_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that comes when the agent is about to leave is in the journal: the call has ended, and is not out."""
    flow = Workflow("w", (Task("t", "last"),), (Service("last", function=last),))
    with space_at(tmp_path) as space:
        noted = lambda: [one for _, one in read_journal(space, log_at("r1", 0))]  # noqa: E731
        leave = Agent._leave

        def late(agent: Agent, case: Any) -> None:
            until = time.monotonic() + 200
            while not agent.waiting() and not any(isinstance(one, Answered) for one in noted()):
                assert time.monotonic() < until
            leave(agent, case)

        monkeypatch.setattr(Agent, "_leave", late)
        submit(space, "r1", flow, {})
        agent = Agent(space, "a", offers_of([flow]), ttl=2.0)
        STOPS[:] = [agent.stop]
        agent.run()
        ends = [type(one) for one in noted() if isinstance(one, Answered | Withdrawn)]
    assert ends == [Answered]
