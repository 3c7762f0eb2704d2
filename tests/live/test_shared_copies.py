"""Data of which several hosts have every released version: it survives the loss of a host, whenever that is."""

from __future__ import annotations

import os
import resource
import signal
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

import solvent
from solvent.handover import resource as resource_module
from tests.live.shared_processes import MAX_SECONDS, Scene, count, counted, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.handover import BlockingHandle, BlockingSpace
    from tests.live.data_hosts import Child

SIZE = 300_000


@pytest.fixture(name="counting")
def _counting(place: Scene) -> Iterator[tuple[BlockingSpace, Child]]:
    """Have three processes on a host, and the only one of another, which has counted: both hosts have that."""
    with place.space("one") as space:
        for _ in range(2):
            place.serve("one", join=space.address)

        def work(say: Callable[[str], None]) -> None:
            with place.space("two", join=space.address) as mine, mine.handle("m", size=SIZE, copies=2) as own:
                count(own)
                say("counted")
                time.sleep(MAX_SECONDS)

        child = place.start(work)
        assert child.hear() == "counted"
        yield space, child


def _copied(place: Scene, space: BlockingSpace, handle: BlockingHandle) -> tuple[Child, str]:
    """Count, with two processes on this host; give the only one of the host with the copy, and a host without."""
    place.serve("one", join=space.address)
    children = {host: place.serve(host, join=space.address)[0] for host in ("two", "three")}
    count(handle)
    [lost] = [host for host in children if _version_on(place, host) is not None]
    [other] = children.keys() - {lost}
    return children[lost], other


def _dies_after(place: Scene, join: str, times: int) -> int:
    """Have the only process of a host count so often, and die as soon as the last release is done; give its number."""

    def work(_: Callable[[str], None]) -> None:
        with place.space("two", join=join) as mine, mine.handle("counter") as own:
            count(own, times)
            os.kill(os.getpid(), signal.SIGKILL)

    number = place.start(work).number
    os.waitpid(number, 0)
    return number


def test_every_count_survives_the_death_of_its_host(place: Scene) -> None:
    """Whoever is the last of its host, and dies right after a release, has lost nothing."""
    with place.space("one") as space, space.handle("counter", size=SIZE, copies=2) as handle:
        count(handle)
        place.serve("three", join=space.address)
        for life in range(3):
            _dies_after(place, space.address, life + 1)
            count(handle, 2)
        assert counted(handle) == 1 + 6 + 6


def test_a_host_that_does_not_take_part_in_the_resource_can_have_the_copy(place: Scene) -> None:
    """The two that count die, and one that has only looked on goes on with what they released."""
    with place.space("one") as space:
        mates = [place.serve("one", join=space.address)[0] for _ in range(2)]

        def work(say: Callable[[str], None]) -> None:
            with place.space("two", join=space.address) as mine, mine.handle("counter", size=SIZE, copies=2) as own:
                count(own, 3)
                say("counted")
                os.kill(os.getpid(), signal.SIGKILL)

        child = place.start(work)
        assert child.hear() == "counted"
        with space.handle("counter", size=SIZE) as handle:
            assert counted(handle) == 3
        for mate in mates:
            mate.kill()


