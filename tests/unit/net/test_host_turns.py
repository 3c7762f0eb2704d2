"""A host gives everybody a turn."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from solvent.net import Host, Hub
from solvent.protocols.machine import Answered, Ask, Effects, Event, NodeId, Received, Report, Requested
from tests.loop import in_loop
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


class Noting:
    """Notes what it hears, and reports it."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[tuple[Any, ...], Effects]:
        """Begin with nothing."""
        del saved, life
        return (), ()

    def step(self, state: tuple[Any, ...], event: Event) -> tuple[tuple[Any, ...], Effects]:
        """Note it."""
        what = event.message if isinstance(event, Received) else getattr(event, "request", None)
        return (*state, what), (Report(what),)


@in_loop
async def test_what_is_requested_at_once_comes_before_what_waits() -> None:
    """It has been done when the call returns; what waited before it still waits."""
    host = Host(Noting(), Hub().transport(NODE))
    await host.start()
    host.request("later")
    host.request_at_once("now")
    assert host.state[0] == "now"
    await until(lambda: host.state == ("now", "later"))
    await host.stop()


def test_who_is_told_may_request_at_once() -> None:
    """The machine is at work then: it is done next, and never inside the other step."""

    class Again:
        def answer(self, question: Any) -> Any:
            raise AssertionError(question)

        def told(self, outcome: Any) -> None:
            if outcome < 3:
                host.request_at_once(outcome + 1)
                assert host.state[-1] == outcome

    async def test() -> None:
        await host.start()
        host.request_at_once(1)
        await until(lambda: host.state == (1, 2, 3))
        await host.stop()

    host = Host(Noting(), Hub().transport(NODE), application=Again())
    asyncio.run(test())


@in_loop
async def test_a_prompt_host_takes_messages_as_they_come() -> None:
    """Without waiting for the loop: when the transport has delivered them, they are done."""
    for is_prompt in (False, True):
        host = Host(Noting(), Hub().transport(NODE), is_prompt=is_prompt)
        await host.start()
        await asyncio.sleep(0)
        host._on_messages(NODE, ["one", "two"])
        assert host.state == (("one", "two") if is_prompt else ())
        await until(lambda host=host: host.state == ("one", "two"))  # type: ignore[misc]
        await host.stop()
