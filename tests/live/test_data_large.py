"""Several GiB between hosts, and how much memory that takes."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from solvent.handover.data import Options
from tests.live.data_hosts import Child, Hosts, text_from_where, where_from_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover.data import Store

SIZE = 3 << 30
BLOCK = 16 << 20
#: What a process may need besides the data: the interpreter, and the pieces that are under way.
SLACK = 200 << 20
#: Processes of a test end by themselves after a minute, which is too short for these.
MAX_SECONDS = 800


def _block(number: int) -> bytes:
    return (number + 1).to_bytes(8, "little") * (BLOCK // 8)


def _own_bytes(number: int) -> int:
    """Tell how much memory a process has to itself, without what it shares with others in files."""
    for line in Path(f"/proc/{number}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def _shared_bytes(machines: Hosts) -> int:
    """Tell how much memory the files of all hosts take."""
    taken = 0
    for host in ("here", "there"):
        for path in machines.base(host).rglob("*"):
            try:
                taken += path.stat().st_blocks * 512
            except FileNotFoundError:
                continue
    return taken


class _Watch:
    """Looks all the time at how much memory is used, and notes the most."""

    def __init__(self, machines: Hosts, *numbers: int) -> None:
        self._place = machines
        self._numbers = numbers
        self._ended = threading.Event()
        # A child begins with the memory of the process that made it, which may have run thousands of tests.
        self._inherited = _own_bytes(os.getpid())
        self.own = 0
        self.shared = 0
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(0.02):
            self.own = max(self.own, *(_own_bytes(number) - self._inherited for number in self._numbers))
            self.shared = max(self.shared, _shared_bytes(self._place))

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        self._thread.join()


def _filled(store: Store, *, keep_last: bool) -> str:
    with store.create("m", SIZE, keep_last=keep_last).write(1) as writing:
        for number in range(SIZE // BLOCK):
            writing.view[number * BLOCK : (number + 1) * BLOCK] = _block(number)
    return text_from_where(store.where("m"))


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_several_gib_cross_hosts_without_a_second_copy(machines: Hosts) -> None:
    """Each host has the data once, and neither process ever holds it besides: filled, sent, received, and changed."""
    if not os.path.exists("/proc/self/status") or shutil.disk_usage("/dev/shm").free < 2 * SIZE + 4 * SLACK:  # noqa: PTH110, S108
        pytest.skip("there is not enough memory, or nobody tells how much of it is used")

    def serve(say: Callable[[str], None]) -> None:
        signal.alarm(MAX_SECONDS)
        say(_filled(machines.store("here"), keep_last=False))
        threading.Event().wait(MAX_SECONDS)

    def fetch(say: Callable[[str], None]) -> None:
        signal.alarm(MAX_SECONDS)
        where = where_from_text(text)
        region = machines.store("there").fetching(where, options=Options(max_seconds=30)).run()
        with region.write(2) as writing:
            writing.view[SIZE // 2] = 0
        crc = 0
        with region.read(2) as view:
            for number in range(SIZE // BLOCK):
                with view[number * BLOCK : (number + 1) * BLOCK] as block:
                    crc = zlib.crc32(block, crc)
        say(str(crc))

    server = Child(serve)
    watch = _Watch(machines, server.number)
    text = server.hear()
    watch.end()
    fetcher = Child(fetch)
    second = _Watch(machines, server.number, fetcher.number)
    found = int(fetcher.hear())
    second.end()
    fetcher.end()
    server.kill()
    expected = 0
    for number in range(SIZE // BLOCK):
        block = bytearray(_block(number))
        if number == SIZE // BLOCK // 2:
            block[0] = 0
        expected = zlib.crc32(block, expected)
    assert found == expected
    assert watch.own < SLACK
    assert SIZE <= watch.shared < SIZE + SLACK
    assert second.own < SLACK
    assert 2 * SIZE <= second.shared < 2 * SIZE + SLACK


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_draft_of_several_gib_takes_the_memory_of_what_is_changed(machines: Hosts) -> None:
    """Where the last version is kept, a change of a few MiB costs a few MiB, on the way and afterwards."""
    if not os.path.exists("/proc/self/status") or shutil.disk_usage("/dev/shm").free < SIZE + 4 * SLACK:  # noqa: PTH110, S108
        pytest.skip("there is not enough memory, or nobody tells how much of it is used")

    def work(say: Callable[[str], None]) -> None:
        signal.alarm(MAX_SECONDS)
        region = machines.store("here").create("m", SIZE, keep_last=True)
        say("made")
        for version in range(1, 20):
            with region.write(version) as writing:
                start = version * (SIZE // 20)
                writing.view[start : start + BLOCK] = _block(version)
        say(str(all(region.read(19)[number * (SIZE // 20)] == number + 1 for number in range(1, 20))))

    child = Child(work)
    assert child.hear() == "made"
    watch = _Watch(machines, child.number)
    assert child.hear() == "True"
    watch.end()
    child.end()
    assert watch.own < SLACK
    assert watch.shared < SIZE + SLACK
