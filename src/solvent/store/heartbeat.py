"""The heartbeat of an agent: a key that a process of its own keeps writing.

A thread of the agent does not suffice: a service that holds Python's lock, in one long call into C, blocks the thread,
and others would take over the agent's work. So the agent forks a small process before it has threads, sockets or files.
This opens the store by itself, and the store's address appears in no command line.

It writes only while the agent can act. Before each heartbeat it checks that the agent exists and is not stopped; when
the agent dies, the system kills this process too. The agent sees what was written in shared memory (`Notes`). If this
process dies, the agent writes its heartbeats itself (`leases`).
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from solvent.errors import StoreError
from solvent.net.readiness import is_readable
from solvent.store import opener_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.store.interface import Store

NOTES_BYTES = 24
_LAPSES_BITS = 16
_LAPSES_MASK = (1 << _LAPSES_BITS) - 1
_PER_SECOND = 1_000_000


class Notes:
    """The state of a heartbeat.

    When the last heartbeat began and how often heartbeats have lapsed is one word of memory, so that a reader sees
    both of the same moment: microseconds of the monotonic clock, and in the low bits the lapses.
    """

    def __init__(self, memory: bytearray | mmap) -> None:
        self._words = memoryview(memory).cast("Q")

    @property
    def lapses(self) -> int:
        """How often others may have presumed this agent dead, though it was not; it wraps around."""
        return self._words[0] & _LAPSES_MASK

    def is_fresh(self, ttl: float) -> bool:
        """Return whether the last heartbeat began less than `ttl` ago."""
        began = self._words[0] >> _LAPSES_BITS
        return began > 0 and time.monotonic() - began / _PER_SECOND < ttl

    def next_count(self) -> int:
        """Count a heartbeat; for one writer at a time."""
        self._words[1] += 1
        return self._words[1]

    def note(self, began: float, ttl: float) -> None:
        """Note a heartbeat that was acknowledged just now."""
        lapses = self.lapses
        if self._words[0] and not self.is_fresh(ttl):
            lapses = (lapses + 1) & _LAPSES_MASK
        self._words[0] = int(began * _PER_SECOND) << _LAPSES_BITS | lapses

    @property
    def is_away(self) -> bool:
        """Whether the agent itself cannot reach the store, so that no heartbeat may be written for it."""
        return self._words[2] != 0

    @is_away.setter
    def is_away(self, is_so: bool) -> None:
        self._words[2] = int(is_so)


class HeartbeatWriter:
    """Writes the key of a heartbeat, with a number that grows; for one thread at a time."""

    def __init__(self, store: Store, key: str, about: Mapping[str, Any], ttl: float, notes: Notes) -> None:
        self._store = store
        self._key = key
        self._about = about
        self._ttl = ttl
        self._notes = notes

    def write(self) -> None:
        """Write it, and note that."""
        began = time.monotonic()
        value = {**self._about, "count": self._notes.next_count(), "ttl": self._ttl}
        self._store.put(self._key, msgspec.msgpack.encode(value))
        self._notes.note(began, self._ttl)


END_SECONDS = 5.0
"""How long it may take to end before it is killed: it may be waiting for the store."""
_LENGTH = struct.Struct("!I")
_NAME = b"solvent-beat"
_SET_DEATH_SIGNAL, _SET_NAME = 1, 15
_CANNOT_ACT = ("", "T", "t", "Z", "X")
"""Gone, stopped by a signal, stopped by a debugger, or dead."""
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP)


class _Order(msgspec.Struct):
    """What the agent tells the process to write."""

    key: str
    about: dict[str, Any]
    ttl: float
    pause: float


class HeartbeatProcess:
    """The process that writes heartbeats, as its agent sees it; `split_off` makes it."""

    def __init__(self, pid: int, link: socket.socket, memory: mmap) -> None:
        self.pid = pid
        self.notes = Notes(memory)
        self._link = link
        self._has_ended = False

    def begin(self, key: str, about: Mapping[str, Any], *, ttl: float, pause: float) -> None:
        """Begin to write a heartbeat every `pause` seconds."""
        order = msgspec.msgpack.encode(_Order(key, dict(about), ttl, pause))
        # If it has died, the agent notices that soon.
        with suppress(OSError):
            self._link.sendall(_LENGTH.pack(len(order)) + order)

    def is_alive(self) -> bool:
        """Return whether it exists; if it was stopped, continue it, since this process runs."""
        if not self._has_ended and self._is_closed(0):
            self._forget()
        if not self._has_ended and _state_of(self.pid) == "T":
            self._send(signal.SIGCONT)
        return not self._has_ended

    def end(self) -> None:
        """End it; when this returns it writes no more."""
        if self._has_ended:
            return
        # Not only closed: a process that a service has forked may have it too.
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_WR)
        self._send(signal.SIGCONT)
        if not self._is_closed(END_SECONDS):
            self._send(signal.SIGKILL)
            self._is_closed(END_SECONDS)
        self._forget()

    def _is_closed(self, seconds: float) -> bool:
        """Return whether the other end closes within some seconds: it never sends anything."""
        return is_readable(self._link, seconds)

    def _send(self, number: signal.Signals) -> None:
        # A service may have waited for any child: then the number may belong to another process by now.
        with suppress(OSError):
            if os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                os.kill(self.pid, number)

    def _forget(self) -> None:
        self._has_ended = True
        self._link.close()
        with suppress(OSError):
            os.waitpid(self.pid, 0)


def split_off(url: str, **options: Any) -> HeartbeatProcess | None:
    """Fork a process that writes heartbeats to a store; return `None` if that is impossible, or too late.

    Options are those of `open_store`. The store is opened when the first heartbeat is due.
    """
    if not sys.platform.startswith("linux") or threading.active_count() > 1 or not _state_of(os.getpid()):
        return None
    # What it needs is imported once, for both.
    opener = opener_of(url)
    agent, memory = os.getpid(), mmap(-1, NOTES_BYTES)
    ours, theirs = socket.socketpair()
    try:
        pid = os.fork()
    except OSError:
        ours.close()
        theirs.close()
        return None
    if pid == 0:
        ours.close()
        _run_process(theirs, agent, Notes(memory), lambda: opener(url, **options))
    theirs.close()
    return HeartbeatProcess(pid, ours, memory)


# --- The process itself.


def _run_process(link: socket.socket, agent: int, notes: Notes, opened: Callable[[], Store]) -> NoReturn:
    """Write heartbeats as long as the agent wants, and end without running any code of the agent."""
    try:
        for number in _IGNORED:
            # A terminal sends them to all its processes. This one ends with its agent.
            signal.signal(number, signal.SIG_IGN)
        _tie_to_parent()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nowhere, descriptor)
        order = _order_from(link)
        if order is not None:
            _write_heartbeats(link, agent, notes, order, opened)
    finally:
        os._exit(0)


def _write_heartbeats(
    link: socket.socket, agent: int, notes: Notes, order: _Order, opened: Callable[[], Store]
) -> None:
    writer: HeartbeatWriter | None = None
    while os.getppid() == agent:
        with suppress(StoreError):
            if writer is None:
                writer = HeartbeatWriter(opened(), order.key, order.about, order.ttl, notes)
            elif not notes.is_away and _state_of(agent) not in _CANNOT_ACT:
                writer.write()
        if is_readable(link, order.pause):
            return


def _order_from(link: socket.socket) -> _Order | None:
    """Wait for the order of the agent; return `None` if it ends before."""
    with link.makefile("rb") as file:
        head = file.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack(head)
        text = file.read(length)
        return msgspec.msgpack.decode(text, type=_Order) if len(text) == length else None


def _tie_to_parent() -> None:
    """Let the system kill this process when its parent dies, and give it a name."""
    import ctypes

    with suppress(OSError, AttributeError):
        system = ctypes.CDLL(None)
        system.prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        system.prctl(_SET_NAME, _NAME, 0, 0, 0)


def _state_of(pid: int) -> str:
    """Return the state of a process as one letter; empty if it is gone, or the system has no /proc."""
    try:
        # The name in parentheses may contain anything.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


__all__ = ["NOTES_BYTES", "HeartbeatProcess", "HeartbeatWriter", "Notes", "split_off"]