def test_without_copies_it_is_told_that_an_older_version_may_have_come_back(
    place: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """Each handle that was there when a host was lost with the last version is told, once."""
    with (
        place.space("one") as space,
        space.handle("counter", size=SIZE, copies=1) as handle,
        space.handle("counter") as other,
    ):
        count(handle)
        place.serve("three", join=space.address)
        _dies_after(place, space.address, 3)
        for one in (handle, other):
            one.acquire("read", timeout=MAX_SECONDS)
            assert one.trouble is not None
            assert one.trouble.code == "S208"
            one.release()
        assert "S208" in caplog.text
        assert counted(handle) == 1
        assert handle.trouble is None
        with space.handle("counter") as late:
            assert counted(late) == 1
            assert late.trouble is None


def test_where_nothing_can_be_lost_nothing_is_told(place: Scene) -> None:
    """Another process of its host lives, or another host has a copy."""
    with place.space("one") as space, space.handle("counter", size=SIZE, copies=2) as handle:
        count(handle)
        place.serve("three", join=space.address)
        _dies_after(place, space.address, 2)
        assert _acquired(handle) == 3
        with space.handle("m", size=100) as own:
            count(own)
            place.serve("two", join=space.address)
            place.holder("two", join=space.address).kill()
            _acquired(own)


def _acquired(handle: BlockingHandle) -> int:
    """Acquire and release it, without trouble; tell how far it was counted."""
    view = handle.acquire(timeout=MAX_SECONDS)
    assert handle.trouble is None
    number = int.from_bytes(view[:8], "little")
    handle.release()
    return number


def test_a_part_survives_the_death_of_its_host(place: Scene) -> None:
    """What was changed of a part is on another host as well."""
    with place.space("one") as space, space.handle("m", initial=bytes(100), copies=2) as handle:
        handle.acquire()
        handle.release()
        place.serve("three", join=space.address)

        def work(_: Callable[[str], None]) -> None:
            with place.space("two", join=space.address) as mine, mine.handle("m") as own:
                own.acquire(offset=10, length=5, timeout=MAX_SECONDS)[:] = b"parts"
                own.release()
                os.kill(os.getpid(), signal.SIGKILL)

        os.waitpid(place.start(work).number, 0)
        assert bytes(handle.acquire(timeout=MAX_SECONDS)) == bytes(10) + b"parts" + bytes(85)


@pytest.mark.parametrize("is_user", [True, False])
def test_a_copy_that_was_lost_is_made_again_at_once(
    place: Scene,
    counting: tuple[BlockingSpace, Child],
    is_user: bool,  # noqa: FBT001
) -> None:
    """Whoever has the data then sees to it, whether it uses the resource or only has a copy."""
    space, child = counting
    with space.handle("m") if is_user else nullcontext():
        third, _ = place.serve("three", join=space.address)
        child.kill()
        until(lambda: _version_on(place, "three") is not None)
        assert _version_on(place, "three") == _version_on(place, "one")
        third.kill()
    with space.handle("m") as handle:
        assert counted(handle) == 1


def test_a_copy_whose_host_is_lost_is_made_again_at_once(place: Scene) -> None:
    """Who released it need not do so again."""
    with place.space("one") as space, space.handle("m", size=SIZE, copies=2) as handle:
        lost, other = _copied(place, space, handle)
        lost.kill()
        until(lambda: _version_on(place, other) is not None)
        assert _version_on(place, other) == _version_on(place, "one")
        assert counted(handle) == 1


def test_a_handle_that_comes_and_goes_while_a_copy_is_made_again_loses_nothing(
    place: Scene, counting: tuple[BlockingSpace, Child]
) -> None:
    """The process leaves the resource only when others have what it has released, which they would not find else."""
    space, child = counting
    with place.store("three") as busy:
        place.serve("three", join=space.address)
        # Somebody of that host has it: whoever is to have it copied there waits.
        writing = busy.create("m", SIZE, keep_last=True, copies=2).write(1)
        before = _version_on(place, "one")
        child.kill()
        until(lambda: _version_on(place, "one") != before)
        with space.handle("m"):
            pass
        writing.abandon()
        with space.handle("m") as handle:
            assert counted(handle) == 1


def test_a_copy_is_made_again_when_who_reads_has_ended(place: Scene) -> None:
    """Who releases what it has only read makes no copies, so whoever has the data tries again."""
    with place.space("one") as space, space.handle("m", size=SIZE, copies=2) as handle, space.handle("m") as reader:
        lost, other = _copied(place, space, handle)
        reader.acquire("read")
        members = len(space.members)
        lost.kill()
        until(lambda: len(space.members) < members)
        time.sleep(2 * resource_module._MAX_SECONDS)
        assert _version_on(place, other) is None
        reader.release()
        until(lambda: _version_on(place, other) is not None)
        assert counted(handle) == 1


def test_alone_a_release_waits_for_nobody(place: Scene) -> None:
    """Where there is no other host, it counts at once."""
    with place.space("one") as space, space.handle("m", size=100, copies=3) as handle:
        place.serve("one", join=space.address)
        count(handle)
        assert handle.trouble is None


def _full(place: Scene, join: str) -> Child:
    """Have a process on a host that has no room for data."""

    def work(say: Callable[[str], None]) -> None:
        with place.space("two", join=join) as mine:
            resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE // 2, SIZE // 2))
            say(mine.address)
            time.sleep(MAX_SECONDS)

    child = place.start(work)
    assert child.hear()
    return child


def test_another_host_is_asked_if_one_takes_nothing(place: Scene) -> None:
    """It need not be said which: one that can is found."""
    with place.space("one") as space, space.handle("m", size=SIZE, copies=2) as handle:
        full = _full(place, space.address)
        place.serve("three", join=space.address)
        for _ in range(2):
            count(handle)
            assert handle.trouble is None
            assert _version_on(place, "three") == _version_on(place, "one") is not None
        # Nobody may entrust it with anything.
        full.kill()


def test_a_host_that_is_killed_holds_up_no_release(place: Scene) -> None:
    """Whether it is known to be dead by then or not."""
    with place.space("one") as space, space.handle("m", size=SIZE, copies=2) as handle:
        dead, _ = place.serve("two", join=space.address)
        place.serve("three", join=space.address)
        count(handle)
        dead.kill()
        count(handle)
        assert handle.trouble is None
        assert _version_on(place, "three") == _version_on(place, "one") is not None


def test_a_release_that_nobody_takes_counts_and_says_so(place: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """It does not hang; the handle and the log tell, until a release is taken again."""
    with place.space("one") as space, space.handle("m", size=SIZE, copies=2) as handle:
        full = _full(place, space.address)
        count(handle)
        assert handle.trouble is not None
        assert handle.trouble.code == "S209"
        assert "1 of 2 hosts" in handle.trouble.message
        assert "S209" in caplog.text
        place.serve("three", join=space.address)
        count(handle)
        assert handle.trouble is None
        assert counted(handle) == 2
        full.kill()


@pytest.mark.parametrize("wrong", [{"copies": 0}, {"copies": "2"}, {"copies": 17}, {"copies": 2, "keep_last": False}])
def test_copies_that_cannot_be_are_an_error(place: Scene, wrong: dict[str, object]) -> None:
    """No number, too many, and of what is not even kept on its own host."""
    with place.space() as space, pytest.raises(solvent.Misuse) as caught:
        space.handle("m", size=100, **wrong)  # type: ignore[arg-type]
    assert caught.value.code == "S102"


def _version_on(place: Scene, host: str) -> int | None:
    with place.store(host) as store:
        region = store.region("m")
        return None if region is None else region.version
