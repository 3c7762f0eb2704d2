"""Sequence diagrams as text: nodes as columns, time downwards, messages as arrows.

    n0                             n1                             n2
    |                              |                              |
  1 * timer retry                  |                              |
  2 |------Take(attempt=1)-------->|                              |
    |                              | reports Withheld(molecule=0) |
  3 |                              |                              X crashes
  5 |<-----Given(attempt=1) (3)----|

A message is drawn where it arrives. Where it was sent earlier than one would think (not in the numbered step just
before), the number of the step that sent it follows in parentheses. The caller numbers the
steps; the simulator, the checker and tests use the same records.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from solvent.errors import Misuse
from solvent.protocols.machine import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from solvent.protocols.machine import NodeId

WIDTH = 100
"""How wide a diagram is at most, unless told otherwise."""

_MIN_COLUMN = 12
_MAP = re.compile(r"\bMap\((\{.*?\})\)")
MAX_MESSAGES = 40
"""How many messages are drawn unless the caller says otherwise."""
_PIECES = re.compile(r"[^ ,]*(?:, *| +|$)")


class Arrow(Value, frozen=True, gc=False):
    """A message arrives, or is lost on its way."""

    sender: int
    to: int
    text: str
    #: The number of this step; zero: none is shown.
    number: int = 0
    #: The number of the step that sent it; zero: not known, or before the beginning.
    sent: int = 0
    is_lost: bool = False


class Mark(Value, frozen=True, gc=False):
    """Something happens at one node. Without a number it belongs to the step above."""

    node: int
    text: str
    number: int = 0
    sign: str = ""
    #: The node is gone from here on.
    ends: bool = False
    #: The node is back.
    begins: bool = False


class Across(Value, frozen=True, gc=False):
    """A line of text over all columns."""

    text: str


Record: TypeAlias = Arrow | Mark | Across


def draw(names: Sequence[str], records: Iterable[Record], *, width: int = WIDTH) -> str:
    """Draw what happened among nodes of these names."""
    records = tuple(records)
    last = max((one.number for one in records if not isinstance(one, Across)), default=0)
    pen = _Pen(names, margin=len(str(last)) + 2, width=width)
    before = 0
    for one in records:
        match one:
            case Arrow():
                pen.arrow(one, is_prompt=one.sent in (0, before))
            case Mark():
                pen.mark(one)
            case Across(text):
                pen.across(text)
        if not isinstance(one, Across) and one.number:
            before = one.number
    return "\n".join(pen.lines)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines: after commas and spaces; inside of what is still too long, wherever it must be."""
    lines = [""]
    for piece in _PIECES.findall(text):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        rest = piece
        while len(rest.rstrip()) > width:
            lines[-1], rest = rest[:width], rest[width:]
            lines.append("")
        lines[-1] += rest
    return [line.rstrip() for line in lines if line.strip()]


class _Pen:
    """Writes lines; knows where columns are and which nodes are up."""

    def __init__(self, names: Sequence[str], *, margin: int, width: int) -> None:
        self._width = width
        self._margin = margin
        self._step = max(_MIN_COLUMN, (width - margin) // max(1, len(names)))
        self._columns = [margin + self._step * node for node in range(len(names))]
        self._is_up = [True] * len(names)
        self.lines: list[str] = []
        head = [" "] * (self._columns[-1] + self._step if names else 0)
        for column, name in zip(self._columns, names, strict=True):
            self._put(head, column, name[: self._step - 1])
        self._write(head)

    def arrow(self, one: Arrow, *, is_prompt: bool) -> None:
        """Draw a message that arrives or is lost."""
        text = one.text if is_prompt else f"{one.text} ({one.sent})"
        if one.sender == one.to:
            self.mark(Mark(one.to, f"{'loses' if one.is_lost else 'gets'} its own {text}", one.number))
            return
        low, high = sorted((self._columns[one.sender], self._columns[one.to]))
        span = high - low - 1
        number = one.number
        is_short = len(text) + 6 <= span
        if not is_short:
            for part in wrapped(text, span - 2):
                line = self._blank(number)
                self._put(line, low + 1, part.center(span))
                self._write(line)
                number = 0
        body = text.center(span - 2, "-") if is_short else "-" * (span - 2)
        end = "x" if one.is_lost else ">"
        drawn = f"-{body}{end}" if one.sender < one.to else f"{end.replace('>', '<')}{body}-"
        line = self._blank(number)
        self._put(line, low + 1, drawn)
        self._write(line)

    def mark(self, one: Mark) -> None:
        """Write what happens at a node beside its line."""
        column = self._columns[one.node]
        room = max(_MIN_COLUMN - 3, min(self._step, self._width - column) - 3)
        sign = one.sign or ("*" if one.number else "|")
        number = one.number
        self._is_up[one.node] = (self._is_up[one.node] or one.begins) and not one.ends
        for part in wrapped(one.text, room) or [""]:
            line = self._blank(number)
            if sign:
                self._put(line, column, sign)
            self._put(line, column + 2, part)
            self._write(line)
            number, sign = 0, ""

    def across(self, text: str) -> None:
        """Write a text over all columns."""
        for part in wrapped(text, self._width - self._margin):
            self.lines.append(" " * self._margin + part)

    def _blank(self, number: int) -> list[str]:
        line = [" "] * (self._columns[-1] + self._step)
        if number:
            self._put(line, 0, f"{number:>{self._margin - 1}}")
        for column, is_up in zip(self._columns, self._is_up, strict=True):
            line[column] = "|" if is_up else " "
        return line

    @staticmethod
    def _put(line: list[str], column: int, text: str) -> None:
        line[column : column + len(text)] = text

    def _write(self, line: list[str]) -> None:
        self.lines.append("".join(line).rstrip())


# ------------------------------------------------------------------------------------------------- first messages


class Conversation:
    """Observes a run and keeps its first messages: a run may have millions, and what is looked at is how it begins."""

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
        """Return the names and the records of a diagram; refuse more nodes than can be drawn."""
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
