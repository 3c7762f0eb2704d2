"""Files of spaces that a crash has torn or a disk has changed: an error, or what was written, never something else."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import sqlite3
import time
from typing import TYPE_CHECKING

import pytest

from solvent.store import StoreError, open_store
from solvent.store.sqlite import MAX_SMALL_BYTES
from tests.live.data_hosts import Child

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RECORDS = 120


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the name of a file that is not there."""
    return tmp_path / "store.db"


def _content(number: int) -> bytes:
    return f"{number} ".encode() * (number % 40)


def _killed(path: Path) -> None:
    """Leave what a process leaves that is killed while it has a space open."""

    def work(say: Callable[[str], None]) -> None:
        space = open_store(str(path), is_durable=False)
        for number in range(RECORDS):
            space.append(f"log{number % 3}", _content(number))
        say("written")
        time.sleep(60)

    child = Child(work)
    assert child.hear() == "written"
    child.kill()


def _read(path: Path) -> list[bytes]:
    with open_store(str(path), is_durable=False) as space:
        return [record.data for record in space.read("")]


def test_all_is_there_after_a_kill(path: Path) -> None:
    """What was written before a process was killed is found by the next one."""
    _killed(path)
    assert _read(path) == [_content(number) for number in range(RECORDS)]


@pytest.mark.parametrize("seed", range(4))
def test_a_torn_end_costs_only_what_was_torn(path: Path, seed: int) -> None:
    """Wherever the last write was cut, or is garbled, the records before it are there, in order."""
    _killed(path)
    log = path.with_name(path.name + "-wal")
    files = {file: file.read_bytes() for file in (path, log)}
    path.with_name(path.name + "-shm").unlink()
    draw = random.Random(seed)
    counts = set[int]()
    for _ in range(8):
        for file, content in files.items():
            file.write_bytes(content)
        at = draw.randrange(len(files[log]))
        if draw.random() < 0.5:
            os.truncate(log, at)
        else:
            with log.open("r+b") as file:
                file.seek(at)
                file.write(draw.randbytes(5000))
        try:
            found = _read(path)
        except StoreError as error:
            # Where even the transaction that made the space was torn: it is as if nobody had made it.
            pytest.fail(str(error))
        assert found == [_content(number) for number in range(len(found))]
        counts.add(len(found))
    assert len(counts) > 1


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_file_gives_an_error_or_what_was_written(path: Path, seed: int) -> None:
    """Whatever bytes of the main file change, no record comes back changed; nothing but `StoreError` is raised."""
    with open_store(str(path), is_durable=False) as space:
        for number in range(RECORDS):
            space.append(f"log{number % 3}", _content(number))
    content = path.read_bytes()
    written = {_content(number) for number in range(RECORDS)}
    draw = random.Random(seed)
    errors = 0
    for _ in range(25):
        damaged = bytearray(content)
        for _ in range(draw.choice((1, 5, 100))):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        path.write_bytes(damaged)
        try:
            assert set(_read(path)) <= written
            with open_store(str(path), is_durable=False) as space:
                space.append("more", b"")
                space.last("log1")
        except StoreError as error:
            assert error.code in {"E401", "E406", "E407"}, error  # noqa: PT017
            errors += 1
        for file in path.parent.iterdir():
            file.unlink()
    assert errors


def test_a_changed_record_is_not_given(path: Path) -> None:
    """A record or a value whose bytes were changed on the disk raises E406, which names it."""
    with open_store(str(path)) as space:
        space.append("log", b"a" * 100)
        space.put("key", b"b" * 100)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"a" * 100, b"A" * 100).replace(b"b" * 100, b"B" * 100))
    with open_store(str(path)) as space:
        with pytest.raises(StoreError, match=r"E406.*record 1 of `log`"):
            space.read("log")
        with pytest.raises(StoreError, match=r"E406.*value of `key`"):
            space.get("key")
        with pytest.raises(StoreError, match=r"E406.*value of `key`"):
            space.keys("")


# -------------------------------------------------------------------------------------------------------------- blobs


def test_small_blobs_are_in_the_file_and_large_ones_beside_it(path: Path) -> None:
    """A blob of up to 64 KiB makes no file of its own."""
    with open_store(str(path)) as space:
        space.put_blob(bytes(MAX_SMALL_BYTES))
        assert not path.with_name(path.name + "-blobs").exists()
        name = space.put_blob(bytes(MAX_SMALL_BYTES + 1))
        assert (path.with_name(path.name + "-blobs") / name[:2] / name[2:]).stat().st_size == MAX_SMALL_BYTES + 1


def test_a_damaged_blob_is_said_and_repaired(path: Path) -> None:
    """A large blob that was changed or cut raises E406; putting the same bytes again repairs it."""
    with open_store(str(path)) as space:
        data = bytes(200_000)
        name = space.put_blob(data)
        file = path.with_name(path.name + "-blobs") / name[:2] / name[2:]
        for damaged in (b"x" + data[1:], data[:-1], b""):
            file.write_bytes(damaged)
            with pytest.raises(StoreError, match=r"E406.*damaged"):
                space.get_blob(name)
            assert space.put_blob(data) == name
            assert space.get_blob(name) == data
        file.unlink()
        with pytest.raises(StoreError, match=r"E406.*no blob"):
            space.get_blob(name)


def test_a_damaged_small_blob_is_said_and_repaired(path: Path) -> None:
    """A small blob that was changed raises E406; putting the same bytes again repairs it."""
    with open_store(str(path)) as space:
        name = space.put_blob(b"small")
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE blobs SET data = x'00'")
        connection.close()
        with pytest.raises(StoreError, match=r"E406.*damaged"):
            space.get_blob(name)
        space.put_blob(b"small")
        assert space.get_blob(name) == b"small"


def test_unfinished_blobs_of_the_dead_are_removed(path: Path) -> None:
    """Who opens a space removes what a process left that died while it wrote, and nothing of the living."""
    folder = path.with_name(path.name + "-blobs")
    folder.mkdir()
    (folder / "unfinished-dead").write_bytes(b"half")
    with (folder / "unfinished-alive").open("wb") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        open_store(str(path)).close()
    assert [file.name for file in folder.iterdir()] == ["unfinished-alive"]
    shutil.rmtree(folder)
