"""What goes wrong in a space without being anybody's error: it is told to who asks, and logged once.

If processes are silent and those that answer are no majority, nobody may go on (`protocols.handover.quorum`): whoever
waits is told of how many it hears, and whoever wants to leave does not wait for the others for long.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from solvent.errors import Outvoted

if TYPE_CHECKING:
    from solvent.errors import SpaceProblem
    from solvent.running.spaces.node import SpaceNode

LOG = logging.getLogger("solvent.space")


class Trouble:
    """What one process knows of it."""

    def __init__(self, node: SpaceNode) -> None:
        self._node = node
        #: Since when too few answer.
        self._since: float | None = None

    def look(self) -> None:
        """See whether enough processes answer; in a repair, whenever that may have changed."""
        if self._since is None and self._node.host.state.standing.shortage is not None:
            self._since = time.monotonic()
            problem = self.silence()
            if problem is not None:
                LOG.warning("%s", problem)

    def on_repaired(self) -> None:
        """Hear that all go on."""
        self._since = None

    def silence(self) -> SpaceProblem | None:
        """Say that too few answer, if it is so."""
        since, node = self._since, self._node
        if since is None or not node.is_here:
            return None
        shortage = node.host.state.standing.shortage
        if shortage is None:
            return None
        seconds = int(time.monotonic() - since)
        message = f"no majority: {shortage[0]} of {shortage[1]} processes of the space `{node.place.name}` answer"
        message += f", since {seconds} seconds" if seconds else ""
        hint = "all go on when most are back; if those are dead for good, end the others and begin the space anew"
        return Outvoted("S207", message, hint=hint)

    def is_hopeless(self) -> bool:
        """Tell whether to wait for the others is in vain: those who are silent have been so for long."""
        since = self._since
        return since is not None and time.monotonic() > since + self._node.place.patience and bool(self.silence())

    def late(self, resource: str) -> TimeoutError:
        """Give the error of who has waited for a resource in vain, with the reason if one is known."""
        message = f"`{resource}` was not to be had in time"
        found = self.silence()
        return Outvoted("S207", f"{message}: {found.message}", hint=found.hint) if found else TimeoutError(message)


__all__ = ["LOG", "Trouble"]
