"""Fetching data while lines break, peers are silent and others want the same."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.errors import DataLost, SolventError
from solvent.handover.data import Options, Progress
from solvent.handover.data.wire import Line
from tests.live.data_hosts import Cutter, Hosts, filled, hosts

if TYPE_CHECKING:
    from collections.abc import Callable


CONTENT = bytes(range(256)) * 1024
PIECE = 16 * 1024
SMALL = Options(piece=PIECE)


def _code(act: Callable[[], object]) -> str:
    with pytest.raises(SolventError) as caught:
        act()
    return caught.value.code


def test_a_broken_connection_is_resumed(machines: Hosts) -> None:
    """Reset in the middle of the bytes, several times, a fetch goes on where it was and sends little twice."""
    one, other = machines.store("here"), machines.store("there")
    filled(one, "m", CONTENT)
    cutter = Cutter(one.where("m"), [500, 40_000, 70_001, 100, 66_000])
    fetch = other.fetching(cutter.where, options=SMALL)
    assert bytes(fetch.run().read(1)) == CONTENT
    assert (fetch.progress, cutter.connections) == (Progress(len(CONTENT), len(CONTENT), breaks=5), 6)
    assert cutter.sent < len(CONTENT) + 5 * 2 * PIECE
    cutter.close()


@settings(max_examples=15)
@given(st.lists(st.integers(0, 60_000), max_size=4))
def test_wherever_it_breaks_the_right_bytes_arrive(cuts: list[int]) -> None:
    """A connection may break at any byte, also of the handshake and of trailers."""
    with hosts() as machines:
        one, other = machines.store("here"), machines.store("there")
        filled(one, "m", CONTENT[:100_000])
        cutter = Cutter(one.where("m"), list(cuts))
        assert bytes(other.get(cutter.where, options=Options(piece=10_000)).read(1)) == CONTENT[:100_000]
        cutter.close()


def test_another_holder_goes_on_with_a_fetch(machines: Hosts) -> None:
    """What the first has sent stays; the rest comes from another host that has the same version."""
    one, two, other = machines.store("one"), machines.store("two"), machines.store("there")
    filled(one, "m", CONTENT)
    two.get(one.where("m"))
    cutter = Cutter(one.where("m"), [100_000] + [0] * 50)
    second = Cutter(two.where("m"), [])
    region = other.get(cutter.where, second.where, options=SMALL)
    assert bytes(region.read(1)) == CONTENT
    assert 0 < cutter.sent <= 100_000
    with one.get(one.where("m")).write(2):
        pass
    other.remove("m")
    assert bytes(other.get(replace(one.where("m"), version=1), two.where("m")).read(1)) == CONTENT
    assert _code(lambda: other.get(one.where("m"), two.where("m"))) == "D106"
    for relay in (cutter, second):
        relay.close()


def test_who_cannot_be_reached_is_an_error(machines: Hosts) -> None:
    """After some attempts a fetch gives up, and what has arrived stays for the next one."""
    one, other = machines.store("here"), machines.store("there")
    filled(one, "m", CONTENT)
    cutter = Cutter(one.where("m"), [100_000] + [0] * 50)
    fetch = other.fetching(cutter.where, options=Options(max_attempts=2, piece=PIECE))
    assert _code(fetch.run) == "D204"
    assert 0 < fetch.progress.done < len(CONTENT)
    cutter.close()
    assert _code(lambda: other.fetching(cutter.where, options=Options(max_attempts=2)).run()) == "D204"
    seen = list[Progress]()
    other.fetching(one.where("m"), options=SMALL, on_progress=seen.append).run()
    assert seen[0].done == fetch.progress.done + PIECE
    assert seen[-1] == Progress(len(CONTENT), len(CONTENT))


def test_what_a_host_has_is_not_given_up_for_what_nobody_has(machines: Hosts) -> None:
    """A fetch that comes to nothing leaves the version that was here before: it may be the last there is."""
    one, other = machines.store("here"), machines.store("there")
    region = filled(one, "m", CONTENT)
    other.get(one.where("m"))
    with region.write(2) as writing:
        writing.resize(10)
    gone = replace(one.where("m"), version=3)
    nowhere = replace(one.where("m"), address="127.0.0.1:1")
    strange = replace(one.where("m"), size=11)
    for where, code in ((gone, "D201"), (nowhere, "D204"), (strange, "D201"), (replace(gone, token=b""), "D205")):
        assert _code(lambda where=where: other.get(where, options=Options(max_attempts=1))) == code  # type: ignore[misc]
    assert bytes(other.region("m").read(1)) == CONTENT  # type: ignore[union-attr]


def test_a_silent_peer_is_given_up(machines: Hosts) -> None:
    """Somebody that accepts and says nothing more does not hold a fetch for ever."""
    one, other = machines.store("here"), machines.store("there")
    filled(one, "m", CONTENT)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        where = replace(one.where("m"), address=f"127.0.0.1:{deaf.getsockname()[1]}")
        hasty, patient = Options(max_seconds=0.05, max_attempts=2), Options(max_seconds=0.5)
        assert _code(lambda: other.get(where, options=hasty)) == "D204"
        assert bytes(other.get(where, one.where("m"), options=patient).read(1)) == CONTENT


def test_bytes_that_were_written_while_they_were_sent_are_not_believed(
    machines: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If somebody writes without the right to, whoever fetches gets an error and not a mixture."""
    one, other = machines.store("here"), machines.store("there")
    region = filled(one, "m", CONTENT)
    where = one.where("m")
    real = Line.send_piece

    def send_piece(line: Line, piece: memoryview, *, is_still: Callable[[], bool], **options: Any) -> bool:
        def is_still_after_all() -> bool:
            if region.version == 1:
                with region.write(2) as writing:
                    writing.view[:] = bytes(len(CONTENT))
            return is_still()

        return real(line, piece, is_still=is_still_after_all, **options)

    monkeypatch.setattr(Line, "send_piece", send_piece)
    assert _code(lambda: other.get(where, options=SMALL)) == "D201"
    with pytest.raises(DataLost):
        other.region("m").read(1, length=1)  # type: ignore[union-attr]


