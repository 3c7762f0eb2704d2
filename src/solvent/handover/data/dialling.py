"""Connections to those that have data: dialled when one is needed, kept for the next time."""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from solvent.errors import NodeProblem
from solvent.handover.data.wire import PROTOCOL, Broken, Line
from solvent.net import handshake
from solvent.net.addresses import address_from_text
from solvent.net.codec import Nonsense
from solvent.net.handshake import ANYBODY, Challenge, Hello, Identity, Proof, Refused
from solvent.net.readiness import is_writable
from solvent.protocols.machine import NodeId

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover.data.where import Where
    from solvent.net.addresses import Address

MAX_IDLE_SECONDS = 60.0
"""How long a connection is kept that nobody uses; a server keeps it for longer, so that it is not the first."""
_MAX_IDLE = 16
_LOOK_UP_SECONDS = 0.05
_NOBODY = NodeId(0)


class Unwelcome(Exception):
    """Whoever is at an address does not talk to us, or is not to be trusted; the reason is for people."""


def identity_for(run: str, secret: bytes, token: bytes) -> Identity:
    """Say who may fetch: one that knows the run, its secret, and the token of the process that has the data."""
    key = hmac.digest(secret or b"no secret", token, hashlib.sha256)
    return Identity(_NOBODY, PROTOCOL, run, key)


class Dialling(NamedTuple):
    """How to dial."""

    #: How long to wait for each answer.
    max_seconds: float
    #: Raises an error to stop; called while there is nothing to shut.
    go_on: Callable[[], None] = lambda: None
    #: Told of the connection as soon as there is one, so that somebody can shut it.
    on_line: Callable[[Line], None] = lambda _: None


def dial(where: Where, run: str, secret: bytes, how: Dialling) -> Line:
    """Connect and make sure of each other; raise `Broken` or `Unwelcome`."""
    me = identity_for(run, secret, where.token)
    try:
        line = Line(_connected(address_from_text(where.address), how), max_seconds=how.max_seconds)
    except OSError as error:
        raise Broken(error.strerror or str(error) or "no answer") from error
    except NodeProblem as error:
        raise Unwelcome(error.message) from error
    try:
        how.on_line(line)
        said = handshake.hello(me, ANYBODY)
        line.send(handshake.encode(said))
        line.send(handshake.encode(handshake.prove(me, said, _challenge(line))))
    except Nonsense as error:
        line.close()
        raise Unwelcome(str(error)) from error
    except BaseException:
        line.close()
        raise
    return line


def _connected(address: Address, how: Dialling) -> socket.socket:
    """Connect, and look up now and then whether to go on: a host that is gone lets one wait for long."""
    family, kind, protocol, _, place = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
    connection = socket.socket(family, kind, protocol)
    try:
        connection.setblocking(False)
        problem = _problem_of(connection, connection.connect_ex(place), how)
    except BaseException:
        connection.close()
        raise
    if problem:
        connection.close()
        raise OSError(problem, os.strerror(problem))
    return connection


def _problem_of(connection: socket.socket, problem: int, how: Dialling) -> int:
    """Wait for a connection; give the number of the error, or zero."""
    end = time.monotonic() + how.max_seconds
    while problem == errno.EINPROGRESS:
        how.go_on()
        if time.monotonic() > end:
            return errno.ETIMEDOUT
        if is_writable(connection, _LOOK_UP_SECONDS):
            return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return problem


def _challenge(line: Line) -> Challenge:
    answer = handshake.decode(line.hear())
    if isinstance(answer, Refused):
        raise Unwelcome(f"it refuses: {answer.reason}")
    if not isinstance(answer, Challenge):
        raise Unwelcome("it does not answer as a process of this run does")
    return answer


def welcome(line: Line, me: Identity) -> bool:
    """Hear who dials; tell whether it may go on."""
    said = handshake.decode(line.hear())
    if not isinstance(said, Hello):
        return False
    answer = handshake.challenge(me, said)
    line.send(handshake.encode(answer))
    if isinstance(answer, Refused):
        return False
    proof = handshake.decode(line.hear())
    return isinstance(proof, Proof) and handshake.is_proved(me, said, answer, proof)


class Lines:
    """The connections of one process that are not in use."""

    def __init__(self, run: str, secret: bytes) -> None:
        self._run = run
        self._secret = secret
        self._guard = threading.Lock()
        self._idle = list[tuple[float, tuple[str, bytes], Line]]()

    def take(self, where: Where, how: Dialling) -> tuple[Line, bool]:
        """Give a connection, and whether it was used before: then it may have been closed meanwhile."""
        key = (where.address, where.token)
        old = time.monotonic() - MAX_IDLE_SECONDS
        found: Line | None = None
        with self._guard:
            # Those that were used last are at the end.
            while self._idle and self._idle[0][0] < old:
                self._idle.pop(0)[2].close()
            for index in range(len(self._idle) - 1, -1, -1):
                if self._idle[index][1] == key:
                    found = self._idle.pop(index)[2]
                    break
        if found is not None:
            found.wait_at_most(how.max_seconds)
            return found, True
        return dial(where, self._run, self._secret, how), False

    def put_back(self, where: Where, line: Line) -> None:
        """Keep a connection on which nothing is under way."""
        with self._guard:
            if len(self._idle) < _MAX_IDLE:
                self._idle.append((time.monotonic(), (where.address, where.token), line))
                return
        line.close()

    def close(self) -> None:
        """Close all."""
        with self._guard:
            idle, self._idle = self._idle, []
        for _, _, line in idle:
            line.close()


__all__ = ["MAX_IDLE_SECONDS", "Dialling", "Lines", "Unwelcome", "dial", "identity_for", "welcome"]
