"""One peer of the experiments: a program that uses the resource, who fetches its data, and the lock's machine.

These are the paper's three levels (peer, resource manager, lock manager). Programs are the paper's listings, as
generators: a number is a sleep of so many seconds, an `Until` waits for something. What a peer stands on, its `Ground`,
says what time it is, carries messages and data, and wakes it.

Data has a version, which every use makes higher by one, so that in the end it tells how many uses there were: had two
had the resource at a time, or had a change been lost, it would not be right.
"""

from __future__ import annotations

from collections import Counter, deque
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from solvent.protocols.elmp.vocabulary import (
    Astray,
    Data,
    Dropped,
    Entrusted,
    Fetched,
    Granted,
    Join,
    Joined,
    Leave,
    Left,
    Release,
    Request,
)
from solvent.protocols.machine import Message, NodeId, Received, Report, Requested, Send
from solvent_lab.simulator.handover_server import CARRIERS

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from random import Random

    from solvent.protocols.machine import Event, Machine
    from solvent_lab.simulator.handover_setup import Setup


class Fetch(Message, frozen=True, gc=False):
    """Send this version of the data."""

    version: int


class Parcel(Message, frozen=True, gc=False):
    """Here it is; the data itself is with it."""

    version: int


class Until(Enum):
    """What a program may wait for."""

    HELD = "the resource is granted, and the data is here"
    LEFT = "the peer takes no part any more"
    JOINED = "it takes part"


Program: TypeAlias = "Generator[float | Until, None, None]"


class Ground(Protocol):
    """What peers stand on."""

    @property
    def now(self) -> float:
        """Seconds since the start."""

    def say(self, sender: NodeId, to: NodeId, message: Any) -> None:
        """Carry a message; those of one sender to one peer arrive in order (`Peer.hear`)."""

    def ship(self, sender: NodeId, to: NodeId, message: Any) -> None:
        """Carry a message that has the data with it, beside the others."""

    def wake(self, node: NodeId, seconds: float) -> None:
        """Let a peer go on after a time (`Peer.go_on`)."""


class Seen:
    """What is seen of a run."""

    def __init__(self, setup: Setup, chance: Random) -> None:
        self.setup = setup
        self.chance = chance
        #: Of each cycle of those who stay: its number, and how long it, its wait and its blocking took.
        self.cycles: list[tuple[int, float, float, float]] = []
        #: How long data took to fetch, in those cycles in which it was fetched.
        self.fetches: list[float] = []
        self.kinds: Counter[str] = Counter()
        self.shipped = 0
        #: Uses of the resource by those who come and go, and how often one left.
        self.uses_of_leavers = 0
        self.departures = 0
        self.version = 0
        #: Who still has cycles to do.
        self.at_work: set[NodeId] = set()

    @property
    def is_over(self) -> bool:
        """Whether all who stay have done their cycles."""
        return not self.at_work


