"""Handing data over between stores: on one host, and from one to another."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.errors import DataLost, Misuse, NodeProblem, SolventError
from solvent.handover.data import Options, Store
from solvent.handover.data.wire import Dialling, Lack, Want
from solvent.net.addresses import address_from_text
from tests.live.data_hosts import RUN, SECRET, Child, Hosts, filled, hosts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


CONTENT = bytes(range(256)) * 1024
PIECE = 16 * 1024


def _code(act: Callable[[], object]) -> str:
    with pytest.raises(SolventError) as caught:
        act()
    return caught.value.code


def test_what_was_cut_off_and_is_there_again_is_the_others(machines: Hosts) -> None:
    """Who wrote a page, and cut it off, finds there what another process has written since, and releases that."""
    store = machines.store("here")
    region = store.create("m", 2 * PIECE, keep_last=True)
    with region.write(1) as writing:
        writing.view[0] = 1
        writing.view[PIECE:] = b"a" * PIECE
        writing.resize(PIECE)

    def regrow(_: Callable[[str], None]) -> None:
        other = machines.store("here").region("m")
        assert other is not None
        with other.write(2) as writing:
            writing.resize(2 * PIECE)
            assert bytes(writing.view[PIECE:]) == bytes(PIECE)
            writing.view[PIECE:] = b"b" * PIECE

    Child(regrow).end()
    with region.write(3) as writing:
        assert bytes(writing.view[PIECE:]) == b"b" * PIECE
        writing.view[0] = 3
    assert bytes(machines.store("here").get(store.where("m")).read(3)[PIECE:]) == b"b" * PIECE


def test_processes_write_hundreds_of_pieces_side_by_side(machines: Hosts) -> None:
    """What each of them has written is there when both are done, and in one piece when somebody has all of it."""
    store = machines.store("here")
    region = store.create("m", 6_000, keep_last=True)

    def write(who: int) -> None:
        other = machines.store("here").region("m")
        assert other is not None
        for start in range(10 * who, 6_000, 20):
            with other.write(start + 1, offset=start, length=7) as writing:
                writing.view[:] = bytes([who + 1]) * 7

    children = [Child(lambda _, who=who: write(who)) for who in (0, 1)]  # type: ignore[misc]
    for child in children:
        child.end()
    assert len(region.sheet.extents) == 1200
    with region.write(20_000) as writing:
        assert bytes(writing.view) == (b"\1" * 7 + bytes(3) + b"\2" * 7 + bytes(3)) * 300
    assert region.version == 20_000


@settings(max_examples=40)
@given(size=st.integers(0, 5000), piece=st.integers(1, 6000), data=st.data())
def test_every_size_and_stretch_arrives(size: int, piece: int, data: st.DataObject) -> None:
    """Whatever the sizes of data, pieces and stretches are, the right bytes arrive in the right places."""
    with hosts() as machines:
        one, other = machines.store("here"), machines.store("there")
        content = bytes(number * 7 % 251 for number in range(size))
        filled(one, "m", content, keep_last=data.draw(st.booleans()))
        if size and data.draw(st.booleans()):
            offset = data.draw(st.integers(0, size - 1))
            length = data.draw(st.integers(1, size - offset))
            stretch = Options(offset=offset, length=length, piece=piece)
            region = other.fetching(one.where("m"), options=stretch).run()
            assert bytes(region.read(1, offset=offset, length=length)) == content[offset : offset + length]
        assert bytes(other.get(one.where("m"), options=Options(piece=piece)).read(1)) == content


def test_another_size_takes_the_place_of_the_old_one(machines: Hosts) -> None:
    """A resource may grow and shrink from version to version, on all hosts."""
    one, other = machines.store("here"), machines.store("there")
    filled(one, "m", CONTENT)
    for version, size in enumerate((len(CONTENT), 3 * len(CONTENT), 10, 0, 70_000), 2):
        with one.get(one.where("m")).write(version) as writing:
            writing.resize(size)
            writing.view[:] = bytes([version]) * size
        region = other.get(one.where("m"))
        assert bytes(region.read(version)) == bytes([version]) * size


def test_a_file_is_the_data_of_one_resource(machines: Hosts, tmp_path: Path) -> None:
    """By whatever name: two that wrote there would each lose what the other did. When it is removed, another may."""
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    store = machines.store("a")
    store.create("one", path=tmp_path / "file")
    with pytest.raises(Misuse, match="is that of `one` already") as caught:
        store.create("two", path=tmp_path / "link")
    assert (caught.value.code, store.names()) == ("D102", ["one"])
    store.remove("one")
    assert bytes(store.create("two", path=tmp_path / "link").read(0)) == b"abc"


def test_arrays_and_files_are_handed_over(machines: Hosts, tmp_path: Path) -> None:
    """An array arrives as an array; a file arrives as memory, or as a file where one is named."""
    numpy = pytest.importorskip("numpy")
    one, other, third = machines.store("here"), machines.store("there"), machines.store("elsewhere")
    (tmp_path / "grid.bin").write_bytes(bytes(800))
    with one.create("grid", path=tmp_path / "grid.bin").write(1) as writing:
        writing.array(float, (10, 10))[:] = numpy.eye(10)
    assert (other.get(one.where("grid")).array(1) == numpy.eye(10)).all()
    third.fetching(one.where("grid"), path=tmp_path / "copy.bin").run()
    assert (tmp_path / "copy.bin").read_bytes() == (tmp_path / "grid.bin").read_bytes()
    assert not list(machines.base("elsewhere").rglob("*.data"))


def test_a_version_that_is_gone_or_different_is_an_error(machines: Hosts) -> None:
    """Nobody gets other bytes than those of the version he asked for."""
    one, other, mate = machines.store("here"), machines.store("there"), machines.store("here")
    region = filled(one, "m", CONTENT)
    where = one.where("m")
    with region.write(2) as writing:
        assert len(writing.view) == len(CONTENT)
        assert _code(lambda: mate.get(where)) == _code(lambda: other.get(where)) == "D203"
        assert _code(lambda: one.where("m")) == "D202"
    for wrong in (where, replace(where, version=3), replace(where, resource="n")):
        for store in (mate, other):
            with pytest.raises(DataLost) as caught:
                store.get(wrong)
            assert caught.value.code == "D201"
    assert _code(lambda: other.get(replace(one.where("m"), size=5))) == "D201"
    one.remove("m")
    filled(one, "m", CONTENT)
    assert _code(lambda: mate.get(where)) == "D201"
    assert bytes(mate.get(one.where("m")).read(1)) == CONTENT
    assert _code(lambda: one.where("n")) == "D201"
    assert _code(lambda: one.create("m", 5)) == "D210"


def test_what_nobody_has_touched_is_the_version_that_it_was(machines: Hosts) -> None:
    """Who has the right to write, and gives it back without a look at the bytes, has changed nothing."""
    one, other = machines.store("here"), machines.store("there")
    region = filled(one, "m", CONTENT)
    writing = region.write(2)
    assert bytes(other.get(one.where("m")).read(1)) == CONTENT
    writing.leave()
    assert bytes(region.read(1)) == CONTENT


def test_who_does_not_know_the_secret_gets_nothing(machines: Hosts) -> None:
    """Another secret, another run, or no token: the data stays where it is."""
    one = machines.store("here")
    filled(one, "m", CONTENT)
    where = one.where("m")
    strangers = [
        machines.store("s1", secret=b"another"),
        machines.store("s2", secret=b""),
        Store("other run", secret=SECRET, folder=machines.base("s3")),
    ]
    for stranger in strangers:
        assert _code(lambda stranger=stranger: stranger.get(where)) == "D205"  # type: ignore[misc]
        stranger.close()
    there = machines.store("there")
    assert _code(lambda: there.get(replace(where, token=b"guess"))) == "D205"
    assert _code(lambda: there.get(replace(where, address="nowhere"))) == "D205"
    assert bytes(there.get(where).read(1)) == CONTENT


def test_nonsense_does_not_disturb_a_server(machines: Hosts) -> None:
    """Strangers that send anything at all are cut off, and the next fetch works."""
    one, other = machines.store("here"), machines.store("there")
    filled(one, "m", CONTENT)
    where = one.where("m")
    for said in (b"", b"GET / HTTP/1.0\r\n\r\n", struct.pack("!I", 1 << 30), struct.pack("!I", 4) + b"\xff" * 4):
        with socket.create_connection(address_from_text(where.address)) as line:
            line.sendall(said)
            with suppress(OSError):
                line.shutdown(socket.SHUT_WR)
                assert line.recv(100) == b""
    line, _ = other._lines.take(where, Dialling(5))
    for nonsense in (
        Want("m", 1, -5, 10, PIECE),
        Want("m", 1, 0, 1 << 50, PIECE),
        Want("", 1, 0, 1, PIECE),
        Want("m", -1, 0, 5, PIECE),
        Want("m", 1, 0, 5, 0),
        Want("m", 1, 0, 5, 1 << 40),
    ):
        line.ask(nonsense)
        assert isinstance(line.hear_answer(), Lack)
    line.close()
    assert bytes(other.get(where).read(1)) == CONTENT


def test_what_a_store_cannot_do_is_said(machines: Hosts) -> None:
    """Wrong sizes and names, ports that are taken, and what is closed, are errors with a code."""
    one = machines.store("here", max_bytes=1000)
    for wrong in (lambda: one.create("m", 1001), lambda: one.create("m", -1), lambda: one.create("m")):
        assert _code(wrong) == "D102"
    assert _code(lambda: one.create("", 1)) == _code(lambda: one.create("n" * 501, 1)) == "D102"
    assert _code(lambda: one.create("m", 1, form="x" * 401)) == "D102"
    assert _code(lambda: one.create("m", 1, version=-1)) == "D101"
    assert _code(lambda: one.fetching(one.where(one.create("j", 1).resource), options=Options(piece=0))) == "D102"
    filled(machines.store("there"), "m", bytes(5000))
    with pytest.raises(Misuse):
        one.get(machines.store("there").where("m"))
    with pytest.raises(Misuse):
        one.attach(machines.store("there").where("m"))
    with pytest.raises(NodeProblem):
        machines.store("x", address=("127.0.0.1", address_from_text(one.where(one.create("k", 1).resource).address)[1]))
    one.close()
    one.close()
    assert _code(lambda: one.region("m")) == "D103"
    with Store(RUN, folder=machines.base("quiet"), address=None) as quiet:
        quiet.create("m", 1)
        assert quiet.where("m").address == ""
