"""Data and processes that die: what survives, what is torn, and what is swept."""

from __future__ import annotations

import os
import random
import resource
import time
from typing import TYPE_CHECKING

import pytest

from solvent.errors import DataLost, DataProblem
from solvent.handover.data import Options, Progress, sweep
from solvent.handover.data import region as region_module
from solvent.handover.data.memory import can_draft
from tests.live.data_hosts import Child, Hosts, filled, split_off, text_from_where, where_from_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from solvent.handover.data import Store, Where

SIZE = 200_000
KILLS = 10
SMALL = Options(piece=10_000)


def _serve(machines: Hosts, host: str, prepare: Callable[[Store], Where]) -> tuple[Child, Where]:
    """Start a process that has something, on a host."""

    def work(say: Callable[[str], None]) -> None:
        say(text_from_where(prepare(machines.store(host))))
        time.sleep(3600)

    child = Child(work)
    return child, where_from_text(child.hear())


def _write_on_and_on(machines: Hosts, say: Callable[[str], None]) -> None:
    region = machines.store("here").region("m")
    assert region is not None
    version = (region.version or 0) + 1
    while True:
        with region.write(version) as writing:
            for start in range(0, SIZE, 20_000):
                writing.view[start : start + 20_000] = bytes([version % 256]) * 20_000
        say(str(version))
        version += 1


