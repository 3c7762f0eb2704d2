"""An agent that leaves or is asked to: what it has is another's then, and what has ended there is not made again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from solvent.runs.agents.agent import Agent
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.events import CallAnswered, CallLost
from solvent.runs.journal import read_journal
from solvent.runs.registry import journal_of
from solvent.workflows.model import Service, Task, Workflow
from tests.unit.runs.agents.flows import store_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest


LEAVE: list[Callable[[], None]] = []


def last() -> int:
    """Ask the agent to leave, and answer."""
    LEAVE[0]()
    return 1


def test_what_has_ended_when_an_agent_leaves_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that comes when the agent is about to leave is in the journal: the call has ended, and is not out."""
    flow = Workflow("w", (Task("t", "last"),), (Service("last", function=last),))
    with store_at(tmp_path) as store:
        noted = lambda: [one for _, one in read_journal(store, journal_of("r1", 0))]  # noqa: E731
        leave = Agent._leave

        def late(agent: Agent, case: Any) -> None:
            until = time.monotonic() + 200
            while not agent.waiting() and not any(isinstance(one, CallAnswered) for one in noted()):
                assert time.monotonic() < until
            leave(agent, case)

        monkeypatch.setattr(Agent, "_leave", late)
        submit(store, "r1", flow, {})
        agent = Agent(store, "a", offers_of([flow]), ttl=2.0)
        LEAVE[:] = [agent.stop]
        agent.run()
        ends = [type(one) for one in noted() if isinstance(one, CallAnswered | CallLost)]
    assert ends == [CallAnswered]
