"""What happened in a run, in order: every event that a machine took, and every fault.

A history keeps the last so many happenings, or all. Two runs are the same if their histories are equal.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.protocols.machine import NodeId, PeerRestarted, Received, Report, TimerFired, Value
from solvent_lab.diagram import WIDTH, Across, Arrow, Mark, Record, draw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Lost(Value, frozen=True, gc=False):
    """A message will not arrive."""

    sender: NodeId
    message: Any


class Crashed(Value, frozen=True, gc=False):
    """The node went down."""


class Restarted(Value, frozen=True, gc=False):
    """The node is back; its life is the next."""

    life: int


class Parted(Value, frozen=True, gc=False):
    """The nodes are divided: these are on one side."""

    one_side: tuple[NodeId, ...]


class Healed(Value, frozen=True, gc=False):
    """The nodes hear each other again."""


class Counts(msgspec.Struct):
    """What a run has come to so far."""

    events: int = 0
    """What happened: events of machines, answers given at once not counted, and faults."""
    sent: int = 0
    received: int = 0
    lost: int = 0
    duplicated: int = 0
    partitions: int = 0
    crashes: int = 0
    restarts: int = 0


class Happening(Value, frozen=True, gc=False):
    """Something happened to a node; to all of them where `node` is None."""

    #: The number of the event; what followed from it at once has the same.
    number: int
    at: float
    node: NodeId | None
    #: An event of the machine, a `Report` of it, or one of the faults above.
    what: Any
    #: Of a message: the number of the event on which it was sent.
    sent_in: int = 0


class History:
    """The last happenings of a run."""

    def __init__(self, max_length: int | None = None) -> None:
        self._happenings: deque[Happening] = deque(maxlen=max_length)

    def add(self, number: int, at: float, node: NodeId | None, what: Any, sent_in: int = 0) -> None:
        """Write down one happening."""
        self._happenings.append(Happening(number, at, node, what, sent_in))

    def draw(self, *, width: int = WIDTH) -> str:
        """Draw what is kept as a sequence diagram of the nodes that took part."""
        happenings = tuple(self)
        nodes = sorted({node for one in happenings for node in _nodes_of(one)})
        columns = {node: column for column, node in enumerate(nodes)}
        return draw([f"n{node}" for node in nodes], _records(happenings, columns), width=width)

    def __iter__(self) -> Iterator[Happening]:
        return iter(self._happenings)

    def __len__(self) -> int:
        return len(self._happenings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and self._happenings == other._happenings

    __hash__ = None  # type: ignore[assignment]


def _nodes_of(one: Happening) -> Iterator[NodeId]:
    if one.node is not None:
        yield one.node
    if isinstance(one.what, Received | Lost):
        yield one.what.sender


def _records(happenings: Iterable[Happening], columns: Mapping[NodeId, int]) -> Iterator[Record]:
    last = -1
    for one in happenings:
        # Only the first line of what belongs together is numbered.
        number = one.number if one.number != last else 0
        last = one.number
        if one.node is None:
            yield Across(f"{one.at:.3f} ms: {_text_of_all(one.what, columns)}")
            continue
        node = columns[one.node]
        match one.what:
            case Received(sender, message):
                yield Arrow(columns[sender], node, _text(message), number, one.sent_in)
            case Lost(sender, message):
                yield Arrow(columns[sender], node, _text(message), number, one.sent_in, is_lost=True)
            case Crashed():
                yield Mark(node, "crashes", number, sign="X", ends=True)
            case Restarted(life):
                yield Mark(node, f"restarts, life {life}", number, begins=True)
            case TimerFired(name, at):
                yield Mark(node, f"timer {name} at {at} ms", number)
            case PeerRestarted(peer):
                yield Mark(node, f"hears that n{peer} has restarted", number)
            case Report(outcome):
                yield Mark(node, f"reports {_text(outcome)}", number)
            case event:
                yield Mark(node, _text(event), number)


def _text_of_all(what: Any, columns: Mapping[NodeId, int]) -> str:
    match what:
        case Parted(one_side):
            shown = ", ".join(f"n{node}" for node in one_side if node in columns) or "others"
            return f"the network parts: {shown} on one side"
        case _:
            return "the network is whole again"


def _text(value: Any) -> str:
    return repr(value).replace("\n", " ")
