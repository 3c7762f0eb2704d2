"""How a process finds the others of its space: in the folder that they share, or at an address.

Of processes that begin on one host at the same time exactly one may be the first. They take turns to look at the roll:

* Where a member is, it is asked to let the new one in. So it is where an address is given.
* Where nobody is, the process is the first, and founds the space.
* Where others are that wait to be let in, and no member is, nobody knows whether one of them has been let in just
  before the last member died. They are waited for: each becomes a member or gives up.
"""

from __future__ import annotations

import socket
import time
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from solvent.errors import SpaceProblem
from solvent.net import handshake, text_from_address
from solvent.net.codec import Frames, Nonsense
from solvent.net.handshake import ANYBODY, MAX_HANDSHAKE_BYTES, Challenge, Refused
from solvent.protocols.machine import NodeId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.handover.data.roll import Presence
    from solvent.net import Address
    from solvent.net.handshake import Identity

MAX_ANSWER_SECONDS = 5.0
PAUSE_SECONDS = 0.01


class Standing(StrEnum):
    """How far a process on the roll has come."""

    #: It has asked somebody to let it in.
    WAITING = "waiting"
    MEMBER = "member"


class Contact(NamedTuple):
    """Somebody who may let a new process in."""

    node: NodeId
    #: Its home, if it is on the roll; else where it was found.
    home: str
    address: Address | None


def contacts_on(roll: Sequence[Presence]) -> list[Contact]:
    """Give the members on the roll."""
    return [Contact(NodeId(one.node), one.address, None) for one in roll if one.state == Standing.MEMBER]


def contacts_at(me: Identity, addresses: Sequence[Address], end: float) -> list[Contact]:
    """Ask at addresses who is there, until somebody is or it is too late."""
    while True:
        reasons, refusals = [], []
        for address in addresses:
            try:
                return [Contact(_who_is_at(me, address), "", address)]
            except OSError as error:
                reasons.append(f"{text_from_address(address)}: {error}")
            except Nonsense as error:
                refusals.append(f"{text_from_address(address)}: {error}")
        # Where one of several was, something else may be by now.
        is_late = time.monotonic() > end
        if refusals and (is_late or not reasons):
            hint = "all processes of a space have the same name and secret"
            raise SpaceProblem("S202", f"not let into the space: {'; '.join(refusals)}", hint=hint)
        if is_late:
            hint = "start the process there first, or look at its `listen` and at firewalls"
            raise SpaceProblem("S201", f"nobody of the space is to be found: {'; '.join(reasons)}", hint=hint)
        time.sleep(PAUSE_SECONDS * 5)


def _who_is_at(me: Identity, address: Address) -> NodeId:
    """Shake hands with whoever is at an address, and tell who it is; raise `OSError` or `Nonsense`."""
    hello = handshake.hello(me, ANYBODY)
    frames = Frames(MAX_HANDSHAKE_BYTES)
    with socket.create_connection(address, timeout=MAX_ANSWER_SECONDS) as line:
        line.sendall(handshake.encode(hello))
        while data := line.recv(MAX_HANDSHAKE_BYTES):
            for body in frames.feed(data):
                answer = handshake.decode(body)
                if isinstance(answer, Refused):
                    raise Nonsense(f"it will not talk to this process, since {answer.reason}")
                if not isinstance(answer, Challenge):
                    raise Nonsense("it answers out of turn")
                # It must know the secret, too, before anything is told to it.
                handshake.prove(me, hello, answer)
                return answer.node
    raise ConnectionResetError("it hung up")


__all__ = ["Contact", "Standing", "contacts_at", "contacts_on"]
