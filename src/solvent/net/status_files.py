"""What processes that share a lock tell lookers-on: a file each, in a folder that only their user can read.

Nobody asks them, and nothing they do waits for it: a thread of the process looks a few times in a second how things
stand, and writes that down when it has changed. Who wants to see goes through the files. A process that is killed
leaves its file behind; that it says nothing any more shows.

A process tells where it is asked to: `ring.join(..., board=True)`, `shared.join(..., board=True)`, or the variable
`SOLVENT_BOARD` of its environment; instead of `True`, a folder.
"""

from __future__ import annotations

import hashlib
import os
import socket
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import Misuse
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE = "SOLVENT_BOARD"
LOOK_SECONDS = 0.2
TELL_SECONDS = 2.0
"""How often a process tells at least: so that who says nothing for longer is known to be gone."""
SILENT_SECONDS = 3 * TELL_SECONDS
_FORGOTTEN_SECONDS = 3600.0
_YES = frozenset({"1", "on", "yes", "true"})
_NO = frozenset({"", "0", "off", "no", "false"})


class Notice(msgspec.Struct, frozen=True):
    """What one process tells: of a `ring` or a `space`, which it has a number in."""

    kind: str
    name: str
    node: int
    host: str
    process: int
    at: float
    told: dict[str, Any]

    def is_silent(self, now: float) -> bool:
        """Whether its process is gone, or stopped."""
        if now - self.at > SILENT_SECONDS:
            return True
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass
        return False


def usual_folder() -> Path:
    """Give where notices are unless a folder is given."""
    return Path(tempfile.gettempdir()) / f"solvent-{os.getuid()}" / "boards"


def board_from(given: bool | str | os.PathLike[str] | None) -> Path | None:  # noqa: FBT001 - as users give it
    """Give the folder for notices; none where nobody wants any."""
    if given is None:
        text = os.environ.get(VARIABLE, "")
        given = False if text.lower() in _NO else True if text.lower() in _YES else text
    if given is True:
        return usual_folder()
    return Path(given) if given else None


class Poster:
    """Tells lookers-on how things stand, until it is stopped."""

    def __init__(self, folder: Path, kind: str, name: str, node: int, describe: Callable[[], dict[str, Any]]) -> None:
        mark = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:12]
        self._file = folder / f"{kind}-{mark}-{node}-{os.getpid()}.json"
        self._subject = (kind, name, node)
        self._describe = describe
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"solvent-board-{kind}", daemon=True)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if folder.stat().st_uid != os.getuid():
                raise Misuse(
                    "S107", f"the board {folder} belongs to somebody else", hint="give another folder: board=DIR"
                )
        except OSError as error:
            raise Misuse("S107", f"nothing can be told on the board {folder}: {error.strerror or error}") from None
        _forget_old(folder)

    def start(self) -> None:
        """Begin to tell."""
        self._thread.start()

    def stop(self) -> None:
        """Tell nothing more, and take the notice away."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._file.unlink(missing_ok=True)

    def _run(self) -> None:
        last: dict[str, Any] | None = None
        told_at = 0.0
        while not self._is_over.wait(LOOK_SECONDS if last is not None else 0.0):
            try:
                told = self._describe()
            except Exception:  # noqa: BLE001, S112 - lookers-on must never be what a program fails of
                continue
            now = time.time()
            if told != last or now - told_at > TELL_SECONDS:
                last, told_at = told, now
                with suppress(OSError):
                    self._write(told, now)

    def _write(self, told: dict[str, Any], now: float) -> None:
        notice = Notice(*self._subject, socket.gethostname(), os.getpid(), now, told)
        draft = self._file.with_suffix(".new")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123
            file.write(msgspec.json.encode(notice))
        draft.replace(self._file)


def read_board(folder: Path) -> list[Notice]:
    """Give what processes tell; what does not read was written by nobody of ours."""
    found = []
    with suppress(OSError):
        for file in sorted(folder.glob("*.json")):
            with suppress(OSError, *UNREADABLE):
                found.append(msgspec.json.decode(file.read_bytes(), type=Notice))
    return found


def _forget_old(folder: Path) -> None:
    with suppress(OSError):
        for file in folder.iterdir():
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > _FORGOTTEN_SECONDS:
                    file.unlink()


__all__ = ["VARIABLE", "Notice", "Poster", "board_from", "read_board", "usual_folder"]
