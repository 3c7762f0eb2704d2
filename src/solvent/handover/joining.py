"""Claims that a process makes by itself: to make one version of many pieces, and to have a lost copy made again.

Whoever is entrusted with the data of one that leaves fetches it as it is, for the lock has not agreed to anything else.
So parts stay parts, and every piece costs whoever looks for it later. Where there are many of them, the process that
has them claims all of it, like any user, changes nothing, and releases it. Mostly the token still rests there. If not,
it is let be: somebody may have a part and want another one, and must not wait for a claim that waits for the first.

Where several hosts are to have every version and one was lost, whoever has the data does the same: a release sees to it
that there are enough copies. If somebody else has it just then, it tries again: who only reads releases no version.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from solvent.errors import SolventError
from solvent.handover.contents import NOTHING
from solvent.protocols.elmp.vocabulary import WHOLE

if TYPE_CHECKING:
    from solvent.handover.node import SpaceNode
    from solvent.handover.resource import Resource

MAX_PIECES = 16
"""So many cost less than a claim."""
_MAX_SECONDS = 0.1


class Joining:
    """Claims of one resource that nobody but this process itself has made."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_over = False

    def end(self) -> None:
        """Write nothing from now on: the process is about to leave the space."""
        with self._guard:
            self._is_over = True

    def join(self, node: SpaceNode, resource: Resource, *, is_keeper: bool = False) -> bool:
        """Make one version of it, if this process takes part; in a thread of its own. Tell whether others had it."""
        is_others = False
        if not resource.stay(is_keeper=is_keeper):
            return is_others
        cycle = resource.cycle(WHOLE)
        with suppress(SolventError):
            try:
                resource.begin(cycle)
                node.host.wait(cycle.has_settled, _MAX_SECONDS)
                with self._guard:
                    is_over = cycle.is_over or self._is_over
                    is_others = cycle.grant is None and not is_over
                    if cycle.grant is not None and cycle.is_settled and not is_over:
                        resource.access(cycle, NOTHING)
                        resource.release(cycle)
            finally:
                with suppress(SolventError):
                    resource.withdraw(cycle)
                resource.stay_no_longer()
        return is_others


__all__ = ["MAX_PIECES", "Joining"]
