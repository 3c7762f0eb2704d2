"""A node that captures by moving, with iron and coal, for the tests of what it gives and of what it takes."""

from __future__ import annotations

from typing import Any

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture.moving import Moving
from solvent.protocols.capture.moving_state import SEARCHING, MovingConfig, MovingState, Refused, Take
from solvent.protocols.capture.vocabulary import Discover
from solvent.protocols.machine import Ask, Received, Send

ME = 5
"""The node looked at; there are others before and after it in the total order."""
ANN, BEN, ZOE = 1, 2, 9
IRON, COAL, ORE, CHALK = 11, 12, 21, 31
"""Iron and coal are here, ore is at Ann's, chalk at Ben's."""
HERE = ((IRON, "iron"), (COAL, "coal"))
NEW = (ME + 1) << 40
"""The names of molecules made here are above this number."""
AGAIN = Ask(Discover(0))

CONFIG = MovingConfig(ME, HERE)
MACHINE = Moving(CONFIG)
QUIET = Moving(replace(CONFIG, tell=False))
FRESH = MACHINE.start()[0]


def having(*molecules: tuple[int, Any], phase: Any = SEARCHING, **more: Any) -> MovingState:
    """Give the node with other molecules."""
    return replace(FRESH, molecules=Map(molecules), phase=phase, **more)


def take(requester: int, *molecules: int, values: tuple[Any, ...] = (), reactions: int = 0) -> Received:
    """Let a requester ask for molecules."""
    return Received(requester, Take(1, molecules, values, reactions))


def refused(to: int) -> tuple[Send]:
    """Give the answer of a holder that keeps what it has."""
    return (Send(to, Refused(1)),)
