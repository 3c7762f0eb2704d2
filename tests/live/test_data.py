"""Handing data over between stores: on one host, and from one to another."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.errors import DataGone, Misuse, NodeProblem, SolventError
from solvent.live.addresses import address_from_text
from solvent.live.data import Options, Progress, Store
from solvent.live.data.dialling import Dialling
from solvent.live.data.wire import Have, Line, Want
from tests.live.data_hosts import RUN, SECRET, Cutter, Hosts, filled, hosts
from tests.live.networks import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from solvent.live.data import Where

CONTENT = bytes(range(256)) * 1024
PIECE = 16 * 1024


@pytest.fixture(name="place")
def _place() -> Iterator[Hosts]:
    with hosts() as some:
        yield some


def _code(act: Callable[[], object]) -> str:
    with pytest.raises(SolventError) as caught:
        act()
    return caught.value.code


def test_on_one_host_a_name_is_handed_over(place: Hosts) -> None:
    """The next one attaches to the same memory, and finds it attached the next time."""
    one, other = place.store("here"), place.store("here")
    filled(one, "m", CONTENT)
    where = one.where("m")
    assert other.is_here(where)
    region = other.get(where)
    assert bytes(region.read(1)) == CONTENT
    for version in range(2, 20, 2):
        with other.get(one.where("m")).write(version) as writing:
            writing.view[0] = version
        assert other.get(other.where("m")) is region
        assert one.get(other.where("m")).read(version)[0] == version
        with one.get(other.where("m")).write(version + 1):
            pass
    assert sum(path.stat().st_size for path in place.base("here").rglob("*.data")) == len(CONTENT)


def test_between_hosts_the_bytes_are_fetched(place: Hosts) -> None:
    """The successor has the version, the predecessor still has it, and both go on from there."""
    one, other = place.store("here", piece=PIECE), place.store("there")
    filled(one, "m", CONTENT, form="some bytes")
    where = one.where("m")
    assert not other.is_here(where)
    region = other.get(where)
    assert (bytes(region.read(1)), region.sheet.form) == (CONTENT, "some bytes")
    with region.write(2) as writing:
        writing.view[:3] = b"new"
    assert bytes(one.region("m").read(1)) == CONTENT  # type: ignore[union-attr]
    back = one.get(other.where("m"))
    assert bytes(back.read(2)) == b"new" + CONTENT[3:]


@settings(max_examples=40)
@given(size=st.integers(0, 5000), piece=st.integers(1, 6000), data=st.data())
def test_every_size_and_stretch_arrives(size: int, piece: int, data: st.DataObject) -> None:
    """Whatever the sizes of data, pieces and stretches are, the right bytes arrive in the right places."""
    with hosts() as place:
        one, other = place.store("here", piece=piece), place.store("there")
        content = bytes(number * 7 % 251 for number in range(size))
        filled(one, "m", content, keep_last=data.draw(st.booleans()))
        if size and data.draw(st.booleans()):
            offset = data.draw(st.integers(0, size - 1))
            length = data.draw(st.integers(1, size - offset))
            stretch = Options(offset=offset, length=length, has_checksum=data.draw(st.booleans()))
            region = other.fetching(one.where("m"), options=stretch).run()
            assert bytes(region.read(1, offset=offset, length=length)) == content[offset : offset + length]
        assert bytes(other.get(one.where("m")).read(1)) == content


def test_stretches_come_from_those_that_wrote_them(place: Hosts) -> None:
    """Two hosts write a part each at the same time, and whoever wants all of it puts it together."""
    one, two, three = place.store("one"), place.store("two"), place.store("three")
    filled(one, "m", bytes(100))
    half = Options(offset=50, length=50)
    two.get(one.where("m"))
    three.get(one.where("m"))
    for store, offset, version in ((one, 0, 2), (two, 50, 3)):
        region = store.region("m")
        assert region is not None
        with region.write(version, offset=offset, length=50) as writing:
            writing.view[:] = bytes([version]) * 50
    assert _code(lambda: one.where("m")) == "D202"
    three.get(two.where("m", offset=50), options=half)
    region = three.get(one.where("m", length=50), options=Options(length=50))
    assert bytes(region.read(2, length=50)) + bytes(region.read(3, offset=50)) == b"\x02" * 50 + b"\x03" * 50
    mate = place.store("two")
    assert bytes(mate.get(two.where("m", offset=50), options=half).read(3, offset=50)) == b"\x03" * 50
    assert _code(lambda: mate.get(two.where("m", offset=50))) == "D201"


def test_another_size_takes_the_place_of_the_old_one(place: Hosts) -> None:
    """A resource may grow and shrink from version to version, on all hosts."""
    one, other = place.store("here"), place.store("there")
    filled(one, "m", CONTENT)
    for version, size in enumerate((len(CONTENT), 3 * len(CONTENT), 10, 0, 70_000), 2):
        with one.get(one.where("m")).write(version) as writing:
            writing.resize(size)
            writing.view[:] = bytes([version]) * size
        region = other.get(one.where("m"))
        assert bytes(region.read(version)) == bytes([version]) * size


def test_arrays_and_files_are_handed_over(place: Hosts, tmp_path: Path) -> None:
    """An array arrives as an array; a file arrives as memory, or as a file where one is named."""
    numpy = pytest.importorskip("numpy")
    one, other, third = place.store("here"), place.store("there"), place.store("elsewhere")
    (tmp_path / "grid.bin").write_bytes(bytes(800))
    with one.create("grid", path=tmp_path / "grid.bin").write(1) as writing:
        writing.array(float, (10, 10))[:] = numpy.eye(10)
    assert (other.get(one.where("grid")).array(1) == numpy.eye(10)).all()
    third.fetching(one.where("grid"), path=tmp_path / "copy.bin").run()
    assert (tmp_path / "copy.bin").read_bytes() == (tmp_path / "grid.bin").read_bytes()
    assert not list(place.base("elsewhere").rglob("*.data"))


def test_a_version_that_is_gone_or_different_is_an_error(place: Hosts) -> None:
    """Nobody gets other bytes than those of the version he asked for."""
    one, other, mate = place.store("here"), place.store("there"), place.store("here")
    region = filled(one, "m", CONTENT)
    where = one.where("m")
    with region.write(2):
        assert _code(lambda: mate.get(where)) == _code(lambda: other.get(where)) == "D203"
        assert _code(lambda: one.where("m")) == "D202"
    for wrong in (where, replace(where, version=3), replace(where, resource="n")):
        for store in (mate, other):
            with pytest.raises(DataGone) as caught:
                store.get(wrong)
            assert caught.value.code == "D201"
    assert _code(lambda: other.get(replace(one.where("m"), size=5))) == "D204"
    one.remove("m")
    filled(one, "m", CONTENT)
    assert _code(lambda: mate.get(where)) == "D201"
    assert bytes(mate.get(one.where("m")).read(1)) == CONTENT
    assert _code(lambda: one.where("n")) == "D201"
    assert _code(lambda: one.create("m", 5)) == "D210"


def test_who_does_not_know_the_secret_gets_nothing(place: Hosts) -> None:
    """Another secret, another run, or no token: the data stays where it is."""
    one = place.store("here")
    filled(one, "m", CONTENT)
    where = one.where("m")
    strangers = [
        place.store("s1", secret=b"another"),
        place.store("s2", secret=b""),
        Store("other run", secret=SECRET, folder=place.base("s3")),
    ]
    for stranger in strangers:
        assert _code(lambda stranger=stranger: stranger.get(where)) == "D205"  # type: ignore[misc]
        stranger.close()
    there = place.store("there")
    assert _code(lambda: there.get(replace(where, token=b"guess"))) == "D205"
    assert _code(lambda: there.get(replace(where, address="nowhere"))) == "D205"
    assert bytes(there.get(where).read(1)) == CONTENT


def test_nonsense_does_not_disturb_a_server(place: Hosts) -> None:
    """Strangers that send anything at all are cut off, and the next fetch works."""
    one, other = place.store("here"), place.store("there")
    filled(one, "m", CONTENT)
    where = one.where("m")
    for said in (b"", b"GET / HTTP/1.0\r\n\r\n", struct.pack("!I", 1 << 30), struct.pack("!I", 4) + b"\xff" * 4):
        with socket.create_connection(address_from_text(where.address)) as line:
            line.sendall(said)
            with suppress(OSError):
                line.shutdown(socket.SHUT_WR)
                assert line.recv(100) == b""
    line, _ = other._lines.take(where, Dialling(5))
    for nonsense in (Want("m", 1, -5, 10), Want("m", 1, 0, 1 << 50), Want("", 1, 0, 1), Want("m", -1, 0, 5)):
        line.say_message(nonsense)
        assert not isinstance(line.hear_message(), Have)
    line.close()
    assert bytes(other.get(where).read(1)) == CONTENT


def test_a_broken_connection_is_resumed(place: Hosts) -> None:
    """Reset in the middle of the bytes, several times, a fetch goes on where it was and sends little twice."""
    one, other = place.store("here", piece=PIECE), place.store("there")
    filled(one, "m", CONTENT)
    cutter = Cutter(one.where("m"), [500, 40_000, 70_001, 100, 66_000])
    fetch = other.fetching(cutter.where)
    assert bytes(fetch.run().read(1)) == CONTENT
    assert (fetch.progress, cutter.connections) == (Progress(len(CONTENT), len(CONTENT), breaks=5), 6)
    assert cutter.sent < len(CONTENT) + 5 * 2 * PIECE
    cutter.close()


@settings(max_examples=15)
@given(st.lists(st.integers(0, 60_000), max_size=4))
def test_wherever_it_breaks_the_right_bytes_arrive(cuts: list[int]) -> None:
    """A connection may break at any byte, also of the handshake and of trailers."""
    with hosts() as place:
        one, other = place.store("here", piece=10_000), place.store("there")
        filled(one, "m", CONTENT[:100_000])
        cutter = Cutter(one.where("m"), list(cuts))
        assert bytes(other.get(cutter.where).read(1)) == CONTENT[:100_000]
        cutter.close()


def test_another_holder_goes_on_with_a_fetch(place: Hosts) -> None:
    """What the first has sent stays; the rest comes from another host that has the same version."""
    one, two, other = place.store("one", piece=PIECE), place.store("two", piece=PIECE), place.store("there")
    filled(one, "m", CONTENT)
    two.get(one.where("m"))
    cutter = Cutter(one.where("m"), [100_000] + [0] * 50)
    second = Cutter(two.where("m"), [])
    region = other.get(cutter.where, second.where)
    assert bytes(region.read(1)) == CONTENT
    assert 0 < cutter.sent <= 100_000
    with one.get(one.where("m")).write(2):
        pass
    other.remove("m")
    assert bytes(other.get(replace(one.where("m"), version=1), two.where("m")).read(1)) == CONTENT
    assert _code(lambda: other.get(one.where("m"), two.where("m"))) == "D106"
    for relay in (cutter, second):
        relay.close()


def test_who_cannot_be_reached_is_an_error(place: Hosts) -> None:
    """After some attempts a fetch gives up, and what has arrived stays for the next one."""
    one, other = place.store("here", piece=PIECE), place.store("there")
    filled(one, "m", CONTENT)
    cutter = Cutter(one.where("m"), [100_000] + [0] * 50)
    fetch = other.fetching(cutter.where, options=Options(attempts_max=2))
    assert _code(fetch.run) == "D204"
    assert 0 < fetch.progress.done < len(CONTENT)
    cutter.close()
    assert _code(lambda: other.fetching(cutter.where, options=Options(attempts_max=2)).run()) == "D204"
    seen = list[Progress]()
    other.fetching(one.where("m"), on_progress=seen.append).run()
    assert seen[0].done == fetch.progress.done + PIECE
    assert seen[-1] == Progress(len(CONTENT), len(CONTENT))


def test_a_silent_peer_is_given_up(place: Hosts) -> None:
    """Somebody that accepts and says nothing more does not hold a fetch for ever."""
    one, other = place.store("here"), place.store("there")
    filled(one, "m", CONTENT)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        where = replace(one.where("m"), address=f"127.0.0.1:{deaf.getsockname()[1]}")
        options = Options(seconds_max=0.05, attempts_max=2)
        assert _code(lambda: other.get(where, options=options)) == "D204"
        assert bytes(other.get(where, one.where("m"), options=options).read(1)) == CONTENT


def _damaging(where: Where) -> Callable[[memoryview], None]:
    """Damage the first piece that arrives."""
    left = [1]

    def damage(place: memoryview) -> None:
        if left:
            left.pop()
            place[5] ^= 1

    return damage


def test_a_checksum_finds_what_was_damaged(place: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """With checksums a damaged piece is fetched again; without them nobody would notice."""
    one, other = place.store("here", piece=PIECE), place.store("there")
    filled(one, "m", CONTENT)
    real, damage = Line.fill_piece, _damaging(one.where("m"))

    def fill_piece(line: Line, piece: memoryview) -> tuple[bool, int]:
        found = real(line, piece)
        damage(piece)
        return found

    monkeypatch.setattr(Line, "fill_piece", fill_piece)
    fetch = other.fetching(one.where("m"), options=Options(has_checksum=True))
    assert bytes(fetch.run().read(1)) == CONTENT
    assert fetch.progress.breaks == 1


def test_bytes_that_were_written_while_they_were_sent_are_not_believed(
    place: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If somebody writes without the right to, whoever fetches gets an error and not a mixture."""
    one, other = place.store("here", piece=PIECE), place.store("there")
    region = filled(one, "m", CONTENT)
    where = one.where("m")
    real = Line.send

    def send(line: Line, data: bytes | memoryview, *, flags: int = 0) -> None:
        real(line, data, flags=flags)
        if len(data) == PIECE and region.version == 1:
            with region.write(2) as writing:
                writing.view[:] = bytes(len(CONTENT))

    monkeypatch.setattr(Line, "send", send)
    assert _code(lambda: other.get(where)) == "D201"
    with pytest.raises(DataGone):
        other.region("m").read(1, length=1)  # type: ignore[union-attr]


