"""What goes wrong in a space without being anybody's error: it is told to who asks, and logged once.

If processes are silent and those that answer are no majority, nobody may go on (`protocols.handover.quorum`): whoever
waits is told of how many it hears, and whoever wants to leave does not wait for the others for long.

If all processes of a host are lost, and the token with them or what it tells of, nobody knows what was released there
last. What comes back may be an older version: whoever acquires it then is told.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, NamedTuple

from solvent.errors import Outvoted, SpaceProblem

if TYPE_CHECKING:
    from solvent.handover.node import SpaceNode
    from solvent.protocols.handover.vocabulary import Repaired

LOG = logging.getLogger("solvent.shared")


class Setback(NamedTuple):
    """Hosts were lost, and perhaps what was released there last of some resource."""

    #: The number of the epoch since when it is known; how many were lost, and how many there had been.
    epoch: int
    lost: int
    hosts: int

    def problem(self, resource: str, copies: int) -> SpaceProblem | None:
        """Say so, unless so many hosts had every version that one of them is left."""
        if self.lost < min(copies, self.hosts):
            return None
        message = f"an older version of `{resource}` may have come back: {self.lost} of {self.hosts} hosts are lost"
        hint = "what was released there last is gone; `copies=2` has another host keep every released version as well"
        problem = SpaceProblem("S208", message, hint=hint)
        LOG.warning("%s", problem)
        return problem


class Trouble:
    """What one process knows of it."""

    def __init__(self, node: SpaceNode) -> None:
        self._node = node
        #: Since when too few answer.
        self._since: float | None = None

    def look(self) -> None:
        """See whether enough processes answer; in a repair, whenever that may have changed."""
        if self._since is None and self._node.host.state.shortage is not None:
            self._since = time.monotonic()
            problem = self.silence()
            if problem is not None:
                LOG.warning("%s", problem)

    def on_entered(self) -> None:
        """Hear that all go on."""
        self._since = None

    def on_repaired(self, repaired: Repaired) -> None:
        """Hear that all go on, without some; see whether hosts were lost with what they had."""
        self._since = None
        node = self._node
        there = {home.host for home in node.members.values()}
        homes = [node.home_of(one) for one in repaired.lost]
        hosts = there | {home.host for home in homes if home is not None}
        if hosts == there:
            return
        setback = Setback(repaired.epoch[0], len(hosts) - len(there), len(hosts))
        for one in repaired.renewed:
            if one.version is not None and (one.is_new_token or one.is_older):
                node.resource(one.resource).setback = setback
            if one.holder == node.node:
                node.resource(one.resource).copy_again()

    def silence(self) -> SpaceProblem | None:
        """Say that too few answer, if it is so."""
        since, node = self._since, self._node
        if since is None or not node.is_here:
            return None
        shortage = node.host.state.shortage
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
