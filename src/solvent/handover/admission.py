"""How a process gets into a space: as the first, or let in by somebody who is there.

It is tried for a while; whoever enters may be stopped by another thread, since nobody wants to any more, and is told at
once if those who are there will not talk to it.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from solvent.errors import SpaceProblem
from solvent.handover.meeting import PAUSE_SECONDS, Contact, Standing, contacts_at, contacts_on
from solvent.handover.words import home_from_text
from solvent.net import address_from_text
from solvent.net.transport import PeerFault
from solvent.protocols.handover.vocabulary import Astray, Enter

if TYPE_CHECKING:
    from solvent.handover.data.roll import Roll
    from solvent.handover.node import SpaceNode
    from solvent.protocols.machine import NodeId

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


__all__ = ["MAX_ENTER_SECONDS", "Admission"]
