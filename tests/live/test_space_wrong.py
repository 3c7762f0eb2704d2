"""What is wrong in one process of a space stays there: its neighbours go on."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import Misuse, SolventError
from tests.live.space_processes import SECONDS_MAX, Scene, scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(name="place")
def _place() -> Iterator[Scene]:
    with scene() as some:
        yield some


def test_process_whose_part_has_ended_holds_up_nobody(place: Scene) -> None:
    """It lives on, and its neighbours still take it for dead, as far as the space is concerned."""

    def broken(say: Callable[[str], None]) -> None:
        with place.space() as space, space.handle("counter", size=8) as handle:
            handle.acquire()
            say("has it")
            working = space._node.host._working
            # As when a handler of the user's own raises in the middle of a step.
            with working.mutex:
                working.end(RuntimeError("broken"))
            try:
                handle.release()
            except SolventError as error:
                say(error.code)
            time.sleep(10 * SECONDS_MAX)

    with place.space() as space, space.handle("counter", size=8) as handle:
        child = place.start(broken)
        assert child.hear() == "has it"
        assert child.hear() == "S206"
        assert len(handle.acquire(timeout=SECONDS_MAX)) == 8
        handle.release()
        child.kill()


@pytest.mark.parametrize("size", [200.0, True, "9", -1, None])
def test_size_that_is_none_changes_nothing(place: Scene, size: Any) -> None:
    """What would be wrong for everybody is refused before anything is changed."""
    with place.space() as space, space.handle("data", size=100, keep_last=False) as handle:
        handle.acquire()[:4] = b"kept"
        with pytest.raises(Misuse) as caught:
            handle.resize(size)
        assert caught.value.code == "S102"
        assert len(handle.view) == 100
        handle.release()
        assert bytes(handle.acquire()[:4]) == b"kept"
        handle.release()


def test_part_of_a_handle_is_kept_where_something_else_is_said(place: Scene) -> None:
    """A mode, an offset or a length of a claim changes that and nothing else."""
    with place.space() as space, space.handle("data", size=100) as whole:
        whole.acquire()[:] = bytes(range(100))
        whole.release()
        with space.handle("data", offset=10, length=10) as part:
            seen = []
            for claim in ({}, {"mode": "read"}, {"length": 5}, {"offset": 20}):
                seen.append(bytes(part.acquire(**claim)))  # type: ignore[arg-type]
                part.release()
    assert [(one[0], len(one)) for one in seen] == [(10, 10), (10, 10), (10, 5), (20, 10)]


def test_other_coroutines_go_on_while_one_waits_for_locked_memory(place: Scene) -> None:
    """Who acquires what another one of its host has locked waits, and the loop does not: else this would never end."""

    async def run() -> int:
        async with place.space() as space, space.handle("m", size=100) as handle:
            await handle.acquire()
            handle.release()
            with place.store() as store:
                region = store.region("m")
                assert region is not None
                writing = region.write(1 << 50)
                acquiring = asyncio.create_task(handle.acquire())
                done, _ = await asyncio.wait([acquiring], timeout=0.1)
                assert not done
                writing.leave()
                return len(await acquiring)

    assert asyncio.run(run()) == 100
