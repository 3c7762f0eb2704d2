"""Starts agents on this machine, as processes that live on when who started them is gone.

Each is a session of its own, so that Ctrl-C in the terminal does not reach it, and writes to a file of its own. Where
the store is comes to it by its environment, where others cannot read it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STOP_SECONDS = 10.0
TAIL_BYTES = 4_000


class Launched:
    """An agent that was started from here."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self.log = log
        self.pid = process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it is still there."""
        return self._process.poll() is None

    @property
    def code(self) -> int | None:
        """Its exit code, if it has ended."""
        return self._process.poll()

    def stop(self) -> None:
        """Ask it to end."""
        if self.is_alive:
            self._process.terminate()

    def wait(self, seconds: float = STOP_SECONDS) -> None:
        """Wait until it has ended; one that does not is killed, which loses nothing."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def tail(self) -> str:
        """Give the last lines that it has written."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - TAIL_BYTES))
                return file.read().decode(errors="replace").strip()
        except OSError:
            return ""


def launch(
    services: Sequence[str], count: int, *, variables: Mapping[str, str], more: Sequence[str] = ()
) -> list[Launched]:
    """Start agents that offer the services of files; `more` are further options of `solvent agent`.

    `variables` are those of their environment that say where the store is.
    """
    logs = _log_folder()
    words = [sys.executable, "-P", "-m", "solvent", "agent", "--services", *services, *more]
    # What is to be seen is what the agent says, not what a terminal could show.
    surroundings = {**os.environ, **variables, "NO_COLOR": "1"}
    found = []
    for _ in range(count):
        descriptor, log = tempfile.mkstemp(prefix="agent-", suffix=".log", dir=logs)
        with os.fdopen(descriptor, "wb") as out:
            process = subprocess.Popen(  # noqa: S603 - ourselves, with the user's own words
                words,
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        found.append(Launched(process, Path(log)))
    return found


def _log_folder() -> Path:
    """Give the folder of what agents write, which is for their user only."""
    folder = Path(tempfile.gettempdir()) / f"solvent-agents-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
        is_own = (
            about.st_uid == os.getuid() and not about.st_mode & 0o077 and folder.is_dir() and not folder.is_symlink()
        )
    except OSError:
        is_own = False
    return folder if is_own else Path(tempfile.mkdtemp(prefix="solvent-agents-"))


__all__ = ["Launched", "launch"]
