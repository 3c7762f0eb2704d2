"""What Solvent keeps on disk is readable by its owner only, whatever the umask."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from solvent.store import open_store
from solvent.store.server import Plan, Server
from tests.cli.command import solvent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLOW = "workflow: flow\nservices: {s: {shell: 'head -c 100000 /dev/zero'}}\ntasks: {t: {service: s}}\n"


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Set an umask for the while of a test."""
    before = os.umask(request.param)
    try:
        yield request.param
    finally:
        os.umask(before)


@contextmanager
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


def _modes(folder: Path) -> dict[str, str]:
    """Return the permissions of everything below a folder, by kind."""
    return {
        str(one.relative_to(folder.parent)): ("d" if one.is_dir() else "f") + oct(one.stat().st_mode)[-3:]
        for one in (folder, *folder.rglob("*"))
    }


@pytest.mark.usefixtures("umask")
def test_a_store_in_a_file_is_for_its_owner_only(tmp_path: Path) -> None:
    """The file, SQLite's log and shared memory, and the folder of blobs are readable by their owner only."""
    with _usual_umask():
        folder = tmp_path / "a"
        folder.mkdir(mode=0o700)
    with open_store(str(folder / "s.db")) as store:
        store.append("log", b"record")
        store.put_blob(b"x" * 200_000)
        found = _modes(folder)
    assert {name.rpartition(".db")[2][:6] for name in found} == {"a", "", "-wal", "-shm", "-blobs"}
    assert set(found.values()) == {"d700", "f600"}, found


def test_a_command_makes_a_store_for_its_owner_only(tmp_path: Path) -> None:
    """`run --store FILE` leaves nothing that others can read."""
    (tmp_path / "flow.yaml").write_text(FLOW)
    folder = tmp_path / "a"
    folder.mkdir(mode=0o700)
    result = solvent("run", "flow.yaml", "--store", folder / "s.db", "--name", "r", cwd=tmp_path)
    assert result.code == 0, result.err
    found = _modes(folder)
    assert any("-blobs/" in name for name in found)
    assert set(found.values()) == {"d700", "f600"}, found


def test_permissions_that_a_user_gave_stay(tmp_path: Path) -> None:
    """A store that its owner has opened to a group stays open to it."""
    file = tmp_path / "s.db"
    open_store(str(file)).close()
    file.chmod(0o660)
    with open_store(str(file)) as store:
        store.append("log", b"record")
        found = {one.name: oct(one.stat().st_mode)[-3:] for one in tmp_path.iterdir()}
    assert found == {"s.db": "660", "s.db-wal": "660", "s.db-shm": "660"}


def test_a_server_keeps_its_data_for_its_owner_only(tmp_path: Path) -> None:
    """The folder of `store serve` and its log are readable by their owner only."""
    with _usual_umask(), Server(Plan(folder=tmp_path / "data")) as one, open_store(one.url) as store:
        store.append("log", b"record")
        assert [oct(each.stat().st_mode)[-3:] for each in (tmp_path / "data", one.log)] == ["700", "600"]
