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


Argument = Value | Input | Result | Arrived | Signalled
"""Where an argument of a call comes from."""

__all__ = ["Argument", "Arrived", "Input", "Result", "Signalled", "Value"]
