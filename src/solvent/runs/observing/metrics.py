"""Numbers that grow, numbers that change, and how long things take; in the text format that Prometheus reads.

    metrics = Metrics()
    calls = metrics.counter("solvent_calls_total", "Calls that have ended.", "service", "state")
    calls.add("fetch", "done")
    metrics.text()

By hand: the format is a line for each number, and agents on every machine would need a package for it otherwise. The
tests read it with Prometheus's own parser.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Labels: TypeAlias = tuple[str, ...]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Limits of a histogram of durations."""


class Counter:
    """Numbers that only grow, by labels."""

    kind = "counter"

    def __init__(self, name: str, says: str, labels: Labels, lock: threading.Lock) -> None:
        self.name = name
        self.says = says
        self._labels = labels
        self._lock = lock
        # Without labels there is a number from the beginning: one that appears later looks like none before.
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Let a number grow."""
        with self._lock:
            self._values[labels] = self._values.get(labels, 0.0) + by

    def lines(self) -> Iterator[str]:
        """Give its lines."""
        with self._lock:
            values = sorted(self._values.items())
        for labels, value in values:
            yield _line(self.name, zip(self._labels, labels, strict=True), value)


class Gauge:
    """Numbers that are asked for when they are read; `kind` may also be a counter that somebody else keeps."""

    def __init__(
        self, name: str, says: str, labels: Labels, ask: Callable[[], Iterable[tuple[Labels, float]]], kind: str
    ) -> None:
        self.name = name
        self.says = says
        self.kind = kind
        self._labels = labels
        self._ask = ask

    def lines(self) -> Iterator[str]:
        """Give its lines."""
        for labels, value in self._ask():
            yield _line(self.name, zip(self._labels, labels, strict=True), value)


class Histogram:
    """How often something took how long, by labels."""

    kind = "histogram"

    def __init__(self, name: str, says: str, labels: Labels, limits: tuple[float, ...], lock: threading.Lock) -> None:
        self.name = name
        self.says = says
        self._labels = labels
        self._limits = limits
        self._lock = lock
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}
        if not labels:
            self._counts[()], self._sums[()] = [0] * (len(limits) + 1), 0.0

    def note(self, value: float, *labels: str) -> None:
        """Note that something took so long."""
        at = bisect_left(self._limits, value)
        with self._lock:
            self._counts.setdefault(labels, [0] * (len(self._limits) + 1))[at] += 1
            self._sums[labels] = self._sums.get(labels, 0.0) + value

    def lines(self) -> Iterator[str]:
        """Give its lines."""
        with self._lock:
            known = [(labels, [*counts], self._sums[labels]) for labels, counts in sorted(self._counts.items())]
        for labels, counts, total in known:
            own = [*zip(self._labels, labels, strict=True)]
            limits = [*map(_number, self._limits), "+Inf"]
            for limit, count in zip(limits, accumulate(counts), strict=True):
                yield _line(f"{self.name}_bucket", [*own, ("le", limit)], count)
            yield _line(f"{self.name}_sum", own, total)
            yield _line(f"{self.name}_count", own, sum(counts))


class Metrics:
    """All numbers of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._families: dict[str, Counter | Gauge | Histogram] = {}

    def counter(self, name: str, says: str, *labels: str) -> Counter:
        """Make a counter."""
        found = self._families[name] = Counter(name, says, labels, self._lock)
        return found

    def histogram(self, name: str, says: str, *labels: str, limits: tuple[float, ...] = SECONDS) -> Histogram:
        """Make a histogram."""
        found = self._families[name] = Histogram(name, says, labels, limits, self._lock)
        return found

    def gauge(
        self,
        name: str,
        says: str,
        ask: Callable[[], float | Iterable[tuple[Labels, float]]],
        *labels: str,
        kind: str = "gauge",
    ) -> None:
        """Have a number, or one for each of several labels, asked for whenever it is read."""

        def values() -> Iterable[tuple[Labels, float]]:
            found = ask()
            return [((), found)] if isinstance(found, int | float) else found

        self._families[name] = Gauge(name, says, labels, values, kind)

    def text(self) -> str:
        """Write all numbers."""
        lines: list[str] = []
        for name, one in sorted(self._families.items()):
            says = one.says.replace("\\", "\\\\").replace("\n", "\\n")
            lines += [f"# HELP {name} {says}", f"# TYPE {name} {one.kind}", *one.lines()]
        return "\n".join(lines) + "\n"


def _line(name: str, labels: Iterable[tuple[str, str]], value: float) -> str:
    said = ",".join(f'{label}="{_escaped(given)}"' for label, given in labels)
    return f"{name}{{{said}}} {_number(value)}" if said else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


__all__ = ["CONTENT_TYPE", "Counter", "Histogram", "Metrics"]
