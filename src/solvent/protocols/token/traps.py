"""Traps at a node, and the queue of them that goes with the token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId
    from solvent.protocols.token.messages import Token
    from solvent.protocols.token.state import Trap


def with_trap(traps: tuple[Trap, ...], trap: Trap) -> tuple[Trap, ...]:
    """Add a trap at the end, instead of one for an older request of the same node; one for the same keeps its place."""
    for number, other in enumerate(traps):
        if other.requester == trap.requester:
            if other.request >= trap.request:
                return traps
            return (*traps[:number], *traps[number + 1 :], trap)
    return (*traps, trap)


def unserved(traps: tuple[Trap, ...], token: Token) -> tuple[Trap, ...]:
    """Give those traps whose requests the token has not served yet."""
    served = token.served
    return tuple([trap for trap in traps if served.get(trap.requester, 0) < trap.request])


def with_met(token: Token, traps: tuple[Trap, ...]) -> Token:
    """Let the token take traps with it, behind those it has."""
    met = [(trap.requester, trap.request) for trap in traps]
    return replace(token, queue=tuple(dict.fromkeys([*token.queue, *met])))


def without_served(token: Token) -> Token:
    """Give the token without those at the head of its queue that have been served since they joined it."""
    served, queue = token.served, token.queue
    done = 0
    while done < len(queue) and served.get(queue[done][0], 0) >= queue[done][1]:
        done += 1
    return replace(token, queue=queue[done:]) if done else token


def handed_on(token: Token) -> tuple[NodeId, Token]:
    """Give the first in the token's queue, and the token as it is lent to that one."""
    queue = token.queue
    borrower = queue[0][0]
    return borrower, replace(token, borrower=borrower, queue=queue[1:], row=token.row - 1)


__all__ = ["handed_on", "unserved", "with_met", "with_trap", "without_served"]
