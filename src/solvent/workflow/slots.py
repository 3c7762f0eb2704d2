"""Where an argument of a call comes from."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Value(msgspec.Struct, frozen=True, tag="value", tag_field="is"):
    """A constant argument."""

    value: Any


class Input(msgspec.Struct, frozen=True, tag="input", tag_field="is"):
    """An input of the workflow, given by name when it is run."""

    name: str


class Result(msgspec.Struct, frozen=True, tag="result", tag_field="is"):
    """The result of a task, or one item of it (`FILTER : (T1 : 3)`; items count from 1).

    Where not every source must arrive, one that has not is nothing (`None`).
    """

    task: str
    item: int | None = None


class Arrived(msgspec.Struct, frozen=True, tag="arrived", tag_field="is"):
    """What started the task, whoever sent it: the first that arrived, or all, as a list in the order of the sources."""

    which: Literal["one", "all"] = "one"


class Signalled(msgspec.Struct, frozen=True, tag="signalled", tag_field="is"):
    """What came with the signal that the task waits for."""


class Claim(msgspec.Struct, frozen=True, tag="resource", tag_field="is"):
    """A resource of the workflow, which the call has while it runs.

    To write, the call has it alone; to read, beside others that read. A stretch of it counts rows of an array and bytes
    of anything else; without a length it goes to the end.
    """

    resource: str
    mode: Literal["write", "read"] = "write"
    offset: int = 0
    length: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all of the resource is meant."""
        return self.offset == 0 and self.length is None

    def conflicts(self, other: Claim) -> bool:
        """Tell whether the two cannot be had at the same time."""
        if self.resource != other.resource or (self.mode == "read" and other.mode == "read"):
            return False
        first, second = sorted((self, other), key=lambda claim: claim.offset)
        return first.length is None or first.offset + first.length > second.offset


Argument = Value | Input | Result | Arrived | Signalled | Claim
"""Where an argument of a call comes from."""

__all__ = ["Argument", "Arrived", "Claim", "Input", "Result", "Signalled", "Value"]
