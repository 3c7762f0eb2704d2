"""What processes that share a lock tell lookers-on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import solvent
from solvent.errors import Misuse
from solvent.net.status_files import SILENT_SECONDS, VARIABLE, Notice, Poster, board_from, read_board, usual_folder

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_SECONDS = 200.0


def wait_for(folder: Path, is_so: Callable[[list[Notice]], Any]) -> list[Notice]:
    """Look at a board until it says something."""
    until = time.monotonic() + MAX_SECONDS
    while not is_so(found := read_board(folder)):
        assert time.monotonic() < until, found
        time.sleep(0.01)
    return found


def test_what_has_changed_is_told(tmp_path: Path) -> None:
    """A notice follows what it tells of."""
    told = {"turn": 1}
    poster = Poster(tmp_path / "board", "ring", "a", 3, lambda: dict(told))
    poster.start()
    (first,) = wait_for(tmp_path / "board", bool)
    told["turn"] = 2
    wait_for(tmp_path / "board", lambda found: found[0].told == {"turn": 2})
    poster.stop()
    assert (first.kind, first.name, first.node, first.told) == ("ring", "a", 3, {"turn": 1})


def test_what_cannot_be_told_harms_nobody(tmp_path: Path) -> None:
    """A description that fails is left out; the next one is told."""
    tries = iter([ZeroDivisionError(), {"turn": 1}])

    def describe() -> dict[str, Any]:
        found = next(tries, {"turn": 1})
        if isinstance(found, Exception):
            raise found
        return found

    poster = Poster(tmp_path, "ring", "a", 3, describe)
    poster.start()
    assert wait_for(tmp_path, bool)[0].told == {"turn": 1}
    poster.stop()


def test_only_its_user_can_read_it(tmp_path: Path) -> None:
    """Notices say where processes listen, and that is nobody else's business."""
    poster = Poster(tmp_path / "board", "ring", "a", 3, dict)
    poster.start()
    wait_for(tmp_path / "board", bool)
    modes = [
        (tmp_path / "board").stat().st_mode & 0o777,
        *(one.stat().st_mode & 0o777 for one in (tmp_path / "board").iterdir()),
    ]
    poster.stop()
    assert modes == [0o700, 0o600]


@pytest.mark.parametrize(
    "given, said, folder",
    [
        (None, "", None),
        (None, "off", None),
        (None, "on", usual_folder()),
        (None, "/some/where", Path("/some/where")),
        (True, "", usual_folder()),
        (False, "on", None),
        ("here", "on", Path("here")),
    ],
)
def test_who_tells_where(monkeypatch: pytest.MonkeyPatch, given: Any, said: str, folder: Path | None) -> None:
    """What is given counts, and else what the environment says; without both nothing is told."""
    monkeypatch.setenv(VARIABLE, said)
    assert board_from(given) == folder


def test_a_folder_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    """Whoever asks for notices that nobody could read is told so."""
    (tmp_path / "file").touch()
    with pytest.raises(Misuse, match="nothing can be told on the board") as raised:
        Poster(tmp_path / "file" / "board", "ring", "a", 3, dict)
    assert raised.value.code == "S107"


def test_a_process_that_is_gone_is_silent() -> None:
    """Of a process of this machine it is known at once."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    notice = Notice("ring", "a", 0, socket.gethostname(), process.pid, time.time(), {})
    assert notice.is_silent(time.time())


def test_a_process_elsewhere_is_silent_when_it_tells_nothing() -> None:
    """Of a process of another machine only its silence shows it."""
    notice = Notice("ring", "a", 0, "somewhere else", 1, 100.0, {})
    assert (notice.is_silent(100.0 + SILENT_SECONDS), notice.is_silent(100.1 + SILENT_SECONDS)) == (False, True)


def test_what_does_not_read_is_no_notice(tmp_path: Path) -> None:
    """Other files in the folder are left alone."""
    (tmp_path / "a.json").write_bytes(b"{")
    (tmp_path / "b.json").write_bytes(msgspec.json.encode({"kind": 1}))
    assert read_board(tmp_path) == []


def test_notices_of_long_ago_are_taken_away(tmp_path: Path) -> None:
    """What a process that was killed has left does not stay for ever."""
    old = tmp_path / "ring-x-1-1.json"
    old.touch()
    os.utime(old, (0, 0))
    Poster(tmp_path, "ring", "a", 3, dict)
    assert not old.exists()


def test_a_space_tells_who_has_what_and_who_waits(tmp_path: Path) -> None:
    """Claims are told as held, or as waiting, with what they are for."""
    with (
        solvent.shared.join("told", folder=tmp_path / "memory", board=tmp_path / "board") as space,
        space.handle("grid", size=8) as one,
        space.handle("grid") as other,
    ):
        one.acquire()
        other.request("read", offset=2, length=4)
        found = wait_for(tmp_path / "board", lambda some: some and len(some[0].told["claims"]) == 2)
    told = found[0].told
    assert told["resources"] == ["grid"]
    assert [(claim["state"], claim["mode"], claim["offset"], claim["length"]) for claim in told["claims"]] == [
        ("has", "write", 0, None), ("waits", "read", 2, 4),
    ]  # fmt: skip
    assert read_board(tmp_path / "board") == []
