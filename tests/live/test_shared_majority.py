"""Processes of a space that hear too few of the others: they may not go on, and say so."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent.handover import HandleState, node
from tests.live.shared_processes import MAX_SECONDS, Scene, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.handover import BlockingHandle, BlockingSpace
    from tests.live.data_hosts import Child


@contextmanager
def alone(
    place: Scene, how: signal.Signals, **options: Any
) -> Iterator[tuple[BlockingSpace, BlockingHandle, list[Child]]]:
    """Be one of three processes, of which the two on another host are silent; one of them has the lock."""
    with place.space("one", **options) as space, space.handle("m", initial=b"released") as handle:
        handle.acquire()
        handle.release()
        children = [place.serve("two", join=space.address)[0], place.holder("two", join=space.address)]
        for child in children:
            os.kill(child.number, how)
        handle.request()
        until(lambda: handle.trouble is not None and "1 of 3" in handle.trouble.message)
        yield space, handle, children


def test_who_waits_without_a_majority_is_told(place: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """The handle says how many answer, so does the error of who has waited in vain, and it is logged, once."""
    with caplog.at_level(logging.WARNING, "solvent.shared"), alone(place, signal.SIGKILL) as (_, handle, _):
        assert handle.trouble is not None
        assert handle.trouble.code == "S207"
        for _ in range(3):
            with pytest.raises(TimeoutError) as caught:
                handle.acquire(timeout=0.3)
    assert isinstance(caught.value, solvent.SpaceProblem)
    assert caught.value.code == "S207"
    assert "no majority: 1 of 3 processes" in caught.value.message
    assert caught.value.hint
    assert [record.getMessage().count("no majority") for record in caplog.records] == [1]


def test_who_leaves_without_a_majority_does_not_wait_for_it(place: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody will say that it may go, so it goes; else this would never end."""
    monkeypatch.setattr(node, "MAX_LEAVE_SECONDS", math.inf)
    with alone(place, signal.SIGKILL) as (_, handle, _):
        pass
    assert handle.state is HandleState.INVALID


def test_what_those_who_left_have_kept_is_found_by_a_space_that_begins_anew(place: Scene) -> None:
    """If most are dead for good, nothing that was kept on this host is lost."""
    with alone(place, signal.SIGKILL, keep=True):
        pass
    with place.space("one", keep=True) as space, space.handle("m", size=8) as handle:
        assert bytes(handle.acquire(timeout=MAX_SECONDS)) == b"released"


def test_all_go_on_when_those_who_were_silent_are_back(place: Scene) -> None:
    """What was said is no longer so, and nothing was lost."""
    with alone(place, signal.SIGSTOP) as (_, handle, children):
        for child in children:
            os.kill(child.number, signal.SIGCONT)
        until(lambda: handle.trouble is None)
        children[1].kill()
        assert bytes(handle.acquire(timeout=MAX_SECONDS)[:8]) == b"released"


def test_a_coroutine_is_told_as_well(place: Scene) -> None:
    """What a coroutine waits for in vain has the same reason, be it to take part."""

    async def wait() -> list[str]:
        async with place.space("one") as space, space.handle("m", initial=b"released") as handle:
            await handle.acquire()
            handle.release()
            children = [place.serve("two", join=space.address)[0], place.holder("two", join=space.address)]
            for child in children:
                os.kill(child.number, signal.SIGKILL)
            handle.request()
            await asyncio.to_thread(until, lambda: handle.trouble is not None)
            codes = []
            for waiting in (handle.acquire(timeout=0.01), space.handle("new").create(timeout=0.01)):
                try:
                    await waiting
                except TimeoutError as error:
                    codes.append(getattr(error, "code", ""))
        return codes

    assert asyncio.run(wait()) == ["S207", "S207"]


def test_who_takes_part_without_a_majority_waits_no_longer_than_it_says(place: Scene) -> None:
    """Nobody could let it take part; the reason is told, and it takes part when the others are back."""
    with alone(place, signal.SIGSTOP) as (space, _, children):
        late = space.handle("new", size=8, timeout=0.05)
        with pytest.raises(TimeoutError, match=r"S207.*`new`.*no majority: 1 of 3"), late:
            pass
        assert (late.state, late.trouble) == ("invalid", None)
        for child in children:
            os.kill(child.number, signal.SIGCONT)
        with late.create(timeout=MAX_SECONDS):
            assert len(late.acquire(timeout=MAX_SECONDS)) == 8


def test_who_waits_to_take_part_without_a_majority_can_be_asked_why(place: Scene) -> None:
    """Another thread sees what is wrong while it waits."""
    with alone(place, signal.SIGSTOP) as (space, _, children):
        late = space.handle("new", size=8, timeout=math.inf)
        creating = threading.Thread(target=late.create)
        creating.start()
        until(lambda: late.trouble is not None and late.trouble.code == "S207")
        for child in children:
            os.kill(child.number, signal.SIGCONT)
        creating.join(MAX_SECONDS)
        assert (late.state, late.trouble) == ("valid", None)


def test_a_handle_waits_as_long_as_was_said_when_it_was_made(place: Scene) -> None:
    """Unless another time is given to `acquire`, or infinity."""
    with place.space("one") as space, space.handle("m") as holder, space.handle("m", timeout=0.01) as handle:
        holder.acquire()
        with pytest.raises(TimeoutError):
            handle.acquire()
        threading.Timer(0.1, holder.release).start()
        handle.acquire(timeout=math.inf)
        assert handle.state == "locked"
