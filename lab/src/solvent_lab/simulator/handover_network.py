"""The network of the handover benchmark: sites of hosts, links that transfers share, and how long things take.

A host has a link of its own up to its site and one down from it, and a site has the same to the backbone, so what is
sent does not hinder what is received. Times are those of SimGrid's model, with its factors of the time of the paper (P.
Velho and A. Legrand, "Accuracy study and improvement of network simulation in the SimGrid framework", 2009): a transfer
first waits for the latency of its way, times 10.4, and then has its share of each link's bandwidth, times 0.92.

Shares are max-min fair: no rate can grow without taking from a transfer that has no more. Rates are found by filling
links step by step: the link with the least for each of its transfers settles their rates, what they use is taken off
their other links, and so on. They change whenever a transfer begins or ends, and only then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from solvent.protocols.machine import NodeId
from solvent_lab.simulator.clock import Clock
from solvent_lab.simulator.network import encoded_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Observer: TypeAlias = Callable[[NodeId, NodeId, Any, float], None]

LATENCY_FACTOR = 10.4
BANDWIDTH_FACTOR = 0.92
_GIGABIT = 125e6
_DONE = 1e-6
"""Bytes that are no longer worth waiting for: rates are not exact."""


class Route(NamedTuple):
    """The way from one host to another: seconds of latency, and the links on it, by number."""

    latency: float
    links: tuple[int, ...]


class Platform(NamedTuple):
    """Sites of hosts, all of them alike. Latencies in seconds, without the factor; bandwidths in bytes a second."""

    name: str
    says: str
    sites: int
    #: Between two hosts of a site, and between two of different sites.
    latency_within: float
    latency_between: float
    #: Of a host's link, and of a site's.
    bandwidth: float = _GIGABIT
    bandwidth_of_site: float = 10 * _GIGABIT

    def site_of(self, host: int) -> int:
        """Deal hosts to sites in turn."""
        return host % self.sites

    def route(self, sender: int, to: int) -> Route:
        """Return the way between two hosts. Each host and each site has a link up (even) and one down (odd)."""
        up, down = 2 * (sender + self.sites), 2 * (to + self.sites) + 1
        here, there = self.site_of(sender), self.site_of(to)
        if here == there:
            return Route(self.latency_within, (up, down))
        return Route(self.latency_between, (up, 2 * here, 2 * there + 1, down))

    def capacity(self, link: int) -> float:
        """Return what a link carries in a second, with the model's factor."""
        is_of_site = link < 2 * self.sites
        return BANDWIDTH_FACTOR * (self.bandwidth_of_site if is_of_site else self.bandwidth)

    def seconds_for(self, size: float) -> float:
        """Return how long a transfer takes that has its way for itself, after its latency."""
        return size / (BANDWIDTH_FACTOR * min(self.bandwidth, self.bandwidth_of_site))


PLATFORMS = {
    one.name: one
    for one in (
        Platform("grid5000", "nine sites: 0.1 ms in a site, 2.3 ms between two", 9, 1e-4, 2.3e-3),
        Platform("site", "one site: 0.1 ms", 1, 1e-4, 1e-4),
        Platform("file", "nine sites as in SimGrid's file of the time: 0.3 ms in a site, 1 ms between", 9, 3e-4, 1e-3),
    )
}


def shared(ways: Mapping[int, Sequence[int]], capacity: Callable[[int], float]) -> dict[int, float]:
    """Return the max-min fair rate of each transfer, by its number; ways are the links that it takes."""
    on: dict[int, set[int]] = {}
    for number, links in ways.items():
        for link in links:
            on.setdefault(link, set()).add(number)
    free = {link: capacity(link) for link in on}
    rates: dict[int, float] = {}
    while len(rates) < len(ways):
        tightest = min((link for link in on if on[link]), key=lambda link: (free[link] / len(on[link]), link))
        rate = free[tightest] / len(on[tightest])
        for number in sorted(on[tightest]):
            rates[number] = rate
            for link in ways[number]:
                on[link].discard(number)
                free[link] = max(0.0, free[link] - rate)
    return rates


class Flow:
    """A transfer under way."""

    __slots__ = ("item", "left", "links", "rate")

    def __init__(self, links: tuple[int, ...], size: float, item: Any) -> None:
        self.links = links
        self.left = size
        self.item = item
        self.rate = 0.0


