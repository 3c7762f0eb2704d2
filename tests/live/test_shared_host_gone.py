"""A host is gone: by default another one has its data; where there was one copy, every later claim says it is lost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from tests.live.shared_processes import MAX_SECONDS, Scene, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.live.data_hosts import Child

SIZE = 100


def _writer(place: Scene, *, is_released: bool = True, size: int | None = SIZE, **options: Any) -> tuple[Child, str]:
    """Start the only process of the host `two`; it writes `m`, without copies, and releases it, or dies before that."""

    def work(say: Callable[[str], None]) -> None:
        with place.space("two", **options) as space, space.handle("m", size=size, copies=1) as handle:
            view = handle.acquire(timeout=MAX_SECONDS)
            view[:8] = b"released"[: len(view)]
            if is_released:
                handle.release()
            say(space.address)
            time.sleep(MAX_SECONDS)

    child = place.start(work)
    return child, child.hear()


def _kill_host(place: Scene, *children: Child) -> None:
    """Kill all processes of the host `two`, and remove its memory."""
    for child in children:
        child.kill()
    place.remove("two")


@pytest.mark.parametrize("is_part", [False, True], ids=["all", "a part"])
def test_released_data_is_on_another_host_by_default(place: Scene, *, is_part: bool) -> None:
    """A host that used some data alone is lost: what it released, of all or of a part, is what others get."""
    start = 40 if is_part else 0

    def work(say: Callable[[str], None]) -> None:
        with place.space("two", join=space.address) as mine, mine.handle("m", size=SIZE) as handle:
            handle.acquire(timeout=MAX_SECONDS)
            handle.release()
            handle.acquire(offset=start, length=SIZE - start, timeout=MAX_SECONDS)[:8] = b"released"
            handle.release()
            say("done")
            time.sleep(MAX_SECONDS)

    with place.space("one") as space:
        place.serve("three", join=space.address)
        child = place.start(work)
        assert child.hear() == "done"
        _kill_host(place, child)
        with space.handle("m") as handle:
            content = bytes(handle.acquire(timeout=MAX_SECONDS))
        assert content == bytes(start) + b"released" + bytes(SIZE - start - 8)


@pytest.mark.parametrize(
    "contents, claim",
    [
        ({"size": SIZE}, {}),
        ({"size": SIZE}, {"mode": "read"}),
        ({"size": SIZE}, {"offset": 8, "length": 8}),
        ({"initial": b"first"}, {}),
        ({}, {}),
    ],
    ids=["write", "read", "part", "initial", "whatever there is"],
)
def test_released_data_whose_host_is_gone_is_lost(
    place: Scene, contents: dict[str, Any], claim: dict[str, Any]
) -> None:
    """The next claim of any kind raises `DataLost`: it gets no zeros, and does not make the data anew."""
    with place.space("one") as space:
        place.serve("three", join=space.address)
        _kill_host(place, _writer(place, join=space.address)[0])
        with space.handle("m", **contents) as handle, pytest.raises(solvent.DataLost) as caught:
            handle.acquire(timeout=MAX_SECONDS, **claim)
        assert caught.value.code == "S205"


def test_lost_data_is_made_anew_only_on_demand(place: Scene) -> None:
    """After the loss, `acquire(anew=True)` makes the data anew, and other resources are made as ever."""
    with place.space("one") as space:
        place.serve("three", join=space.address)
        _kill_host(place, _writer(place, join=space.address)[0])
        with space.handle("m", size=SIZE) as handle:
            for _ in range(2):
                with pytest.raises(solvent.DataLost):
                    handle.acquire(timeout=MAX_SECONDS)
            handle.acquire(anew=True, timeout=MAX_SECONDS)[:3] = b"new"
            handle.release()
            assert bytes(handle.acquire("read", timeout=MAX_SECONDS)[:4]) == b"new\0"
            handle.release()
        with space.handle("another", size=SIZE) as handle:
            assert bytes(handle.acquire(timeout=MAX_SECONDS)) == bytes(SIZE)


def test_data_of_the_first_process_is_lost_with_its_host(place: Scene) -> None:
    """Processes that never used a resource know that it had data, though the founder of the space is gone."""
    first, address = _writer(place)
    with place.space("one", join=address) as space:
        place.serve("three", join=address)
        place.serve("four", join=address)
        until(lambda: len(space.members) == 4)
        _kill_host(place, first)
        with space.handle("m", size=SIZE) as handle, pytest.raises(solvent.DataLost):
            handle.acquire(timeout=MAX_SECONDS)


def test_who_comes_after_the_loss_learns_of_it(place: Scene) -> None:
    """A process that joins when the data is lost already gets `DataLost`, too."""
    first, address = _writer(place)
    with place.space("three", join=address) as later:
        with place.space("one", join=address) as space:
            place.serve("four", join=address)
            until(lambda: len(later.members) == len(space.members) == 4)
            _kill_host(place, first)
            until(lambda: len(later.members) == 3)
        joined = place.space("five", join=later.address)
        with joined as new, new.handle("m", size=SIZE) as handle, pytest.raises(solvent.DataLost):
            handle.acquire(timeout=MAX_SECONDS)


def test_what_was_never_released_is_not_lost(place: Scene) -> None:
    """A process dies with its host before its first release: the next one makes the data."""
    with place.space("one") as space:
        place.serve("three", join=space.address)
        _kill_host(place, _writer(place, join=space.address, is_released=False)[0])
        with space.handle("m", size=SIZE) as handle:
            assert bytes(handle.acquire(timeout=MAX_SECONDS)) == bytes(SIZE)


def test_a_lock_without_data_survives_the_host_of_its_holder(place: Scene) -> None:
    """A resource that never had data has none to lose: the next one gets the lock."""
    with place.space("one") as space:
        place.serve("three", join=space.address)
        _kill_host(place, _writer(place, join=space.address, size=None)[0])
        with space.handle("m") as handle:
            assert len(handle.acquire(timeout=MAX_SECONDS)) == 0
