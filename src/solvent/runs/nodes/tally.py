"""What a node says, counted for people who look on: which kinds of messages, and to whom."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.protocols.machine import NodeId


class Tally:
    """Counts messages by kind and by recipient."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.to: Counter[int] = Counter()

    def around(self, send: Callable[[NodeId, Any], None]) -> Callable[[NodeId, Any], None]:
        """Give a function that sends, and counts."""
        kinds, to = self.kinds, self.to

        def counted(node: NodeId, message: Any) -> None:
            # What a link carries is inside of what it says.
            inner = message
            while (further := getattr(inner, "message", None)) is not None:
                inner = further
            kinds[type(inner).__name__] += 1
            to[node] += 1
            send(node, message)

        return counted


__all__ = ["Tally"]
