"""Which process has a run of one process, as a lease and a heartbeat say, and whether it is still there.

A process is known by its host, its number, and when it started: numbers are used again, also after the machine was.
Containers of one machine number their processes each for itself, and may have one host's name: what is in another
container cannot be seen from here.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from solvent.errors import StoreError
from solvent.runs.registry import key_of
from solvent.store.leases import AGENTS, heartbeat_from_value, holder_from_entry

if TYPE_CHECKING:
    from solvent.runs.registry import RunRecord
    from solvent.store import Store

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


def agent_name(base: str) -> str:
    """Return a name that no other agent has had: work of an agent with the same name would never be taken over."""
    words = re.sub(r"[^A-Za-z0-9_.=-]+", "-", base).strip("-")[:60]
    return f"{words or 'agent'}-{secrets.token_hex(3)}"


def process_of(store: Store, agent: str) -> Holder | None:
    """Return the process of an agent, as its heartbeat says; nothing if it has none."""
    entry = store.get(AGENTS + agent)
    try:
        return None if entry is None else msgspec.convert(heartbeat_from_value(entry.value).get("process"), Holder)
    except (StoreError, msgspec.ValidationError):
        return None


def holder_of(store: Store, run: str) -> Holder | None:
    """Return the process that has the first shard of a run, the only one where no agents run it; nothing if none has.

    One that died is returned as well, unless another has said so since.
    """
    agent = _agent_of(store, run)
    return process_of(store, agent) if agent else None


def _agent_of(store: Store, run: str) -> str:
    entry = store.get(key_of(run, "lease", 0))
    try:
        return "" if entry is None else holder_from_entry(entry).agent
    except StoreError:
        # It was not written by an agent, so nobody has the shard by it.
        return ""


def status_of(store: Store, record: RunRecord) -> str:
    """Return the state of a run; of one that is not over, and not run by agents, whether anybody runs it.

    That is `running`, `stopped` if its process has left it, or `interrupted` if that has died without a word.
    """
    if record.has_ended or record.by_agents:
        return record.state
    agent = _agent_of(store, record.run)
    if not agent:
        return "stopped"
    process = process_of(store, agent)
    return "interrupted" if process is None or is_there(process) is False else "running"


def is_left(store: Store, record: RunRecord) -> bool:
    """Return whether somebody may continue a run: it has not ended, and no process that is there has it."""
    if record.has_ended:
        return False
    holder = None if record.by_agents else holder_of(store, record.run)
    return holder is None or not is_there(holder)


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


__all__ = ["Holder", "agent_name", "holder_of", "is_left", "is_there", "process_of", "status_of", "this_process"]
