"""Bringing what is released to other hosts, before it counts: a part to where the data is, all of it to copies.

A part that was changed is brought to the host of the data's holder, whoever of that host takes it. So one host always
has the whole, which is what a claim finds there and what a repair looks for: it counts the parts, and of two memories
that have the same version the one with more parts is the newer one. Whoever changes the part holds its claim until that
is done, and what it writes is in a draft of its own or fetched anew by others until then: if it dies before, nothing
has happened; if it dies afterwards, the part counts.

Whoever made the data has said how many hosts are to have a version (`copies`); the card and the token tell all others.
Each release waits until so many have it: a repair finds it there, and whoever claims it on one of these hosts has it
already. Of a whole version the host of whoever is next is asked first, since that needs it anyway; then the one that
had the last copy, which needs only what was changed. After a part was changed, hosts catch up with the one that has the
data, rather such as have had everything else; so whatever one has missed, it has everything then.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.errors import DataLost, DataProblem, SpaceProblem
from solvent.handover.data.card import ANOTHER, SOME
from solvent.handover.data.transfer import MAX_RUNS
from solvent.handover.data.wire import Follow, Offer
from solvent.handover.trouble import LOG
from solvent.handover.words import Details, Home, details_from_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover.contents import Access
    from solvent.handover.node import SpaceNode
    from solvent.protocols.elmp.vocabulary import Data

_PAUSE_SECONDS = 0.02
_MIN_ANSWER_SECONDS = 5.0
"""How long a host may take to answer, at least: one that is dead is known to be sooner, and one that is busy lives."""


class Copying:
    """What one process has brought to other hosts of one resource."""

    def __init__(self, node: SpaceNode, name: str) -> None:
        self._node = node
        self._name = name
        #: The hosts that took the last version of this process.
        self._last: tuple[str, ...] = ()

    def made(self, access: Access, data_of: Callable[[], Data]) -> SpaceProblem | None:
        """Make a version of what was written; if it is on fewer hosts than it could be, say so.

        Raises `DataProblem` if the host that has the data does not take a part: it can be tried again.
        """
        if access.is_part:
            return self._part_made(access, data_of())
        access.commit()
        if access.copies == 1 or access.writing is None:
            return None
        offer, hosts = self._offer(access, (access.writing.version, 0)), self._hosts()
        first = (self._next(), *self._last)
        order = sorted(hosts, key=lambda one: first.index(one) if one in first else len(first))
        taken, reasons = self._taken(offer, {host: hosts[host] for host in order}, access.copies - 1)
        self._last = tuple(taken)
        return self._problem(access, len(taken), min(access.copies - 1, len(hosts)), reasons)

    def _part_made(self, access: Access, data: Data) -> SpaceProblem | None:
        """Bring a part to where the data is, and to copies."""
        writing, region, details = access.writing, access.region, details_from_text(data.details)
        assert writing is not None
        assert region is not None
        if details is None:
            raise DataLost("D201", f"the data of `{self._name}` is lost")
        home, here = self._node.home_of(data.holder), self._node.home.host
        if home is None:
            raise DataProblem("D204", f"`{self._name}` is at process {data.holder}, of which nothing is known here")
        offer = self._offer(access, (details.version, ANOTHER))
        if home.host == here:
            parts = self._counted(access, details.version)
        else:
            parts = self._given(offer, [home, *self._node.peers.on_host(home.host)], access.part())
            if not writing.is_over:
                writing.level = details.version, SOME
                access.commit()
        if access.copies == 1:
            return None
        return self._followed(access, details, home, parts)

    def _followed(self, access: Access, details: Details, home: Home, parts: int) -> SpaceProblem | None:
        """Have other hosts catch up with that of the data: rather such as have had everything of the version."""
        node, hosts, here = self._node, self._hosts(), self._node.home.host
        wanted = min(access.copies - 1, len(hosts))
        homes = [home, *node.peers.on_host(home.host)] if home.host != here else [node.home]
        others = {host: hosts[host] for host in sorted(hosts) if host != home.host}
        ask = Follow(
            self._name,
            details.version,
            details.size,
            details.form,
            access.copies,
            places=tuple(dict.fromkeys((one.data_address, one.token) for one in homes if one.data_address)),
            is_near=True,
            max_seconds=self._max_seconds,
        )
        taken, reasons = set[str](), dict[str, str]()
        assert access.region is not None
        if home.host != here and access.region.reach((details.version, parts), is_next=True):
            # It had all parts but this one.
            taken.add(here)
        for is_near in (True, False):
            ask = replace(ask, is_near=is_near)
            for host in (here, *others) if home.host != here else others:
                if len(taken) >= wanted or host in taken:
                    continue
                try:
                    if self._caught_up(ask, others.get(host)) >= parts:
                        taken.add(host)
                except DataProblem as problem:
                    reasons[host] = problem.message
        return self._problem(access, len(taken), wanted, list(reasons.values()))

    def _caught_up(self, ask: Follow, homes: list[Home] | None) -> int:
        """Have one process of a host catch up, or this one."""
        store = self._node.store
        if homes is None:
            return self._tried(
                [self._node.home], ask.max_seconds, lambda _, epoch: store.follow(replace(ask, epoch=epoch))
            )

        def follow(home: Home, epoch: int) -> int:
            return store.follow(replace(ask, epoch=epoch), home.where(ask.resource, ask.version, ask.size))

        return self._tried(homes, ask.max_seconds, follow)

    def _counted(self, access: Access, version: int) -> int:
        """Make a part a version on this host, which has the data."""
        writing, level = access.writing, (version, ANOTHER)
        assert writing is not None
        assert access.region is not None
        if not writing.is_over:
            writing.level = level
            access.commit()
        elif writing.level != level:
            # A repair has found that the data is here since this was written.
            writing.reached = access.region.count(level, self._node.heard())
            writing.level = level
        return writing.reached[1]

    def _taken(self, offer: Offer, hosts: dict[str, list[Home]], wanted: int) -> tuple[list[str], list[str]]:
        """Have so many hosts take something; say which do, and why others do not."""
        taken, reasons = list[str](), list[str]()
        for host, homes in hosts.items():
            if len(taken) >= wanted:
                break
            try:
                self._given(offer, homes)
            except DataProblem as problem:
                reasons.append(problem.message)
            else:
                taken.append(host)
        return taken, reasons

    def _problem(self, access: Access, taken: int, wanted: int, reasons: list[str]) -> SpaceProblem | None:
        if taken >= wanted:
            return None
        message = f"what was released of `{self._name}` is on {taken + 1} of {access.copies} hosts: "
        hint = "if these are lost, it is; the next release tries again"
        problem = SpaceProblem("S209", message + "; ".join(reasons), hint=hint)
        LOG.warning("%s", problem)
        return problem

    def _hosts(self) -> dict[str, list[Home]]:
        """Give the other hosts and their processes."""
        node, found = self._node, dict[str, list[Home]]()
        here = node.home.host
        for home in node.members.values():
            if home.host != here and home.data_address:
                found.setdefault(home.host, []).append(home)
        return found

    def _next(self) -> str:
        """Give the host of whoever is next to have the lock, if that is known."""
        state = self._node.host.state.resources.get(self._name)
        for place in state.places if state is not None else ():
            if place.has_token and place.next is not None:
                home = self._node.home_of(place.next[0])
                return home.host if home is not None else ""
        return ""

    def _offer(self, access: Access, level: tuple[int, int]) -> Offer:
        writing, region = access.writing, access.region
        assert writing is not None
        assert region is not None
        sheet, changes = region.sheet, writing.changes
        is_known = not access.is_part and access.over >= 0 and changes is not None and len(changes) <= MAX_RUNS
        return Offer(
            resource=self._name,
            version=writing.version,
            offset=writing.start if access.is_part else 0,
            length=writing.end - writing.start if access.is_part else 0,
            size=sheet.size,
            form=sheet.form,
            copies=access.copies,
            level=level,
            base=access.over,
            runs=tuple(changes) if is_known and changes is not None else None,
            max_seconds=self._max_seconds,
        )

    @property
    def _max_seconds(self) -> float:
        return max(_MIN_ANSWER_SECONDS, self._node.place.patience)

    def _given(self, offer: Offer, homes: list[Home], view: memoryview | None = None) -> int:
        """Have one process of a host take it; give how many parts it has then."""

        def give(home: Home, epoch: int) -> int:
            where = home.where(offer.resource, offer.version, offer.size)
            return self._node.store.give(replace(offer, epoch=epoch), where, view)

        return self._tried(homes, offer.max_seconds, give)

    def _tried(self, homes: list[Home], max_seconds: float, act: Callable[[Home, int], int]) -> int:
        """Do something with one process of a host, and if that cannot, with another."""
        last, end = DataProblem("D204", "its host has no address for data"), time.monotonic() + max_seconds
        for home in homes:
            while home.data_address:
                try:
                    return act(home, self._node.heard())
                except DataProblem as problem:
                    last = problem
                    # Another process of that host may be about to put something right there.
                    if problem.code == "D203" and time.monotonic() < end and self._node.fault is None:
                        time.sleep(_PAUSE_SECONDS)
                        continue
                break
            if time.monotonic() > end:
                break
        raise last


__all__ = ["Copying"]