class Flows:
    """All transfers under way at a time."""

    def __init__(self, capacity: Callable[[int], float]) -> None:
        self._capacity = capacity
        self._flows: dict[int, Flow] = {}
        self._number = 0
        self._now = 0.0

    def __len__(self) -> int:
        return len(self._flows)

    def begin(self, now: float, links: tuple[int, ...], size: float, item: Any) -> None:
        """Begin a transfer; `item` is what arrives in the end."""
        self._advance(now)
        self._number += 1
        self._flows[self._number] = Flow(links, size, item)
        self._share()

    def next_end(self) -> float | None:
        """Return when the first of them ends, if none begins before."""
        if not self._flows:
            return None
        return self._now + min(max(0.0, flow.left) / flow.rate for flow in self._flows.values())

    def ended(self, now: float) -> list[Any]:
        """Return what has arrived by now, in the order in which it was sent."""
        self._advance(now)
        # The time itself is rounded, and a fast link carries something even in that.
        over = [number for number, flow in self._flows.items() if flow.left <= _DONE + 1e-12 * now * flow.rate]
        items = [self._flows.pop(number).item for number in over]
        if items:
            self._share()
        return items

    def _advance(self, now: float) -> None:
        for flow in self._flows.values():
            flow.left -= flow.rate * (now - self._now)
        self._now = now

    def _share(self) -> None:
        rates = shared({number: flow.links for number, flow in self._flows.items()}, self._capacity)
        for number, rate in rates.items():
            self._flows[number].rate = rate


class _Arrival(NamedTuple):
    sender: NodeId
    to: NodeId
    message: Any


class _Departure(NamedTuple):
    """Data that has waited for its latency."""

    links: tuple[int, ...]
    arrival: _Arrival


class _Waking(NamedTuple):
    node: NodeId


class _FlowEnds(NamedTuple):
    """The next of the transfers under way is over."""


class Network:
    """Carries messages and data of one size on a platform, and wakes peers."""

    def __init__(self, platform: Platform, size: int, observe: Observer | None = None) -> None:
        self._platform = platform
        self._observe = observe
        self._size = float(size)
        self._clock = Clock()
        self._flows = Flows(platform.capacity)
        self._ends: int | None = None
        self._routes: dict[tuple[NodeId, NodeId], Route] = {}
        #: When the last message of each channel arrives.
        self._last: dict[tuple[NodeId, NodeId], float] = {}

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self._clock.now

    def say(self, sender: NodeId, to: NodeId, message: Any) -> None:
        """Carry a message; those of one sender to one peer arrive in order."""
        at = self.now
        if sender != to:
            route = self._route(sender, to)
            at += LATENCY_FACTOR * route.latency + self._platform.seconds_for(encoded_size(message))
            at = max(at, self._last.get((sender, to), 0.0))
            self._last[sender, to] = at
        self._clock.put(at, _Arrival(sender, to, message))

    def ship(self, sender: NodeId, to: NodeId, message: Any) -> None:
        """Carry a message that has the data with it, beside the others."""
        route = self._route(sender, to)
        at = self.now + LATENCY_FACTOR * route.latency
        self._clock.put(at, _Departure(route.links, _Arrival(sender, to, message)))

    def wake(self, node: NodeId, seconds: float) -> None:
        """Let a peer go on after a time."""
        self._clock.put(self.now + seconds, _Waking(node))

    def run(
        self, hear: Callable[[NodeId, NodeId, Any], None], go_on: Callable[[NodeId], None], is_over: Callable[[], bool]
    ) -> None:
        """Deliver messages by `hear(sender, to, message)` and wake peers by `go_on(node)` until it is over."""
        while not is_over():
            taken = self._clock.take(float("inf"))
            if taken is None:
                return
            arrived: list[_Arrival] = []
            match taken[1]:
                case _Arrival() as item:
                    arrived = [item]
                case _Waking(node):
                    go_on(node)
                case _Departure(links, arrival):
                    self._flows.begin(self.now, links, self._size, arrival)
                    self._plan()
                case _:
                    arrived = self._flows.ended(self.now)
                    self._plan()
            for sender, to, message in arrived:
                if self._observe is not None:
                    self._observe(sender, to, message, self.now)
                hear(sender, to, message)

    def _plan(self) -> None:
        """Put the end of the next transfer on the clock."""
        if self._ends is not None:
            self._clock.cancel(self._ends)
        end = self._flows.next_end()
        self._ends = None if end is None else self._clock.put(end, _FlowEnds())

    def _route(self, sender: NodeId, to: NodeId) -> Route:
        found = self._routes.get((sender, to))
        if found is None:
            found = self._routes[sender, to] = self._platform.route(sender, to)
        return found
