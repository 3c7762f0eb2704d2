"""A share reacts by itself, in slices, and nothing of it is lost."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import solvent
from solvent.lang.functions import Functions
from solvent.lang.rule import Rule
from solvent.runs.nodes.alone import Alone, Patient

if TYPE_CHECKING:
    from collections.abc import Callable


def share(text: str, functions: Functions | None = None, should_stop: Callable[[], bool] | None = None) -> Alone:
    """Give a program's molecules to one node; its rules are everybody's."""
    patient = Patient(functions or Functions())
    molecules = list(solvent.hocl.parse(text, functions=patient).solution())
    rules = [one for one in molecules if isinstance(one, Rule)]
    own = [one for one in molecules if not isinstance(one, Rule)]
    return Alone(rules, own, functions=patient, should_stop=should_stop)


def test_others_are_heard_between_slices() -> None:
    """While a share reacts for long, even in slow functions, the loop goes on."""
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.01)

    def slow(one: int, other: int) -> int:
        time.sleep(0.005)
        return one + other

    functions = Functions()
    functions.register(slow)
    alone = share(
        f"let add = replace x::int, y::int by slow(x, y) in <{', '.join(map(str, range(40)))}, add>", functions
    )

    async def both() -> None:
        beating = asyncio.ensure_future(beat())
        await alone.react()
        beating.cancel()

    asyncio.run(both())
    assert alone.left() == [sum(range(40))]
    assert beats >= 5


def test_calls_are_out_side_by_side() -> None:
    """Asynchronous calls of one share wait together."""
    out = most = 0

    async def fetch(number: int) -> int:
        nonlocal out, most
        out += 1
        most = max(most, out)
        await asyncio.sleep(0.01)
        out -= 1
        return number * 10

    functions = Functions()
    functions.register(fetch)
    alone = share("let get = replace GET:x by fetch(x) in <GET:1, GET:2, GET:3, get>", functions)
    asyncio.run(alone.react())
    assert sorted(alone.left()) == [10, 20, 30]
    assert most == 3
