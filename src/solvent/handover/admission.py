"""How a process gets into a space: as the first, or let in by somebody who is there.

It is tried for a while; whoever enters may be stopped by another thread, since nobody wants to any more, and is told at
once if those who are there will not talk to it.

It finds the others in the folder that they share, or at an address. Of processes that begin on one host at the same
time exactly one may be the first. They take turns to look at the roll:

* Where a member is, it is asked to let the new one in. So it is where an address is given.
* Where nobody is, the process is the first, and founds the space.
* Where others are that wait to be let in, and no member is, nobody knows whether one of them has been let in just
  before the last member died. They are waited for: each becomes a member or gives up.
"""

from __future__ import annotations

import socket
import threading
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.errors import SpaceProblem
from solvent.handover.words import home_from_text
from solvent.net import address_from_text, handshake, text_from_address
from solvent.net.codec import Frames, Nonsense
from solvent.net.handshake import ANYBODY, MAX_HANDSHAKE_BYTES, Challenge, Refused
from solvent.net.transport import PeerFault
from solvent.protocols.handover.vocabulary import Astray, Enter
from solvent.protocols.machine import NodeId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.handover.data.folder import Presence, Roll
    from solvent.handover.node import SpaceNode
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


MAX_ENTER_SECONDS = 60.0
_LOOK_SECONDS = 0.25
_ASK_SECONDS = 0.05


class Admission:
    """One process that enters."""

    def __init__(self, node: SpaceNode) -> None:
        self._node = node
        #: Whether the process is in the space.
        self.is_in = False
        #: Whom it has asked; whether that one is no member any more; and whether it will not even talk to this one.
        self._asked: NodeId | None = None
        self._is_astray = self._is_refused = False
        #: Set when nobody wants to enter any more.
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Have `enter` end soon, with an error, wherever it is."""
        self._stopped.set()
        self._node.wake()

    def hear(self, outcome: Any) -> None:
        """Hear what the machine reports."""
        match outcome:
            case Astray():
                self._is_astray = True
            case PeerFault(peer):
                self._is_refused |= peer == f"node {self._asked}"

    def enter(self, roll: Roll) -> None:
        """Try until this process is in."""
        node, end = self._node, time.monotonic() + MAX_ENTER_SECONDS
        while time.monotonic() < end:
            self._go_on()
            contacts = self._present_here(roll)
            if contacts is None:
                self._stopped.wait(PAUSE_SECONDS)
                continue
            if self.is_in:
                return
            if node.place.contacts:
                contacts += self._contacts_elsewhere(end)
            if any(self._is_let_in_by(contact, roll) for contact in contacts):
                with roll.meeting():
                    roll.say(Standing.MEMBER, node.home.text())
                # It may have been stopped since it was let in, and taken for dead.
                node.check()
                return
            # Nobody is there any more that was. The next attempt is another process's, so to speak.
            with roll.meeting():
                roll.leave()
            node.close_host()
        raise SpaceProblem("S202", "not let into the space: nobody answers in time")

    def _go_on(self) -> None:
        """Raise it if nobody wants to enter any more."""
        if self._stopped.is_set():
            raise SpaceProblem("S204", "the space is not entered: nobody wants to any more")

    def _present_here(self, roll: Roll) -> list[Contact] | None:
        """Be on the roll, as the first or with those who may let this process in; nothing if that is to be seen."""
        node = self._node
        with roll.meeting():
            others = roll.others()
            contacts = contacts_on(others)
            is_first = not contacts and not node.place.contacts
            if is_first and others:
                return None
            if not others:
                for region in node.store.each():
                    region.forget_epoch()
            self.is_in = False
            node.start_host(is_first=is_first)
            self.is_in = is_first
            roll.enter(node.node, Standing.MEMBER if is_first else Standing.WAITING, node.home.text())
            return contacts

    def _contacts_elsewhere(self, end: float) -> list[Contact]:
        """Ask at the addresses that were given who is there, again and again for a while."""
        me, addresses = self._node.identity(), self._node.place.contacts
        while True:
            refusals = 0
            for address in addresses:
                self._go_on()
                try:
                    return contacts_at(me, (address,), 0.0)
                except SpaceProblem as problem:
                    refusals += problem.code == "S202"
            if refusals == len(addresses) or time.monotonic() > end:
                # Once more, for what all of them say.
                return contacts_at(me, addresses, 0.0)
            self._stopped.wait(_ASK_SECONDS)

    def _is_let_in_by(self, contact: Contact, roll: Roll) -> bool:
        """Ask somebody, and wait for the answer."""
        node = self._node
        address = node.meet(contact)
        is_here = home_from_text(contact.home) is not None
        self._is_astray = self._is_refused = False
        self._asked = contact.node
        node.request(Enter(contact.node))
        end = time.monotonic() + MAX_ENTER_SECONDS
        while not node.host.wait(self._is_answered, _LOOK_SECONDS):
            if time.monotonic() > end or (is_here and roll.is_dead(contact.node)):
                break
        self._asked = None
        self._go_on()
        if self._is_refused and not self.is_in:
            # Whoever is there says why; unless somebody else has its place by now, or nobody.
            try:
                contacts_at(node.identity(), (address_from_text(address),), 0.0)
            except SpaceProblem as problem:
                if problem.code != "S201":
                    raise
        return self.is_in

    def _is_answered(self) -> bool:
        return self.is_in or self._is_astray or self._is_refused or self._stopped.is_set()


__all__ = ["MAX_ENTER_SECONDS", "Admission", "Contact", "Standing", "contacts_at", "contacts_on"]
