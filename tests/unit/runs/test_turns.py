"""Which thread takes the turns of a run in one process: the one whose call has just ended, where it can."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING

import pytest

from solvent import run, service, workflow

if TYPE_CHECKING:
    from solvent.runs.report import TaskEvent

asked_by: contextvars.ContextVar[str] = contextvars.ContextVar("asked_by", default="nobody")


@service
def thread(_before: int = 0) -> int:
    """Return the thread that runs this."""
    return threading.get_ident()


@service
async def later(value: int) -> int:
    """Return the same, from a coroutine."""
    await asyncio.sleep(0)
    return value


@workflow
def chain() -> list[int]:
    """Call one after the other."""
    found = [thread()]
    for _ in range(20):
        found.append(thread(found[-1]))
    return found


def test_turns_of_a_chain_are_taken_by_the_thread_that_makes_its_calls() -> None:
    """The thread that called `run` is not woken for each answer; now and then it looks, and may take one."""
    turns = []

    def watch(event: TaskEvent) -> None:
        if event.kind == "done":
            turns.append(threading.get_ident())

    assert run(chain, jobs=4, watch=watch).succeeded
    assert len(turns) == 21
    assert turns.count(threading.get_ident()) < 11


def test_a_chain_in_and_out_of_coroutines_ends() -> None:
    """Answers that come from a thread which takes no turns are taken all the same."""

    @workflow
    def mixed() -> int:
        value = thread()
        for _ in range(10):
            value = thread(later(value))
        return value

    assert run(mixed, jobs=2).succeeded


def test_every_turn_has_the_context_of_the_caller() -> None:
    """What watches a run sees the context variables of the thread that called `run`, whichever thread calls it."""
    seen = set()

    def watch(_event: TaskEvent) -> None:
        seen.add(asked_by.get())

    token = asked_by.set("me")
    try:
        assert run(chain, watch=watch).succeeded
    finally:
        asked_by.reset(token)
    assert seen == {"me"}


def test_what_a_turn_raises_is_raised_by_run() -> None:
    """An error of the caller's own function comes back to the caller, from whatever thread."""

    class Mistake(Exception):
        pass

    def watch(event: TaskEvent) -> None:
        if event.kind == "done":
            raise Mistake

    with pytest.raises(Mistake):
        run(chain, watch=watch)


def test_many_answers_at_once_are_all_taken() -> None:
    """No answer is left behind, however many threads end at the same time."""

    @workflow
    def wide() -> list[int]:
        return [thread(n) for n in range(300)]

    for _ in range(5):
        assert run(wide, jobs=16).succeeded
