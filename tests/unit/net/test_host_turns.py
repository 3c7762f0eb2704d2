"""A host gives everybody a turn."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from solvent.net import Host, Hub
from solvent.protocols.machine import Answered, Ask, Effects, Event, NodeId, Requested
from tests.unit.net.scripted import until

NODE = NodeId(0)
ANSWERS = 40


class Asking:
    """Asks, and asks again as soon as it is answered; notes what else it hears."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[tuple[Any, ...], Effects]:
        """Begin with a question."""
        del saved, life
        return (), (Ask("what?"),)

    def step(self, state: tuple[Any, ...], event: Event) -> tuple[tuple[Any, ...], Effects]:
        """Note it."""
        match event:
            case Answered(answer):
                return (*state, answer), (Ask("what?"),) if state.count("so") < ANSWERS else ()
            case Requested(request):
                return (*state, request), ()
            case _:
                return state, ()


class Slow:
    """Thinks long about every answer."""

    def answer(self, question: Any) -> Any:
        """Think."""
        del question
        time.sleep(0.003)
        return "so"

    def told(self, outcome: Any) -> None:
        """Hear nothing."""


def test_questions_without_end_leave_others_a_turn() -> None:
    """While a machine asks again and again of somebody slow, it still hears what others want of it."""

    async def test() -> tuple[Any, ...]:
        host = Host(Asking(), Hub().transport(NODE), application=Slow())
        await host.start()
        await asyncio.sleep(0.02)
        host.request("heard")
        await until(lambda: host.state.count("so") > ANSWERS)
        state: tuple[Any, ...] = host.state
        await host.stop()
        return state

    state = asyncio.run(test())
    assert state.index("heard") < ANSWERS
