"""Processes of a space that have no more files to open: the space goes on, and so do they when there are some."""

from __future__ import annotations

import resource
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from solvent.handover.data.folder import Roll
from solvent.net.direct import places
from tests.live.shared_processes import Scene, count, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FEW = 12


def _open_files() -> list[int]:
    return [int(path.name) for path in Path("/proc/self/fd").iterdir()]


def _cards() -> int:
    """Count the resources whose memory this process has open."""
    return Path("/proc/self/maps").read_text().count(".card")


@contextmanager
def _no_files() -> Iterator[None]:
    """Have no more files to open."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_death_costs_no_files_whatever_else_is_on_the_host(place: Scene) -> None:
    """What others have there is looked at in a repair, one after the other, and closed again."""

    def work(say: Callable[[str], None]) -> None:
        with place.space() as space, space.handle("counter", size=8) as handle:
            count(handle)
            until(lambda: len(space.members) == 3)
            cards, files = _cards(), max(_open_files())
            limits = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (files + FEW, limits[1]))
            say("there")
            until(lambda: len(space.members) == 2)
            count(handle)
            assert _cards() == cards
            # The other process leaves next, and hands over more resources than these files are enough for.
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            say("fine")
            until(lambda: len(space.members) == 1)

    child = place.start(work)
    doomed, _ = place.serve()
    with place.space() as space, ExitStack() as stack:
        for number in range(3 * FEW):
            stack.enter_context(space.handle(f"m{number}", size=8)).acquire()
        assert child.hear() == "there"
        doomed.kill()
        assert child.hear() == "fine"
    child.end()


def test_who_has_no_files_to_open_takes_part_again_when_it_has_some(place: Scene, tmp_path: Path) -> None:
    """Meanwhile nobody is dialled and nobody can be told to be dead, which is tried again later."""

    def work(_: Callable[[str], None]) -> None:
        doors, address = places.listen(("127.0.0.1", 0))
        roll = Roll(tmp_path)
        with _no_files():
            assert places.dial_by_name(address, address) is None
            with pytest.raises(OSError, match="Too many open files"):
                places.dial(address)
            assert not roll.is_dead(5)
        assert roll.is_dead(5)
        line = places.dial(address)[0]
        for one in (line, *doors):
            one.close()

    place.start(work).end()


def test_an_inventory_without_files_says_that_there_was_something(place: Scene) -> None:
    """Nobody makes anew what may be there: it is said to be lost, and found when somebody looks again."""

    def work(_: Callable[[str], None]) -> None:
        with place.space(patience=0.1) as space, space.handle("m", initial=b"abc") as handle:
            handle.acquire()
            handle.release()
            handle.destroy()
            until(lambda: not _cards())
            keeping = space._node.resource("m").keeping
            with _no_files():
                told = keeping.inventory(until=0.0, epoch=1)
            found = keeping.inventory(until=0.0, epoch=1)
            assert told is not None
            assert found is not None
            assert (told.version, found.version > 0) == (-1, True)

    place.start(work).end()
