"""What a move is. Each belongs to a class (`Label`): deliver from a to b, timer t of node n, answer node n, ...

Fairness is about classes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from solvent_lab.checker.steps import Outcome


class Kind(StrEnum):
    """What happens in a move."""

    DELIVER = "deliver"
    TIMER = "timer"
    ANSWER = "answer"
    REQUEST = "request"
    GO_ON = "go on"
    START = "start"
    LOSE = "lose"
    DOUBLE = "double"
    CRASH = "crash"

    @property
    def is_fault(self) -> bool:
        """Whether nothing that must come about may need this."""
        return self in (Kind.LOSE, Kind.DOUBLE, Kind.CRASH)


class Label(NamedTuple):
    """A class of moves: what happens, at which node, from which other node, or to which timer."""

    kind: Kind
    node: int
    sender: int = -1
    timer: str = ""


class Move(NamedTuple):
    """One move: its class by number, the row after it, and what it was."""

    label: int
    #: The row after the move; empty where the machine failed.
    row: list[int]
    #: The number of the event, of the message lost or doubled; -1 where there is none.
    subject: int = -1
    outcome: Outcome | None = None


__all__ = ["Kind", "Label", "Move"]
