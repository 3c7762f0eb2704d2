"""How a node of a ring comes to be: its memory, and those it has to meet before it does anything.

A first member begins when it has met so many others that any two such sets have one in common: of three both, of five
three. That costs a moment, and makes sure that a node which forgot what it was (it has no journal, or another one) is
found out by somebody who knew it, before it makes a second token. Who has a journal keeps there whom it has met; one
without that comes back has forgotten that too, and is itself found out.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.errors import NodeProblem, RingProblem
from solvent.net import Journal, PeerFault, Unwelcome, meet, text_from_address
from solvent.net.handshake import FORGETFUL, Births
from solvent.protocols.machine import NodeId, Value
from solvent.protocols.token.group.state import GroupRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.net import Address, Identity
    from solvent.ring.place import RingPlace

PROTOCOL = "ring"
_MIN_PAUSE_SECONDS = 0.02
_MAX_PAUSE_SECONDS = 0.5


class Born(Value, frozen=True, gc=False, tag=True):
    """Saved: the name that the node got when its memory began."""

    birth: str


class Met(Value, frozen=True, gc=False, tag=True):
    """Saved: the name of another node's memory."""

    node: NodeId
    birth: str


RECORDS: TypeAlias = GroupRecord | Born | Met


def memory(place: RingPlace) -> tuple[Journal | None, str]:
    """Open the journal, if there is to be one, and give the name of the node's memory."""
    if place.journal is None:
        return None, secrets.token_hex(8)
    journal = Journal(place.journal, RECORDS, fsync=place.fsync).open()
    for record in journal.saved:
        if isinstance(record, Born):
            return journal, record.birth
    birth = secrets.token_hex(8)
    journal.append(Born(birth))
    journal.commit()
    return journal, birth


def births_of(journal: Journal | None) -> Births:
    """Give the nodes that were met before, and keep those that are met from now on."""
    if journal is None:
        return Births()
    known = {record.node: record.birth for record in journal.saved if isinstance(record, Met)}

    def note(node: NodeId, birth: str) -> None:
        if journal.is_open:
            journal.append(Met(node, birth))
            journal.commit()

    return Births(known, note)


async def find_members(me: Identity, contacts: tuple[Address, ...]) -> dict[NodeId, Address]:
    """Find out who is at the addresses, as far as somebody is: if one dies before it has helped, there is another."""
    found: dict[NodeId, Address] = {}
    for address in contacts:
        try:
            found[await meet(me, address)] = address
        except OSError:
            continue
        except Unwelcome as unwelcome:
            raise _unwelcome(address, str(unwelcome)) from unwelcome
    return found


async def meet_most(me: Identity, members: dict[NodeId, Address], complain: Callable[[Any], None]) -> None:
    """Wait until so many have met this one that whoever forgets itself meets one of them again."""
    needed = (len(members) - 1) // 2 + 1
    met = asyncio.Semaphore(0)

    async def keep_trying(node: NodeId, address: Address) -> None:
        pause = _MIN_PAUSE_SECONDS
        while True:
            try:
                await meet(me, address, node)
                break
            except OSError:
                # It may not have been started yet.
                await asyncio.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE_SECONDS)
            except Unwelcome as unwelcome:
                problem = _unwelcome(address, str(unwelcome))
                if isinstance(problem, RingProblem):
                    raise problem from unwelcome
                complain(PeerFault(f"node {node}", str(unwelcome)))
                await asyncio.sleep(_MAX_PAUSE_SECONDS)
        met.release()

    async def wait() -> None:
        for _ in range(needed):
            await met.acquire()

    tries = [asyncio.create_task(keep_trying(*one)) for one in members.items() if one[0] != me.node]
    enough = asyncio.create_task(wait())
    try:
        left = {enough, *tries}
        while not enough.done():
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
    finally:
        for task in (enough, *tries):
            task.cancel()
        await asyncio.gather(enough, *tries, return_exceptions=True)


def _unwelcome(address: Address, reason: str) -> NodeProblem | RingProblem:
    if reason == FORGETFUL:
        return forgotten()
    message = f"the node at {text_from_address(address)} does not want this one: {reason}"
    return NodeProblem("N132", message, hint="all nodes of a ring have one name and one secret")


def forgotten() -> RingProblem:
    """Give the error of a node that others knew before, and that has forgotten what it was."""
    message = "the others knew this node before, and it has forgotten what it was"
    hint = "start it with its journal; or let it join under another number, and remove the old one"
    return RingProblem("N203", message, hint=hint)


__all__ = [
    "PROTOCOL",
    "RECORDS",
    "Born",
    "Met",
    "births_of",
    "find_members",
    "forgotten",
    "meet_most",
    "memory",
]
