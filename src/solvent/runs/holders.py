"""Which process has a run, and whether it is still there.

A process is known by its host, its number, and when it started: numbers are used again, also after the machine was.
Containers of one machine number their processes each for itself, and may have one host's name: what is in another
container cannot be seen from here.
"""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import msgspec

_STARTED_FIELD = 19
"""Where `/proc/N/stat` says when a process started, counted from behind its name."""


class Holder(msgspec.Struct, frozen=True):
    """A process."""

    host: str
    process: int
    started: str
    #: Which processes it is numbered among, where the system tells.
    among: str = ""

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


def this_process() -> Holder:
    """Say which process this is."""
    number = os.getpid()
    return Holder(platform.node() or "localhost", number, _started(number) or "", _among())


def is_there(holder: Holder) -> bool | None:
    """Tell whether a process is there; nothing where that cannot be known, since it is elsewhere."""
    if holder.host != (platform.node() or "localhost"):
        return None
    # Nobody has survived that the machine was started anew, in whichever container.
    if holder.among not in {"", _among()} and _boot(holder.started) == _boot(this_process().started):
        return None
    return _started(holder.process) == holder.started


def _among() -> str:
    """Say which processes this one is numbered among."""
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - what it says is no path
    except OSError:
        return ""


def _boot(started: str) -> str:
    return started.partition("@")[2]


def _started(process: int) -> str | None:
    """Say when a process of this machine started, in a way that no other process shares; nothing if there is none."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        fields = text.rpartition(")")[2].split()
        if fields[0] in {"Z", "X"}:
            return None
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, IndexError):
        return None if Path("/proc/self/stat").exists() else _started_by_ps(process)
    return f"{fields[_STARTED_FIELD]}@{boot}"


def _started_by_ps(process: int) -> str | None:
    """The same where there is no `/proc`."""
    words = ["ps", "-o", "lstart=", "-p", str(process)]
    try:
        found = subprocess.run(words, capture_output=True, check=False, text=True)  # noqa: S603 -- a fixed command
    except OSError:
        return None
    return found.stdout.strip() or None


__all__ = ["Holder", "is_there", "this_process"]
