"""Transfers that share links: each has its fair share of every link on its way, and what others cannot use besides.

That is max-min fairness: nobody's rate can grow without taking from somebody who has no more. It is found by filling
links step by step: the link with the least for each of its transfers settles their rates, what they use is taken off
their other links, and so on. Rates change whenever a transfer begins or ends, and only then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_DONE = 1e-6
"""Bytes that are no longer worth waiting for: rates are not exact."""


def shared(ways: Mapping[int, Sequence[int]], capacity: Callable[[int], float]) -> dict[int, float]:
    """Give each transfer, by its number, its max-min fair rate; ways are the links that it takes."""
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
        """Say when the first of them ends, if none begins before."""
        if not self._flows:
            return None
        return self._now + min(max(0.0, flow.left) / flow.rate for flow in self._flows.values())

    def ended(self, now: float) -> list[Any]:
        """Give what has arrived by now, in the order in which it was sent."""
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


__all__ = ["Flow", "Flows", "shared"]