def test_two_processes_of_a_host_fetch_once(machines: Hosts) -> None:
    """The second waits for what the first fetches, and finds it there."""
    one = machines.store("here")
    filled(one, "m", CONTENT)
    cutter = Cutter(one.where("m"), [])
    mates = [machines.store("there") for _ in range(4)]

    with ThreadPoolExecutor(len(mates)) as threads:
        for region in threads.map(lambda mate: mate.get(cutter.where, options=SMALL), mates):
            assert bytes(region.read(1)) == CONTENT
    assert cutter.connections == 1
    cutter.close()


def test_a_mate_that_gets_nothing_is_not_waited_for_without_end(machines: Hosts) -> None:
    """One that fetches from somebody that is silent has its turn, but the next one goes on without it."""
    one, stuck, other = machines.store("here"), machines.store("there"), machines.store("there")
    filled(one, "m", CONTENT)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        where = replace(one.where("m"), address=f"127.0.0.1:{deaf.getsockname()[1]}")

        first = stuck.fetching(where, options=Options(max_seconds=60))
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(first.run)
            region = other.get(one.where("m"), options=Options(max_seconds=0.5))
            assert bytes(region.read(1)) == CONTENT
            assert not waiting.done()
            first.cancel()


def test_a_fetch_is_cancelled_by_another_thread(machines: Hosts) -> None:
    """It stops at once, whatever it waits for, and others can write there afterwards."""
    one, other = machines.store("here"), machines.store("there")
    filled(one, "m", CONTENT)
    with socket.create_server(("127.0.0.1", 0)) as deaf, ThreadPoolExecutor(1) as threads:
        where = replace(one.where("m"), address=f"127.0.0.1:{deaf.getsockname()[1]}")
        fetch = other.fetching(where, options=Options(max_seconds=60))
        waiting = threads.submit(fetch.run)
        deaf.accept()[0].close()
        fetch.cancel()
        assert _code(waiting.result) == "D209"
    fetch = other.fetching(one.where("m"), options=SMALL, on_progress=lambda _: fetch.cancel())
    assert _code(fetch.run) == "D209"
    assert fetch.progress.done == PIECE
    assert not other.region("m").is_busy()  # type: ignore[union-attr]
    assert bytes(other.get(one.where("m")).read(1)) == CONTENT
