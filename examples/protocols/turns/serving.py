"""`serve`: a ring over TCP, each node with a journal; one is stopped at work and comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from machine import Begun, Done, Token, Turns, Work

from solvent.net import Node, Place, Service
from solvent.protocols.link import Linked, record_type, wire_type
from solvent.protocols.machine import NodeId

NODES = tuple(NodeId(number) for number in range(3))
TURNS, STOPPED_AT = 7, 5


class Worker:
    """Whom a node serves."""

    def __init__(self, node: NodeId) -> None:
        self.node = node
        self.is_stopped, self.is_over = asyncio.Event(), asyncio.Event()

    async def answer(self, question: Work) -> None:
        """Do the work, for a while."""
        print(f"node {self.node}: turn {question.turn}")
        if question.turn == STOPPED_AT:
            self.is_stopped.set()
        await asyncio.sleep(0.01)

    def told(self, outcome: Any) -> None:
        """Hear that a turn is over."""
        if outcome == Done(TURNS):
            self.is_over.set()


def node_of(worker: Worker, folder: str, **where: Any) -> Node:
    """Put a machine in a link, and the link on the network."""
    me = worker.node
    service = Service(
        protocol="turns",
        machine=Linked(Turns(me, len(NODES), TURNS), me=me, peers=NODES),
        message_type=wire_type(Token),
        record_type=record_type(Begun | Done),
        application=worker,
    )
    return Node(service, Place(node=me, journal=Path(folder) / f"{me}.journal", **where))


async def serve(folder: str) -> None:
    """Start three nodes, stop one amid its work, start it again, and wait for the last turn."""
    workers = [Worker(me) for me in NODES]
    nodes = [node_of(worker, folder) for worker in workers]
    for node in nodes:
        await node.host.start()
    addresses = dict(zip(NODES, (node.transport.address for node in nodes), strict=True))
    for node in nodes:
        for peer, address in addresses.items():
            node.transport.know(peer, *address)
    stopped = (STOPPED_AT - 1) % len(NODES)
    await workers[stopped].is_stopped.wait()
    await nodes[stopped].host.stop()
    print(f"node {stopped} is stopped")
    nodes[stopped] = node_of(workers[stopped], folder, listen=addresses[NODES[stopped]], peers=addresses)
    await nodes[stopped].host.start()
    await workers[(TURNS - 1) % len(NODES)].is_over.wait()
    for node in nodes:
        await node.host.stop()


def main(*, is_broken: bool, **_: int) -> int:
    """Serve a ring; what goes wrong with the broken one is too rare to be seen here."""
    if is_broken:
        print("the checker and the simulator find the fault")
        return 2
    with TemporaryDirectory() as folder:
        asyncio.run(serve(folder))
    return 0
