"""One process of a space: its host, its store, and everything that both have to tell.

The lock's machine runs in a `DirectHost`: whichever thread waits for something does the work, and a thread of its own
if none does. What the machine reports is heard here, in whichever thread that is, and must be dealt with quickly; what
takes long (fetching data) is done in other threads.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse, SolventError, SpaceProblem
from solvent.handover.admission import Admission, Standing
from solvent.handover.data import Store
from solvent.handover.data.folder import Roll
from solvent.handover.data.opening import when_files_can_be_opened
from solvent.handover.peers import Peers
from solvent.handover.resource import Resource
from solvent.handover.threads import in_background
from solvent.handover.trouble import Trouble
from solvent.handover.words import Home, home_from_text
from solvent.net import address_from_text, text_from_address
from solvent.net.codec import Codec
from solvent.net.direct import DirectHost
from solvent.net.handshake import Identity
from solvent.protocols.elmp.state import ElmpConfig
from solvent.protocols.handover.machine import SpaceMachine
from solvent.protocols.handover.messages import HandoverMessage
from solvent.protocols.handover.state import SpaceConfig
from solvent.protocols.handover.vocabulary import (
    Arrived,
    Departed,
    Died,
    Entered,
    Expelled,
    Go,
    Gone,
    Inventory,
    Of,
    Opened,
    Repaired,
    Watch,
)
from solvent.protocols.machine import Machine, NodeId

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover.admission import Contact
    from solvent.handover.contents import Access
    from solvent.handover.place import SpacePlace
    from solvent.handover.resource import Cycle
    from solvent.net import Address

PROTOCOL = "handover"
MAX_LEAVE_SECONDS = 60.0
_LOOK_SECONDS = 0.2
_CODEC = Codec(HandoverMessage)
_CONFIG = SpaceConfig(locks=ElmpConfig(order=64, exchange_every=16_384))
"""An exchange of seats wakes all children: seldom enough to cost nothing, often enough that all have their share of
being the root."""


class _Late:
    """A machine that is made when it is known where its host listens."""

    def __init__(self, make: Callable[[], Machine[Any]]) -> None:
        self._make = make

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Any:
        """Make it, and start it."""
        machine = self._make()
        self.step = machine.step
        return machine.start(saved, life)


class SpaceNode:
    """One process of a space."""

    def __init__(self, place: SpacePlace) -> None:
        self.place = place
        self.node = NodeId(0)
        self.epoch = 0
        self.is_keeping = place.is_keeping
        self.max_seconds = max(10.0, 4 * place.patience)
        self.fault: SolventError | None = None
        #: What was held when it came.
        self._lost: tuple[Cycle, ...] = ()
        #: The last epoch in which this process released a change.
        self.changed_epoch = -1
        self.resources = dict[str, Resource]()
        self.peers = Peers(max_leave_seconds=MAX_LEAVE_SECONDS)
        self.home_of = self.peers.home_of
        self._watched: tuple[NodeId, ...] = ()
        self.admission = Admission(self)
        self.trouble = Trouble(self)
        self._departed = self._is_ending = False
        #: The number of the process that has entered: in a copy of it, it is another.
        self._process = 0
        self._guard = threading.Lock()
        self._store: Store | None = None
        self._here = ""
        self._roll: Roll | None = None
        self._host: DirectHost[Any] | None = None

    @property
    def store(self) -> Store:
        """The data of this process."""
        assert self._store is not None
        return self._store

    @property
    def host(self) -> DirectHost[Any]:
        """What runs the machine."""
        if self._host is None:
            raise Misuse("S103", "the space has not been entered, or was left", hint="use it inside its `with` block")
        return self._host

    @property
    def is_here(self) -> bool:
        """Whether the space has been entered, and not left; not so in a copy of the process."""
        return self._host is not None and self._process == os.getpid()

    @property
    def is_expelled(self) -> bool:
        """Whether the others took this process for dead."""
        return self.fault is not None and self.fault.code == "S203"

    @property
    def home(self) -> Home:
        """Where this process is to be found."""
        host, data_address, token = self.store.place
        address = self._outside(self.host.address)
        if data_address:
            data_address = self._outside(address_from_text(data_address))
        return Home(address, data_address, host, token)

    @property
    def members(self) -> dict[NodeId, Home]:
        """Who takes part, as far as is known here, this process among them."""
        return self.peers.present() | {self.node: self.home}

    def _outside(self, address: Address) -> str:
        outside = self.place.outside
        return text_from_address((outside, address[1]) if outside else address)

    def is_neighbour(self, node: NodeId) -> bool:
        """Tell whether a process takes part and has the memory of this host."""
        home = self.home_of(node)
        return home is not None and home.host == self._here and (self.peers.is_present(node) or node == self.node)

    # ------------------------------------------------------------------------------------------- coming and going

    def open(self) -> None:
        """Enter the space, or found it."""
        place = self.place
        self._process = os.getpid()
        self._store = Store(
            place.name,
            secret=place.secret,
            address=(place.listen[0], 0),
            folder=place.folder,
            is_current=lambda epoch: self.fault is None and epoch >= self.epoch,
        )
        self._here = self._store.place[0]
        try:
            self._roll = Roll(self._store.folder.path)
            self.admission.enter(self._roll)
        except BaseException:
            self.depart(is_released=False)
            raise

    def identity(self) -> Identity:
        """Tell what others have to know of this process."""
        return Identity(self.node, PROTOCOL, self.place.name, self.place.secret)

    def start_host(self, *, is_first: bool) -> None:
        """Begin to talk to others, as somebody whom nobody knows."""
        self.node = NodeId(secrets.randbits(31))
        self._departed = False

        def make() -> Machine[Any]:
            return SpaceMachine(self.node, self.home.text(), _CONFIG, is_first=is_first)

        self._host = DirectHost(
            _Late(make),
            self.identity(),
            _CODEC,
            listen=self.place.listen,
            application=self,
            find=self._find,
            on_end=self._on_end,
        )
        self._host.start()
        self.peers.meet(self.node, self.home)

    def meet(self, contact: Contact) -> str:
        """Note who may let this process in, and give where it is."""
        home = home_from_text(contact.home)
        if home is None:
            assert contact.address is not None
            home = Home(text_from_address(contact.address), "", "", b"")
        self.peers.meet(contact.node, home)
        return home.address

    def depart(self, *, is_released: bool = True) -> None:
        """Leave the space, when nobody needs this process any more; what is still held is released, or does not count.

        Nothing is done in a copy of the process, nor a second time.
        """
        if self._process != os.getpid():
            return
        with self._guard:
            is_ending, self._is_ending = self._is_ending, True
        if is_ending:
            return
        host = self._host
        try:
            if host is not None and self.admission.is_in and self.fault is None and host.is_running:
                with suppress(SolventError):
                    for resource in list(self.resources.values()):
                        resource.end_all(is_released=is_released)
                    self.request(Go())
                    self._wait_to_go(host)
        finally:
            self.close()
        # Whoever was taken for dead may have released its change when the others had gone on already.
        is_too_late = self.is_expelled and self.changed_epoch == self.epoch
        if is_released and (is_too_late or any(cycle.is_lost for cycle in self._lost)):
            self.check()

    def _wait_to_go(self, host: DirectHost[Any]) -> None:
        """Wait until nobody needs this process any more; but not for others that will not answer."""
        end = time.monotonic() + MAX_LEAVE_SECONDS
        while not host.wait(lambda: self._departed or self.fault is not None, _LOOK_SECONDS):
            if time.monotonic() > end or self.trouble.is_hopeless():
                return

    def close(self) -> None:
        """End, without a word to others; all of it, also if it is interrupted."""
        try:
            if self._roll is not None:
                self._roll.leave()
        finally:
            try:
                self.close_host()
            finally:
                if self._store is not None:
                    self._store.close(keep=self.is_keeping)

    def close_host(self) -> None:
        """Talk to nobody any more."""
        host, self._host = self._host, None
        if host is not None:
            host.close()

    # ----------------------------------------------------------------------------------------------- for handles

    def resource(self, name: str) -> Resource:
        """Give a resource, whether this process takes part in it or not."""
        with self._guard:
            found = self.resources.get(name)
            if found is None:
                found = self.resources[name] = Resource(self, name)
            return found

    def check(self) -> None:
        """Raise why nothing can be done any more."""
        if self.fault is not None:
            raise self.fault

    def request(self, wanted: Any, *, is_last: bool = False) -> None:
        """Tell the machine what is wanted; as the last, behind what others have said."""
        if self.fault is not None:
            raise self.fault
        self.host.request(wanted, is_last=is_last)

    def request_quietly(self, wanted: Any) -> None:
        """Do the same from a thread that nobody listens to."""
        with suppress(SolventError):
            self.request(wanted)

    def has_stopped(self) -> bool:
        """Tell whether a process of this host was taken for dead, and lives: it does not know that it is no member."""
        there = () if self._roll is None else self._roll.living()
        return any(one.state == Standing.MEMBER and not self.peers.is_present(NodeId(one.node)) for one in there)

    def heard(self) -> int:
        """Give the last epoch that this process has heard of; none counts if the others went on without it."""
        return -1 if self.fault is not None else self.epoch

    def wake(self) -> None:
        """Let threads that wait look whether it has happened; all who do are told when the host is over."""
        host = self._host
        if host is not None:
            with suppress(Exception):
                host.wake()

    # ------------------------------------------------------------------------------------------- for the machine

    def told(self, outcome: Any) -> None:
        """Hear what the machine reports."""
        if type(outcome) is Of:
            resource = self.resources.get(outcome.resource)
            if resource is None:
                resource = self.resource(outcome.resource)
            resource.told(outcome.told)
            return
        match outcome:
            case Opened(name):
                self.resource(name).on_opened()
            case Arrived(node, address):
                home = home_from_text(address)
                if home is not None:
                    self.peers.arrive(node, home)
            case Gone(node):
                self.peers.leave(node)
                self._forget()
            case Watch(nodes):
                self._watched = nodes
                self.host.watch(nodes, patience=self.place.patience)
            case Entered(epoch):
                self.epoch = epoch[0]
                self.admission.is_in = True
                self.trouble.on_entered()
            case Repaired(epoch, lost=lost):
                self.epoch = epoch[0]
                if any(home.host == self._here for home in map(self.home_of, lost) if home is not None):
                    in_background(self._fence_off, "solvent-fence")
                self.trouble.on_repaired(outcome)
            case Departed():
                self._departed = True
            case Expelled():
                hint = "what it held was taken from it; open the space again"
                self._fail(
                    SpaceProblem("S203", "the others took this process for dead and went on without it", hint=hint)
                )
            case _:
                self.admission.hear(outcome)

    def answer(self, question: Any) -> Any:
        """Tell what data is on this host, whoever has written it."""
        assert isinstance(question, Inventory)
        self.trouble.look()
        until = time.monotonic() + self.place.patience / 4
        here = when_files_can_be_opened(self.store.names, until=until)
        released = self.host.state.released
        names = {*question.resources, *(self.resources if here is None else here), *released}
        state = self.host.state
        epoch = max(state.promised[0], state.epoch[0] + 1)
        found = {
            name: self.resource(name).keeping.inventory(until=until, epoch=epoch, is_released=name in released)
            for name in sorted(names)
        }
        return {name: data for name, data in found.items() if data is not None}

    def lost(self, peer: NodeId, why: str) -> None:
        """Hear that a process is not to be reached; of one on this host it can be told for certain whether it lives."""
        del why
        home, roll = self.home_of(peer), self._roll
        if home is not None and roll is not None and home.host == self._here:
            if roll.is_dead(peer):
                self.host.request(Died(peer, is_certain=True))
            else:
                self.host.watch(self._watched, patience=self.place.patience)
        else:
            self.host.request(Died(peer, is_certain=False))

    def _fence_off(self) -> None:
        """Let those of this host that were taken for dead, and live, make no version any more, whatever they hold."""
        epoch = self.epoch
        if self.has_stopped():
            with suppress(SolventError, OSError):
                for region in self.store.each():
                    region.fence(epoch)

    def _forget(self) -> None:
        """Have nothing to do any more with those that have long left."""
        roll = self._roll
        for node in self.peers.forgotten(self._here, lambda one: roll is not None and roll.is_dead(one)):
            self.host.forget(node)

    def _find(self, node: NodeId) -> Address | None:
        home = self.home_of(node)
        return None if home is None else address_from_text(home.address)

    def _on_end(self, fault: BaseException | None) -> None:
        if fault is not None and self.fault is None:
            problem = SpaceProblem("S206", f"the process can take no part in the space any more: {fault!r}")
            problem.__cause__ = fault
            self._fail(problem)

    def _fail(self, fault: SolventError) -> None:
        self.fault = fault
        held = [one for resource in list(self.resources.values()) for one in resource.fail(fault)]
        self._lost = tuple(cycle for cycle, _ in held)
        in_background(lambda: self._let_go([access for _, access in held]), "solvent-let-go")

    def _let_go(self, held: list[Access]) -> None:
        """Put back what was kept of what was held, and be known to take no part any more.

        As long as this process is on the roll its neighbours believe that it takes part, and wait for it.
        """
        try:
            for access in held:
                with suppress(SolventError, OSError):
                    access.abandon()
        finally:
            if self._roll is not None:
                self._roll.leave()


__all__ = ["SpaceNode"]
