"""Where peers run: sites of hosts, links between them, and how long things take on these.

A host has a link of its own up to its site and one down from it, and a site has the same to the backbone, so what is
sent does not hinder what is received. Times are those of SimGrid's model, with its factors of the time of the paper (P.
Velho and A. Legrand, "Accuracy study and improvement of network simulation in the SimGrid framework", 2009): a transfer
first waits for the latency of its way, times 10.4, and then has its share of each link's bandwidth, times 0.92.
"""

from __future__ import annotations

from typing import NamedTuple

LATENCY_FACTOR = 10.4
BANDWIDTH_FACTOR = 0.92
_GIGABIT = 125e6


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
        """Give the way between two hosts. Each host and each site has a link up (even) and one down (odd)."""
        up, down = 2 * (sender + self.sites), 2 * (to + self.sites) + 1
        here, there = self.site_of(sender), self.site_of(to)
        if here == there:
            return Route(self.latency_within, (up, down))
        return Route(self.latency_between, (up, 2 * here, 2 * there + 1, down))

    def capacity(self, link: int) -> float:
        """Give what a link carries in a second, with the model's factor."""
        is_of_site = link < 2 * self.sites
        return BANDWIDTH_FACTOR * (self.bandwidth_of_site if is_of_site else self.bandwidth)

    def seconds_for(self, size: float) -> float:
        """Give how long a transfer takes that has its way for itself, after its latency."""
        return size / (BANDWIDTH_FACTOR * min(self.bandwidth, self.bandwidth_of_site))


PLATFORMS = {
    one.name: one
    for one in (
        Platform("grid5000", "nine sites: 0.1 ms in a site, 2.3 ms between two", 9, 1e-4, 2.3e-3),
        Platform("site", "one site: 0.1 ms", 1, 1e-4, 1e-4),
        Platform("file", "nine sites as in SimGrid's file of the time: 0.3 ms in a site, 1 ms between", 9, 3e-4, 1e-3),
    )
}


__all__ = ["BANDWIDTH_FACTOR", "LATENCY_FACTOR", "PLATFORMS", "Platform", "Route"]
