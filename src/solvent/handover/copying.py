"""Having other hosts take what is released, before it counts: for data that is to survive the loss of a host.

Whoever made the data has said how many hosts are to have a version (`copies`); the card and the token tell all others.
Each release waits until so many have it. They are offered what was changed, and take it into their memory as a fetch
would: so a repair, which looks for the newest version that any survivor has, finds it there, and whoever claims it on
one of these hosts has it already.

The host of whoever is next is asked first, since that needs it anyway; then the one that had the last copy, which needs
only what was changed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.errors import DataProblem, SpaceProblem
from solvent.handover.data.offering import MAX_RUNS
from solvent.handover.data.wire import Offer
from solvent.handover.trouble import LOG
from solvent.handover.words import Home

if TYPE_CHECKING:
    from solvent.handover.access import Access
    from solvent.handover.node import SpaceNode

_PAUSE_SECONDS = 0.02
_MIN_ANSWER_SECONDS = 5.0
"""How long a host may take to answer, at least: one that is dead is known to be sooner, and one that is busy lives."""


class Copying:
    """The copies of one resource, as far as this process has had them made."""

    def __init__(self, node: SpaceNode, name: str) -> None:
        self._node = node
        self._name = name
        #: The hosts that took the last version of this process.
        self._last: tuple[str, ...] = ()

    def copied(self, access: Access) -> SpaceProblem | None:
        """Have other hosts take what was written; if they are fewer than there could be, say so."""
        hosts = self._hosts()
        wanted = min(access.copies - 1, len(hosts))
        if not wanted:
            return None
        offer, taken, reasons = self._offer(access), list[str](), list[str]()
        for host, homes in hosts.items():
            reason = self._given(offer, homes)
            if reason:
                reasons.append(reason)
            else:
                taken.append(host)
            if len(taken) == wanted:
                break
        self._last = tuple(taken)
        if len(taken) == wanted:
            return None
        message = f"what was released of `{self._name}` is on {len(taken) + 1} of {access.copies} hosts: "
        hint = "if these are lost, it is; the next release tries again"
        problem = SpaceProblem("S209", message + "; ".join(reasons), hint=hint)
        LOG.warning("%s", problem)
        return problem

    def _hosts(self) -> dict[str, list[Home]]:
        """Give the other hosts and their processes, in the order in which they are asked."""
        node, found = self._node, dict[str, list[Home]]()
        here = node.home.host
        for home in node.members.values():
            if home.host != here and home.data_address:
                found.setdefault(home.host, []).append(home)
        first = (self._next(), *self._last)
        return dict(sorted(found.items(), key=lambda one: first.index(one[0]) if one[0] in first else len(first)))

    def _next(self) -> str:
        """Give the host of whoever is next to have the lock, if that is known."""
        state = self._node.host.state.resources.get(self._name)
        for place in state.places if state is not None else ():
            if place.has_token and place.next is not None:
                home = self._node.home_of(place.next[0])
                return home.host if home is not None else ""
        return ""

    def _offer(self, access: Access) -> Offer:
        writing, region = access.writing, access.region
        assert writing is not None
        assert region is not None
        sheet, changes = region.sheet, writing.changes
        is_known = writing.is_whole and access.over >= 0 and changes is not None and len(changes) <= MAX_RUNS
        return Offer(
            resource=self._name,
            version=writing.version,
            offset=0 if writing.is_whole else writing.start,
            length=0 if writing.is_whole else writing.end - writing.start,
            size=sheet.size,
            form=sheet.form,
            copies=access.copies,
            origin=writing.origin,
            base=access.over,
            runs=tuple(changes) if is_known and changes is not None else None,
            max_seconds=max(_MIN_ANSWER_SECONDS, self._node.place.patience),
        )

    def _given(self, offer: Offer, homes: list[Home]) -> str:
        """Have one process of a host take it; say why none does."""
        reason, end = "", time.monotonic() + offer.max_seconds
        for home in homes:
            while True:
                offer = replace(offer, epoch=self._node.heard())
                try:
                    self._node.store.give(offer, home.where(offer.resource, offer.version, offer.size))
                except DataProblem as problem:
                    reason = problem.message
                    # Another process of that host may be about to put something right there.
                    if problem.code == "D203" and time.monotonic() < end and self._node.fault is None:
                        time.sleep(_PAUSE_SECONDS)
                        continue
                else:
                    return ""
                break
            if time.monotonic() > end:
                break
        return reason


__all__ = ["Copying"]
