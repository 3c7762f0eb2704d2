"""What a node and the program it serves say to each other, beyond the words of capture and of the directory.

A node is active as long as its program may still do something. Only the program knows, and it may be slow: it hears a
report, thinks, and asks for something later. So reports that could make it do something are numbered (`Told`), and
the program says up to which number it has thought everything through (`Idle`).
"""

from __future__ import annotations

from typing import Any

from solvent.protocols.directory.messages import DirectoryMessage
from solvent.protocols.inertia.messages import InertiaMessage
from solvent.protocols.machine import Value


class Working(Value, frozen=True, gc=False):
    """Requested: the program has something to do that nobody told it of; `Idle` ends it."""


class Idle(Value, frozen=True, gc=False):
    """Requested: the program wants nothing more, having heard everything up to this number of `Told`."""

    told: int


class Told(Value, frozen=True, gc=False):
    """Reported after what could make the program do something: it is due to say `Idle` with this number, or a later."""

    number: int


def message_type(capture: Any) -> Any:
    """Give the union of all messages of nodes whose capture messages are these, for `wire_type` of the link."""
    return capture | DirectoryMessage | InertiaMessage


__all__ = ["Idle", "Told", "Working", "message_type"]