class Peer:
    """One peer, or the server."""

    def __init__(self, node: NodeId, machine: Machine[Any], ground: Ground, seen: Seen) -> None:
        self.node = node
        self.ground = ground
        self.seen = seen
        self.setup = seen.setup
        #: The version of the data that is in this peer's memory; none yet.
        self.version = -1
        self._machine = machine
        self._state: Any = None
        self._events: deque[Event] = deque()
        self._is_stepping = False
        self._program: Program | None = None
        self._awaits: Until | None = None
        self._is_going = False
        #: What has come of what a program may wait for.
        self._come = {Until.JOINED}
        self._granted: Data | None = None
        #: The claim, or the errand, for which data is fetched.
        self._use = 0
        self._fetching: tuple[int, float] | None = None

    # ------------------------------------------------------------------------------------------------- the ground

    def begin(self, program: Program | None = None) -> None:
        """Start the machine, and run a program."""
        self._state, effects = self._machine.start()
        self._carry_out(effects)
        self._program = program
        if program is not None:
            self.go_on()

    def hear(self, sender: NodeId, message: Any) -> None:
        """Take what arrives."""
        if isinstance(message, Fetch):
            # One that is late is of somebody who does not wait for it any more.
            if message.version == self.version:
                self._ship(sender, Parcel(message.version))
        elif isinstance(message, Parcel):
            self._on_parcel(message.version)
        else:
            if isinstance(message, CARRIERS):
                self.version = message.version
            self._step(Received(sender, message))

    def go_on(self) -> None:
        """Go on with the program until it sleeps or waits."""
        assert self._program is not None
        self._is_going = True
        for want in self._program:
            if isinstance(want, Until):
                self._awaits = want
                self._consider_fetching()
                if want not in self._come:
                    break
                self._awaits = None
            elif want > 0:
                self.ground.wake(self.node, want)
                break
        self._is_going = False

    # --------------------------------------------------------------------------------------------- what users call

    def request(self) -> None:
        """Claim the resource; a claim that still waits is dropped."""
        self._step(Requested(Request()))

    def release(self) -> None:
        """Let the next one have it; ignored where nothing was granted."""
        data = None
        if Until.HELD in self._come:
            self.version += 1
            self.seen.version = max(self.seen.version, self.version)
            data = Data(self.version, self.node)
        self._forget_claim()
        self._step(Requested(Release(data=data)))

    def destroy(self) -> None:
        """Leave."""
        self._come.clear()
        self._granted = None
        self._step(Requested(Leave()))

    def create(self) -> None:
        """Come back, through anybody who stays."""
        stays = sorted(self.seen.at_work) or [NodeId(0)]
        self._step(Requested(Join(self.seen.chance.choice(stays))))

    # ---------------------------------------------------------------------------------------- the resource manager

    def _let_come(self, what: Until) -> None:
        """Let something have come, and a program go on that waits for it."""
        self._come.add(what)
        if self._awaits is what and not self._is_going:
            self._awaits = None
            self.go_on()

    def _on_told(self, outcome: Any) -> None:
        match outcome:
            case Granted(data=data, use=use):
                self._granted, self._use = data, use
                self._consider_fetching()
            case Entrusted(data, use=use):
                self._use = use
                self._fetch(data)
            case Dropped():
                self._forget_claim()
            case Left():
                self.seen.departures += 1
                self._let_come(Until.LEFT)
            case Joined():
                self._come.discard(Until.LEFT)
                self._let_come(Until.JOINED)
            case Astray():
                self.create()

    def _consider_fetching(self) -> None:
        """Fetch the data when the resource is granted; or not before the program waits for it, as the paper does."""
        data = self._granted
        if data is None or Until.HELD in self._come:
            return
        if data.holder == self.node:
            self._let_come(Until.HELD)
        elif self.setup.fetch == "grant" or self._awaits is Until.HELD:
            self._fetch(data)

    def _fetch(self, data: Data) -> None:
        if self._fetching is None or self._fetching[0] != data.version:
            self._fetching = data.version, self.ground.now
            self._say(data.holder, Fetch(data.version))

    def _on_parcel(self, version: int) -> None:
        if self._fetching is None or self._fetching[0] != version:
            return
        self.seen.fetches.append(self.ground.now - self._fetching[1])
        self._fetching = None
        self.version = version
        self._step(Requested(Fetched(version, use=self._use)))
        if self._granted is not None and self._granted.version == version:
            self._let_come(Until.HELD)

    def _forget_claim(self) -> None:
        self._granted = None
        self._come.discard(Until.HELD)

    # ----------------------------------------------------------------------------------------------- the machine

    def _step(self, event: Event) -> None:
        """Let the machine take an event; one that follows from an effect comes after the other effects."""
        self._events.append(event)
        if self._is_stepping:
            return
        self._is_stepping = True
        while self._events:
            self._state, effects = self._machine.step(self._state, self._events.popleft())
            self._carry_out(effects)
        self._is_stepping = False

    def _carry_out(self, effects: Sequence[Any]) -> None:
        for effect in effects:
            if type(effect) is Send:
                if isinstance(effect.message, CARRIERS):
                    self._ship(effect.to, effect.message)
                else:
                    self._say(effect.to, effect.message)
            elif type(effect) is Report:
                self._on_told(effect.outcome)
            else:
                raise TypeError(f"node {self.node} gave {effect!r}, which these experiments have no use for")

    def _say(self, to: NodeId, message: Any) -> None:
        if to != self.node:
            self.seen.kinds[type(message).__name__] += 1
        self.ground.say(self.node, to, message)

    def _ship(self, to: NodeId, message: Any) -> None:
        self.seen.kinds[type(message).__name__] += 1
        self.seen.shipped += 1
        self.ground.ship(self.node, to, message)


# ------------------------------------------------------------------------------------------------------- programs


def holding_first(peer: Peer, seconds: float) -> Program:
    """Have the resource until all others queue up; else whoever is first could do all its cycles alone."""
    peer.request()
    yield Until.HELD
    yield seconds
    peer.release()


def complete_cycles(peer: Peer) -> Program:
    """Do the paper's Listing 2: request, go on for a while, acquire, hold, release."""
    setup, seen, ground = peer.setup, peer.seen, peer.ground
    for number in range(setup.cycles):
        began = ground.now
        yield setup.idle
        requested = ground.now
        peer.request()
        yield setup.wblocked
        acquires = ground.now
        yield Until.HELD
        held = ground.now
        yield setup.locked
        peer.release()
        seen.cycles.append((number, ground.now - began, held - requested, held - acquires))
    seen.at_work.discard(peer.node)
    if not seen.is_over:
        peer.destroy()
        yield Until.LEFT


def out_of_order(peer: Peer) -> Program:
    """Do the paper's Listing 1 again and again: the first request is dropped by the second, then leave and come back.

    As it is printed it never holds the resource. With `leavers` = "use" it waits for it and uses it once before it
    releases and leaves, so that all peers use it, as they do where nobody leaves.
    """
    setup, seen = peer.setup, peer.seen
    while True:
        peer.request()
        yield setup.pause
        peer.request()
        yield setup.pause
        if setup.leavers == "use":
            yield Until.HELD
            yield setup.locked
            seen.uses_of_leavers += 1
        peer.release()
        peer.release()
        peer.destroy()
        yield Until.LEFT
        peer.create()
        yield Until.JOINED


__all__ = [
    "Fetch",
    "Ground",
    "Parcel",
    "Peer",
    "Program",
    "Seen",
    "Until",
    "complete_cycles",
    "holding_first",
    "out_of_order",
]
