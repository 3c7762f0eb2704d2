"""What surrounds the nodes of a simulation: it answers their questions, hears their reports, and says when to stop.

A chemical program is one environment, a user who wants locks is another. An environment is one object for all nodes,
so it may know what no node knows: where every molecule is, or how many are left.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from solvent.protocols.machine import NodeId

_THRESHOLDS = (200_000, 50, 100)
_held = 0


class Ending(StrEnum):
    """Why a run ended."""

    OVER = "over"
    """The environment said so."""
    QUIET = "quiet"
    """No message is under way and no timer runs: nothing would ever happen again."""
    LIMIT = "limit"
    """The greatest number of steps, events or milliseconds was reached."""


class Environment:
    """Answers nothing, hears nothing, never stops: override what the protocol at hand needs.

    Simulators look once which methods are overridden, and do not call the others at all.
    """

    def answer(self, node: NodeId, question: Any, chance: Random) -> Any:
        """Answer an `Ask` of a node; draw from `chance` alone, or the seed no longer tells the run."""
        raise NotImplementedError(f"node {node} asks {question!r}, and nobody answers")

    def told(self, node: NodeId, outcome: Any, at: int) -> None:
        """Hear a `Report`; `at` is the step, or the millisecond."""

    def crashed(self, node: NodeId, at: int) -> None:
        """Hear that a node is down: it has forgotten all that it had not saved."""

    def restarted(self, node: NodeId, at: int) -> None:
        """Hear that a node is back, before its machine starts."""

    def is_over(self) -> bool:
        """Return whether the run has come to its end."""
        return False

    @property
    def listens(self) -> bool:
        """Whether reports are heard, that is, whether `told` is overridden."""
        return type(self).told is not Environment.told


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Let Python's garbage collector run rarely, and only on what is made from now on; runs may nest.

    Machines make many small records that are freed by counting references; none of them is part of a cycle. Left alone,
    the collector looks through all live states again and again and finds nothing, and takes longer the more nodes
    there are.
    """
    global _held  # noqa: PLW0603 - the collector belongs to the process, and so does the count of who holds it
    if _held == 0:
        gc.freeze()
    thresholds = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    _held += 1
    try:
        yield
    finally:
        _held -= 1
        gc.set_threshold(*thresholds)
        if _held == 0:
            gc.unfreeze()
