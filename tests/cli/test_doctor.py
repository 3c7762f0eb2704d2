"""`solvent doctor`: what is installed, and whether what runs need is there."""

from __future__ import annotations

import sqlite3
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from solvent import __version__
from solvent.cli.doctor import EXTRAS
from solvent.store import open_store
from solvent.store.server import Plan, Server
from tests.cli.command import solvent
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def _found(said: dict[str, Any], name: str) -> dict[str, str]:
    return next(one for one in said["findings"] if one["name"] == name)


def _store(url: str | Path, code: int) -> dict[str, str]:
    result = solvent("doctor", "--store", url, "--format", "json")
    assert (result.code, result.err) == (code, "")
    assert result.json["well"] is (code == 0)
    return _found(result.json, "store")


def test_it_says_what_is_here(tmp_path: Path) -> None:
    """Version, Python, platform, packages, programs and limits are told, and that all is well."""
    said = solvent("doctor", "--format", "json", cwd=tmp_path).json
    assert (said["well"], said["solvent"]) == (True, __version__)
    assert said["python"]
    assert said["platform"]
    assert {one["group"] for one in said["findings"]} == {"packages", "extras", "store", "programs", "limits"}
    assert _found(said, "needed")["state"] == "there"
    assert _found(said, "nats-server")["state"] == "there"


def test_every_extra_is_known() -> None:
    """What each of the project's extras is for is told, and no other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"])


def test_people_read_lines(tmp_path: Path) -> None:
    """On a pipe it is plain text, with a mark before each line and a word at the end."""
    result = solvent("doctor", cwd=tmp_path)
    assert result.code == 0
    assert result.out.startswith(f"✓ solvent        {__version__}\n")
    assert result.out.endswith("\nall is well\n")


def test_a_file_that_serves(tmp_path: Path) -> None:
    """Of a store in a file it is told that it can be read and written, and its format; nothing is left in it."""
    with open_store(str(tmp_path / "store.db")) as store:
        store.put("runs/one", b"")
    found = _store(tmp_path / "store.db", 0)
    assert found["state"] == "there"
    assert "readable and writable, a file, format 3" in found["says"]
    with open_store(str(tmp_path / "store.db")) as store:
        assert store.keys("doctor/") == {}


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """A file that a run would make is no fault, and is not made by looking."""
    assert _store(tmp_path / "store.db", 0)["state"] == "missing"
    assert list(tmp_path.iterdir()) == []


def test_a_store_of_another_format_is_broken(tmp_path: Path) -> None:
    """A store that another version has made is told with its format."""
    open_store(str(tmp_path / "store.db")).close()
    with sqlite3.connect(tmp_path / "store.db") as file:
        file.execute("PRAGMA user_version = 9")
    file.close()
    found = _store(tmp_path / "store.db", 1)
    assert "error[E407]" in found["says"]
    assert "format 9" in found["says"]


@pytest.mark.parametrize(
    "url", ["/none/store.db", "/", "http://example.invalid", "nats://", "nats://a:b:c", "sqlite://"]
)
def test_a_wrong_address_is_told(url: str) -> None:
    """An address that cannot be one is broken, with the error that a run would show."""
    found = _store(url, 1)
    assert found["state"] == "broken"
    assert "error[E401]" in found["says"]


def test_a_file_that_is_no_store_is_broken(tmp_path: Path) -> None:
    """A file of something else is told, and stays as it is."""
    (tmp_path / "notes.txt").write_text("not a store, but quite some text\n" * 50)
    before = (tmp_path / "notes.txt").read_bytes()
    assert _store(tmp_path / "notes.txt", 1)["state"] == "broken"
    assert (tmp_path / "notes.txt").read_bytes() == before


def test_a_server_that_is_not_there() -> None:
    """A server that cannot be reached is broken, with a hint, and a password in its address is not shown."""
    result = solvent("doctor", "--store", "nats://ann:quite-secret@127.0.0.1:1")
    assert result.code == 1
    assert "nats://***@127.0.0.1:1: error[E402]" in result.out
    assert "hint: `solvent store serve`" in result.out
    assert result.out.endswith("\ndoes not serve: store\n")
    assert "quite-secret" not in result.out + result.err


def test_a_server_that_serves(tmp_path: Path) -> None:
    """Of a server that is there it is told whether it has the store, and that this can be read and written."""
    server = Server(Plan(folder=tmp_path, port=0))
    server.start()
    try:
        before = _store(server.url, 0)
        open_store(server.url).close()
        found = _store(server.url, 0)
    finally:
        server.stop()
    assert (before["state"], found["state"]) == ("missing", "there")
    assert "readable and writable, on servers, format 2" in found["says"]