def test_many_fetch_at_once(place: Hosts) -> None:
    """Several hosts fetch several resources at the same time, in threads that let the others go on."""
    one = place.store("here", piece=PIECE)
    for name in range(3):
        filled(one, str(name), CONTENT[name:])
    others = [place.store(f"there{number}") for number in range(4)]

    async def all_at_once() -> None:
        wanted = [(store, str(name)) for store in others for name in range(3)]
        regions = await asyncio.gather(*[store.obtain(one.where(name)) for store, name in wanted])
        for (_, name), region in zip(wanted, regions, strict=True):
            assert bytes(region.read(1)) == CONTENT[int(name) :]

    run(all_at_once())


def test_two_processes_of_a_host_fetch_once(place: Hosts) -> None:
    """The second waits for what the first fetches, and finds it there."""
    one = place.store("here", piece=PIECE)
    filled(one, "m", CONTENT)
    cutter = Cutter(one.where("m"), [])
    mates = [place.store("there") for _ in range(4)]

    async def all_at_once() -> None:
        for region in await asyncio.gather(*[mate.obtain(cutter.where) for mate in mates]):
            assert bytes(region.read(1)) == CONTENT

    run(all_at_once())
    assert cutter.connections == 1
    cutter.close()


def test_a_fetch_is_cancelled_with_who_waits_for_it(place: Hosts) -> None:
    """It stops at once, whatever it waits for, and others can write there afterwards."""
    one, other = place.store("here", piece=PIECE), place.store("there")
    filled(one, "m", CONTENT)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        where = replace(one.where("m"), address=f"127.0.0.1:{deaf.getsockname()[1]}")

        async def give_up() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(other.obtain(where, options=Options(seconds_max=60)), 0.05)

        run(give_up())
    fetch = other.fetching(one.where("m"), on_progress=lambda _: fetch.cancel())
    assert _code(fetch.run) == "D209"
    assert fetch.progress.done == PIECE
    assert not other.region("m").is_busy()  # type: ignore[union-attr]
    assert bytes(asyncio.run(other.obtain(one.where("m"))).read(1)) == CONTENT


def test_what_a_store_cannot_do_is_said(place: Hosts) -> None:
    """Wrong sizes and names, ports that are taken, and what is closed, are errors with a code."""
    one = place.store("here", bytes_max=1000)
    for wrong in (lambda: one.create("m", 1001), lambda: one.create("m", -1), lambda: one.create("m")):
        assert _code(wrong) == "D102"
    assert _code(lambda: one.create("", 1)) == _code(lambda: one.create("n" * 501, 1)) == "D102"
    assert _code(lambda: one.create("m", 1, form="x" * 401)) == "D102"
    assert _code(lambda: one.create("m", 1, version=-1)) == "D101"
    filled(place.store("there"), "m", bytes(5000))
    with pytest.raises(Misuse):
        one.get(place.store("there").where("m"))
    with pytest.raises(Misuse):
        one.attach(place.store("there").where("m"))
    with pytest.raises(NodeProblem):
        place.store("x", address=("127.0.0.1", address_from_text(one.where(one.create("k", 1).resource).address)[1]))
    one.close()
    one.close()
    assert _code(lambda: one.region("m")) == "D103"
    with Store(RUN, folder=place.base("quiet"), address=None) as quiet:
        quiet.create("m", 1)
        assert quiet.where("m").address == ""
