"""Asks who is at an address, before there is anything to say: the handshake, and no more.

For nodes that know where somebody is and not who, and for nodes that want to be sure that others take them for who they
are before they do anything.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from solvent.net import handshake
from solvent.net.codec import Frames, Nonsense
from solvent.net.handshake import ANYBODY, MAX_HANDSHAKE_BYTES, Challenge, Refused

if TYPE_CHECKING:
    from solvent.net.addresses import Address
    from solvent.net.handshake import Identity
    from solvent.protocols.machine import NodeId

MAX_SECONDS = 5.0


class Unwelcome(Exception):
    """The node at an address does not want this one, or is not who it should be; the reason is for people."""


async def meet(me: Identity, address: Address, wants: NodeId = ANYBODY) -> NodeId:
    """Shake hands with whoever is at an address, and tell who it is.

    Raises `OSError` (or `TimeoutError`) where nobody answers, and `Unwelcome` where somebody does not want this node.
    """
    async with asyncio.timeout(MAX_SECONDS):
        reader, writer = await asyncio.open_connection(*address)
        try:
            hello = handshake.hello(me, wants)
            writer.write(handshake.encode(hello))
            answer = await _answer(reader)
            if isinstance(answer, Refused):
                raise Unwelcome(answer.reason)
            if not isinstance(answer, Challenge):
                raise Unwelcome("it answers out of turn")
            writer.write(handshake.encode(handshake.prove(me, hello, answer)))
            await writer.drain()
        except Nonsense as nonsense:
            raise Unwelcome(str(nonsense)) from nonsense
        finally:
            writer.close()
    return answer.node


async def _answer(reader: asyncio.StreamReader) -> handshake.Handshake:
    frames = Frames(MAX_HANDSHAKE_BYTES)
    while True:
        data = await reader.read(MAX_HANDSHAKE_BYTES)
        if not data:
            raise ConnectionResetError("it hung up")
        for body in frames.feed(data):
            return handshake.decode(body)


__all__ = ["MAX_SECONDS", "Unwelcome", "meet"]