@pytest.mark.parametrize("kept", ["nothing", "a copy", "drafts", "either"])
def test_a_killed_writer_leaves_a_version_or_a_torn_region(
    machines: Hosts, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any point, it never leaves half-written bytes as a version; where it is kept, the last one is had."""
    if kept == "a copy":
        monkeypatch.setattr(region_module, "can_draft", lambda: False)
    if kept == "drafts":
        monkeypatch.setattr(region_module, "_is_rewritten", lambda _: False)
    store = machines.store("here")
    region = store.create("m", SIZE, keep_last=kept != "nothing")
    draw = random.Random(7)
    must_tear = kept != "either" and not (kept == "drafts" and can_draft())
    torn = kills = 0
    while kills < KILLS or (must_tear and not torn):
        kills += 1
        child = Child(lambda say: _write_on_and_on(machines, say))
        said = child.hear()
        time.sleep(draw.uniform(0, 0.01))
        said = child.kill() or said
        newest = region.newest
        torn += region.version is None
        if newest is None:
            assert kept == "nothing"
            with pytest.raises(DataLost) as caught:
                region.check(int(said))
            assert caught.value.code == "D202"
            newest = int(said)
            with region.write(newest) as writing:
                writing.view[:] = bytes([newest % 256]) * SIZE
        # It may have died after a version was done and before it could say so.
        assert newest in (int(said), int(said) + 1)
        region.recover(newest)
        assert bytes(region.read(newest)) == bytes([newest % 256]) * SIZE
    if kept == "drafts" and can_draft():
        assert not torn


def test_makers_and_removers_that_are_killed_leave_nothing_that_stays(machines: Hosts) -> None:
    """Killed while it makes and removes memory, a process leaves what the next one can use or make anew."""
    store = machines.store("here")
    draw = random.Random(3)

    def work(say: Callable[[str], None]) -> None:
        mine = machines.store("here")
        say("ready")
        while True:
            if mine.region("m") is None:
                mine.create("m", SIZE)
            mine.remove("m")

    for _ in range(KILLS):
        child = Child(work)
        child.hear()
        time.sleep(draw.uniform(0, 0.005))
        child.kill()
        region = store.region("m") or store.create("m", SIZE)
        with region.write(1) as writing:
            writing.view[:] = bytes(SIZE)
        store.remove("m")
    left = [path.name for path in machines.base("here").rglob("*") if path.suffix]
    assert left == []


@pytest.mark.parametrize("part", [(0, None), (50_000, 100_000)])
def test_what_a_killed_writer_has_torn_is_put_right_for_another_host(
    machines: Hosts, part: tuple[int, int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who fetches the last version gets it, though nobody of the host where it lies has asked for it before."""
    monkeypatch.setattr(region_module, "can_draft", lambda: False)
    mate, other = machines.store("here"), machines.store("there")
    filled(mate, "m", b"x" * SIZE, keep_last=True)
    where = mate.where("m")

    def tear(say: Callable[[str], None]) -> None:
        region = machines.store("here").region("m")
        assert region is not None
        region.write(2, offset=part[0], length=part[1]).view[:100] = b"y" * 100
        say("torn")
        time.sleep(3600)

    child = Child(tear)
    assert child.hear() == "torn"
    with pytest.raises(DataProblem) as caught:
        other.get(where)
    assert caught.value.code == "D203"
    child.kill()
    assert bytes(other.get(where).read(1)) == b"x" * SIZE


def test_a_run_that_was_killed_altogether_finds_its_data(machines: Hosts) -> None:
    """Started again at once, it goes on with what it had; later everything of it is swept."""
    child, where = _serve(machines, "here", lambda store: store.where(filled(store, "m", b"x" * SIZE).resource))
    assert sweep(machines.base("here"), older_seconds=0).runs == 0
    child.kill()
    again, _ = _serve(machines, "here", lambda store: store.where(store.get(where).resource))
    again.kill()
    assert sweep(machines.base("here")).runs == 0
    swept = sweep(machines.base("here"), older_seconds=0)
    assert (swept.runs, swept.bytes >= SIZE) == (1, True)
    assert list(machines.base("here").iterdir()) == []


def test_a_copy_of_a_process_keeps_nothing_alive(machines: Hosts) -> None:
    """A process that was split off from one with a store does not stand for it when that is dead."""

    def work(say: Callable[[str], None]) -> None:
        store = machines.store("here")
        writing = filled(store, "m", b"x" * SIZE).write(2)
        writing.view[0] = 1

        def stay() -> None:
            say(str(os.getpid()))
            time.sleep(3600)

        split_off(stay)
        time.sleep(3600)
        writing.commit()

    child = Child(work)
    copy = int(child.hear())
    child.kill()
    store = machines.store("here")
    region = store.region("m")
    assert region is not None
    assert not region.is_busy()
    with pytest.raises(DataLost) as caught:
        region.check(2)
    assert caught.value.code == "D202"
    store.close(keep=True)
    assert sweep(machines.base("here"), older_seconds=0).runs == 1
    os.kill(copy, 9)


def test_a_killed_holder_is_replaced_in_the_middle_of_a_fetch(machines: Hosts) -> None:
    """The rest comes from another host that has the version, and nothing is fetched twice."""
    # More than what the system may have taken of it before the holder is killed.
    times, part = 150, random.Random(1).randbytes(SIZE)
    second = machines.store("second")
    child, where = _serve(machines, "first", lambda store: store.where(filled(store, "m", part * times).resource))
    second.get(where)
    other = machines.store("there")
    seen = list[Progress]()

    def on_progress(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 3:
            child.kill()

    region = other.fetching(where, second.where("m"), options=SMALL, on_progress=on_progress).run()
    with region.read(1) as view:
        assert all(view[SIZE * number : SIZE * (number + 1)] == part for number in range(times))
    assert [progress.done for progress in seen] == sorted({progress.done for progress in seen})
    assert seen[-1].breaks > 0


def test_a_killed_fetcher_is_continued_by_the_next(machines: Hosts) -> None:
    """What has arrived stays, and the next process of the host fetches the rest."""
    content = random.Random(1).randbytes(4 * SIZE)
    one = machines.store("here")
    filled(one, "m", content)
    where = one.where("m")
    draw = random.Random(5)

    def work(say: Callable[[str], None]) -> None:
        machines.store("there").fetching(
            where, options=SMALL, on_progress=lambda progress: say(str(progress.done))
        ).run()

    arrived = 0
    for _ in range(4):
        child = Child(work)
        first = int(child.hear() or len(content))
        assert first > arrived or first == len(content)
        time.sleep(draw.uniform(0, 0.001))
        arrived = int(child.kill() or first) - 10_000
    other = machines.store("there")
    seen = list[Progress]()
    region = other.fetching(where, options=SMALL, on_progress=seen.append).run()
    assert bytes(region.read(1)) == content
    assert not seen or seen[0].done >= arrived


def test_data_is_not_copied_on_its_way(machines: Hosts) -> None:
    """A process that may not have a second copy in its memory fetches and attaches all the same."""
    size = 100_000_000
    one = machines.store("here")
    one.create("m", size)
    where = one.where("m")

    def work(say: Callable[[str], None]) -> None:
        with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
            used = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
        resource.setrlimit(resource.RLIMIT_DATA, (used + size // 2, used + size // 2))
        with pytest.raises(MemoryError):
            bytearray(size)
        here, there = machines.store("here"), machines.store("there")
        assert here.get(where).read(0)[-1] == 0
        with there.get(where).write(1) as writing:
            writing.view[-1] = 7
        say(str(there.get(there.where("m")).read(1)[-1]))

    if not os.path.exists("/proc/self/status"):  # noqa: PTH110
        pytest.skip("nobody tells here how much memory a process has")
    child = Child(work)
    assert child.hear() == "7"
    child.end()


@pytest.mark.parametrize("keep_last", [True, False])
def test_room_that_a_killed_process_asked_for_is_given_back(machines: Hosts, *, keep_last: bool) -> None:
    """Whoever writes next has the memory that the data needs, and no more."""
    store = machines.store("here")
    region = filled(store, "m", bytes(SIZE), keep_last=keep_last)
    before = region.path.stat().st_blocks

    def grow(say: Callable[[str], None]) -> None:
        other = machines.store("here").region("m")
        assert other is not None
        other.write(2).resize(100 * SIZE)
        say("grown")
        time.sleep(3600)

    child = Child(grow)
    assert child.hear() == "grown"
    assert region.path.stat().st_blocks > 50 * before
    child.kill()
    with region.write(3) as writing:
        writing.resize(SIZE)
    assert region.path.stat().st_blocks < 2 * before
    assert len(region.read(3)) == SIZE


def test_a_file_that_is_full_is_an_error_and_no_signal(machines: Hosts, tmp_path: Path) -> None:
    """More than the memory has room for is refused when it is asked for."""
    store = machines.store("here")
    with pytest.raises(DataProblem) as caught:
        store.create("m", 1 << 36)
    assert caught.value.code == "D211"
    assert store.region("m") is None
    store.create("m", 10)
