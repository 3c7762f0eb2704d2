"""Machines that do what a test tells them, and what listens to them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from solvent.protocols.machine import (
    Effects,
    Event,
    NodeId,
    Received,
    Report,
    Requested,
    TimerFired,
)

if TYPE_CHECKING:
    from collections.abc import Callable

A, B = NodeId(0), NodeId(1)


class Scripted:
    """Keeps its events as its state, and asks a function for the effects."""

    def __init__(self, effects_of: Callable[[Any], Effects] = lambda _: (), first: Effects = ()) -> None:
        self.effects_of = effects_of
        self.first = first

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[tuple[Any, ...], Effects]:
        """Begin with what was saved."""
        return (saved, life), self.first

    def step(self, state: tuple[Any, ...], event: Event) -> tuple[tuple[Any, ...], Effects]:
        """Look the event up."""
        what: Any = event
        match event:
            case Received(sender, message):
                what = (sender, message)
            case Requested(request):
                what = request
            case TimerFired(name):
                what = TimerFired(name)
        return (*state, what), self.effects_of(what)


class Counting:
    """Counts its events, and reports the last."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[int, Effects]:
        """Begin with nothing."""
        del saved, life
        return 0, ()

    def step(self, state: int, event: Event) -> tuple[int, Effects]:
        """Count."""
        is_last = isinstance(event, Received) and event.message == "last"
        return state + 1, (Report("last"),) if is_last else ()


class Listener:
    """Keeps what it is told; answers by a function; wakes whoever waits for a number of reports."""

    def __init__(self, answer: Callable[[Any], Any] = lambda question: question) -> None:
        self.outcomes = list[Any]()
        self.answer = answer
        self.news = asyncio.Event()

    def told(self, outcome: Any) -> None:
        """Keep it."""
        self.outcomes.append(outcome)
        self.news.set()

    async def hears(self, *outcomes: Any) -> None:
        """Wait until it was told these."""
        while self.outcomes != list(outcomes):
            self.news.clear()
            await self.news.wait()


async def until(is_so: Callable[[], bool]) -> None:
    """Let the loop turn until something is so."""
    while not is_so():  # noqa: ASYNC110 - a node has no event for everything a test may want to know
        await asyncio.sleep(0)


def table(**effects: Effects) -> Callable[[Any], Effects]:
    """Make a script out of requests' names."""
    return lambda what: effects.get(what, ()) if isinstance(what, str) else ()
