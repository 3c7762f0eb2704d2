"""A process that beats the pulse of an agent.

A thread of the agent would not do: a service that keeps Python's lock, in one long call into C, keeps it from beating,
and others would take over what is being done. So a small process is split off before the agent has threads, sockets or
files; it opens the space by itself, and knows its address without it being in anybody's command line.

It beats only while the agent could act. Before each beat it looks whether the agent is there and not stopped; when the
agent dies, the system kills this process too. What it has noted of its beats the agent sees in memory of both. Should
this process die, the agent beats by itself.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import threading
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from solvent.errors import SpaceError
from solvent.live.space import opener_of
from solvent.live.space.beats import NOTES_BYTES, Beats, Notes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.live.space.interface import Space

END_SECONDS = 5.0
"""How long it may take to end; one that waits for the space is killed then."""
_LENGTH = struct.Struct("!I")
_NAME = b"solvent-pulse"
_SET_DEATH_SIGNAL, _SET_NAME = 1, 15
_CANNOT_ACT = ("", "T", "t", "Z", "X")
"""Gone, stopped by a signal, stopped by a debugger, or dead."""
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP)


class _Order(msgspec.Struct):
    """What an agent asks for."""

    key: str
    about: dict[str, Any]
    ttl: float
    pause: float


class PulseProcess:
    """The process that beats, as its agent sees it; `split_off` makes it."""

    def __init__(self, pid: int, link: socket.socket, memory: mmap) -> None:
        self.pid = pid
        self.notes = Notes(memory)
        self._link = link
        self._has_ended = False

    def begin(self, key: str, about: Mapping[str, Any], *, ttl: float, pause: float) -> None:
        """Let it beat, every `pause` seconds."""
        order = msgspec.msgpack.encode(_Order(key, dict(about), ttl, pause))
        # Should it have died, the agent sees that soon.
        with suppress(OSError):
            self._link.sendall(_LENGTH.pack(len(order)) + order)

    def is_alive(self) -> bool:
        """Whether it is there; if it was stopped it is let go on, since this process goes on."""
        if not self._has_ended and self._is_closed(0):
            self._forget()
        if not self._has_ended and _state_of(self.pid) == "T":
            self._send(signal.SIGCONT)
        return not self._has_ended

    def end(self) -> None:
        """Let it end; when this returns it beats no more."""
        if self._has_ended:
            return
        # Not only closed: a process that a service has split off may have it too.
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_WR)
        self._send(signal.SIGCONT)
        if not self._is_closed(END_SECONDS):
            self._send(signal.SIGKILL)
            self._is_closed(END_SECONDS)
        self._forget()

    def _is_closed(self, seconds: float) -> bool:
        """Whether the other end is closed, or will be soon: it says nothing."""
        return bool(select.select([self._link], [], [], seconds)[0])

    def _send(self, number: signal.Signals) -> None:
        # A service may have waited for whatever process ended: then the number may be another's by now.
        with suppress(OSError):
            if os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                os.kill(self.pid, number)

    def _forget(self) -> None:
        self._has_ended = True
        self._link.close()
        with suppress(OSError):
            os.waitpid(self.pid, 0)


def split_off(url: str, **options: Any) -> PulseProcess | None:
    """Split off a process that will beat in a space; nothing where that cannot be done, or not any more.

    Options are those of `open_space`. The space is opened when there is something to beat for.
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
        _be(theirs, agent, Notes(memory), lambda: opener(url, **options))
    theirs.close()
    return PulseProcess(pid, ours, memory)


# --- The process itself.


def _be(link: socket.socket, agent: int, notes: Notes, opened: Callable[[], Space]) -> NoReturn:
    """Beat as long as the agent wants it; whatever happens, nothing of what the agent was about to do is done here."""
    try:
        for number in _IGNORED:
            # They are sent to all of a terminal or of a job. It ends with its agent.
            signal.signal(number, signal.SIG_IGN)
        _tie_to_parent()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nowhere, descriptor)
        order = _order_from(link)
        if order is not None:
            _beat(link, agent, notes, order, opened)
    finally:
        os._exit(0)


def _beat(link: socket.socket, agent: int, notes: Notes, order: _Order, opened: Callable[[], Space]) -> None:
    beats: Beats | None = None
    while os.getppid() == agent:
        with suppress(SpaceError):
            if beats is None:
                beats = Beats(opened(), order.key, order.about, order.ttl, notes)
            elif not notes.is_away and _state_of(agent) not in _CANNOT_ACT:
                beats.write()
        if select.select([link], [], [], order.pause)[0]:
            return


def _order_from(link: socket.socket) -> _Order | None:
    """Wait until the agent says what is to be done; nothing if it ends before."""
    with link.makefile("rb") as file:
        head = file.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack(head)
        text = file.read(length)
        return msgspec.msgpack.decode(text, type=_Order) if len(text) == length else None


def _tie_to_parent() -> None:
    """Let the system kill this process when its parent dies, and show people what it is."""
    import ctypes

    with suppress(OSError, AttributeError):
        system = ctypes.CDLL(None)
        system.prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        system.prctl(_SET_NAME, _NAME, 0, 0, 0)


def _state_of(pid: int) -> str:
    """Give the letter by which the system tells whether a process runs; nothing where it is gone, or nobody tells."""
    try:
        # The name in parentheses may contain anything.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


__all__ = ["PulseProcess", "split_off"]
