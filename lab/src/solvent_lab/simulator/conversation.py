"""The first messages of a run, kept for a sequence diagram.

A run may have millions of messages; what is looked at is how it begins. So the first ones are kept, and it is said if
there were more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from solvent.errors import Misuse
from solvent_lab.diagram.text import Across, Arrow, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.protocols.machine import NodeId

_MAP = re.compile(r"immutables\.Map\((\{.*?\})\)")
MAX_MESSAGES = 40
"""How many messages are drawn unless the caller says otherwise."""


class Conversation:
    """Listens to a run, and keeps what is said first."""

    def __init__(self, max_messages: int = MAX_MESSAGES, *, unit: str = "step") -> None:
        """`unit` is how time is told: by the `step` in which a message is sent, or by `s`, seconds."""
        self._max = max_messages
        self._unit = unit
        self._kept: list[tuple[float, NodeId, NodeId, str]] = []
        self.count = 0

    def __call__(self, sender: NodeId, to: NodeId, message: Any, at: float) -> None:
        """Hear a message."""
        self.count += 1
        if len(self._kept) < self._max:
            self._kept.append((at, sender, to, _text(message)))

    @property
    def nodes(self) -> list[NodeId]:
        """Those who take part in what is kept."""
        return sorted({node for _, sender, to, _ in self._kept for node in (sender, to)})

    def drawing(self, max_nodes: int) -> tuple[list[str], list[Record]]:
        """Give the names and the records of a diagram; refuse more nodes than can be drawn."""
        nodes = self.nodes
        if len(nodes) > max_nodes:
            said = f"the first {len(self._kept)} messages are among {len(nodes)} nodes, and {max_nodes} can be drawn"
            raise Misuse("P317", said, hint="take fewer nodes, or fewer messages: --messages N")
        return [f"n{node}" for node in nodes], list(self._records({node: at for at, node in enumerate(nodes)}))

    def _records(self, column: dict[NodeId, int]) -> Iterator[Record]:
        last: float | None = None
        for number, (at, sender, to, text) in enumerate(self._kept, 1):
            if at != last:
                yield Across(f"step {at:,}" if self._unit == "step" else f"{at:.4f} s")
                last = at
            yield Arrow(column[sender], column[to], text, number)
        if self.count > len(self._kept):
            yield Across(f"… and {self.count - len(self._kept):,} more messages")
        if not self.count:
            yield Across("no messages were sent")


def _text(message: Any) -> str:
    """Write a message with what is not as it mostly is."""
    if not isinstance(message, Struct):
        return repr(message).replace("\n", " ")
    told = []
    for field in fields(message):
        usual = field.default_factory() if field.default_factory is not NODEFAULT else field.default
        value = getattr(message, field.name)
        if value != usual:
            told.append(f"{field.name}=" + _MAP.sub(r"\1", repr(value)))
    return f"{type(message).__name__}({', '.join(told)})".replace("\n", " ")


__all__ = ["MAX_MESSAGES", "Conversation"]
