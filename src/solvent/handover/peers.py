"""The other processes of a space, as one of them knows them: where each is to be found, and whether it takes part."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from solvent.handover.words import Home
from solvent.protocols.machine import NodeId

if TYPE_CHECKING:
    from collections.abc import Callable


_GONE_SECONDS = 5.0
"""After how long who has left this host is forgotten; who was on another one may still be about to leave."""


class Peers:
    """All that were ever met, and those of them that take part now."""

    def __init__(self, *, max_leave_seconds: float) -> None:
        self._max_leave_seconds = max_leave_seconds
        self._homes = dict[NodeId, Home]()
        self._present = set[NodeId]()
        #: Those that took part, and when they were last known to.
        self._gone = dict[NodeId, float]()

    def home_of(self, node: NodeId) -> Home | None:
        """Tell where a process is to be found."""
        return self._homes.get(node)

    def meet(self, node: NodeId, home: Home) -> None:
        """Note where a process is, whether it takes part or not."""
        self._homes[node] = home

    def arrive(self, node: NodeId, home: Home) -> None:
        """Note that it takes part."""
        self._homes[node] = home
        self._present.add(node)
        self._gone.pop(node, None)

    def leave(self, node: NodeId) -> None:
        """Note that it takes part no longer."""
        self._present.discard(node)
        self._gone[node] = time.monotonic()

    def is_present(self, node: NodeId) -> bool:
        """Tell whether it takes part."""
        return node in self._present

    def present(self) -> dict[NodeId, Home]:
        """Give all that take part."""
        return {node: self._homes[node] for node in sorted(self._present) if node in self._homes}

    def on_host(self, host: str) -> list[Home]:
        """Give all of a host that take part."""
        # A list of items is not made in one step: each item is an object, and collecting garbage lets others run.
        return [home for node, home in self._homes.copy().items() if home.host == host and node in self._present]

    def forgotten(self, here: str, is_dead: Callable[[NodeId], bool]) -> list[NodeId]:
        """Forget who has left, but not at once: what it said last may still be on its way. Give who is forgotten.

        A repair may count on it again as long as it is there; what is forgotten never comes back.
        """
        now, away = time.monotonic(), list[NodeId]()
        for one, since in self._gone.copy().items():
            home = self._homes.get(one)
            if home is not None and home.host == here:
                is_away = since < now - _GONE_SECONDS and is_dead(one)
            else:
                is_away = since < now - 2 * self._max_leave_seconds
            if is_away:
                del self._gone[one]
                away.append(one)
        return away


__all__ = ["Peers"]
