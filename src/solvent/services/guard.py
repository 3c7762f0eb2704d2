"""Ends the commands and worker processes of a process that was killed.

A process that is killed by SIGKILL cannot end its commands, and they would continue, perhaps while others repeat the
same calls. So a small shell waits beside it, in a session of its own: it reads which process groups have begun and
ended, until the pipe ends. It ends the remaining groups by SIGTERM, and after a grace period by SIGKILL. A process
group is removed before its number can be reused.

The pipe ends when all processes that hold it have ended. So a process that a service has forked closes it at once.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from contextlib import suppress
from typing import IO

_SCRIPT = """\
trap '' HUP INT TERM
all=
while read -r what group; do
  if [ "$what" = + ]; then
    all="$all $group"
  else
    left=
    for one in $all; do [ "$one" = "$group" ] || left="$left $one"; done
    all=$left
  fi
done
[ -n "$all" ] || exit 0
for one in $all; do kill -s TERM -- "-$one"; done
sleep 2
for one in $all; do kill -s KILL -- "-$one"; done
"""


MAX_SECONDS = 1.0
"""How long to wait for its end, which comes at once."""


class Guard:
    """Keeps the process groups of this process; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups = set[int]()
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, group: int) -> None:
        """End a process group when this process is killed."""
        with self._lock:
            self._groups.add(group)
            if not self._tell("+", group):
                self._start()

    def end(self, group: int) -> None:
        """Forget a process group that has ended and whose number is not free yet."""
        with self._lock:
            if group in self._groups:
                self._groups.discard(group)
                self._tell("-", group)

    def close(self) -> None:
        """End it, at the end of this process."""
        with self._lock:
            pipe = self._pipe()
            if pipe is not None and self._process is not None:
                pipe.close()
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(0 if self._groups else MAX_SECONDS)
                self._process = None

    def forget(self) -> None:
        """Forget it in a forked process: it belongs to the parent, which may hold the lock."""
        pipe, process = self._pipe(), self._process
        self._lock, self._groups, self._process = threading.Lock(), set(), None
        if pipe is not None and process is not None:
            pipe.close()
            process.returncode = 0

    def _pipe(self) -> IO[bytes] | None:
        return None if self._process is None else self._process.stdin

    def _tell(self, what: str, group: int) -> bool:
        pipe = self._pipe()
        if pipe is None:
            return False
        try:
            pipe.write(f"{what} {group}\n".encode())
        except OSError:
            # It was killed: the next one gets all groups.
            return False
        return True

    def _start(self) -> None:
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603 -- our own script
                ["/bin/sh", "-c", _SCRIPT, "solvent-guard"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
            )
            for group in self._groups:
                self._tell("+", group)


GUARD = Guard()
atexit.register(GUARD.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=GUARD.forget)

__all__ = ["GUARD", "Guard"]
