"""Ways to put nodes together, for one body of tests: within the process, over TCP, with TLS or without, over NATS."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from solvent.net import Codec, Host, Hub, Identity, TcpTransport
from solvent.protocols.machine import NodeId
from tests.live.certificates import certificates
from tests.live.store_servers import served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence

    from solvent.net import Application, Transport

ARMS = ("in-process", "tcp", "tls", "nats")
MAX_SECONDS = 200


class Listener:
    """Keeps what it is told; answers nothing."""

    def __init__(self) -> None:
        self.outcomes = list[Any]()

    def answer(self, question: Any) -> Any:
        """Refuse."""
        raise AssertionError(question)

    def told(self, outcome: Any) -> None:
        """Keep it."""
        self.outcomes.append(outcome)


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test, but not for ever."""
    asyncio.run(asyncio.wait_for(test, MAX_SECONDS))


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    while not is_so():  # noqa: ASYNC110 - a node has no event for everything a test may want to know
        await asyncio.sleep(0.002)


def identity(node: int, **options: Any) -> Identity:
    """Make a node of the tests' run."""
    return Identity(NodeId(node), "tests", **{"secret": b"secret", **options})


@contextmanager
def transports(arm: str, count: int, message_type: Any) -> Iterator[list[Transport]]:
    """Make the transports of a number of nodes; over TCP they do not know each other's ports yet."""
    if arm == "in-process":
        hub = Hub()
        yield [hub.transport(NodeId(number)) for number in range(count)]
    elif arm == "nats":
        from solvent.runs.nodes.nats_transport import NatsTransport

        with served() as url:
            yield [NatsTransport(identity(number), Codec(message_type), url) for number in range(count)]
    elif arm == "tls":
        with certificates() as made:
            yield [
                TcpTransport(identity(number), Codec(message_type), tls=made.tls(f"node-{number}"))
                for number in range(count)
            ]
    else:
        yield [TcpTransport(identity(number), Codec(message_type)) for number in range(count)]


def introduce(nodes: Sequence[Any]) -> None:
    """Let all transports know where the others listen."""
    for one in nodes:
        for number, other in enumerate(nodes):
            if isinstance(one, TcpTransport):
                one.know(NodeId(number), *other.address)


@asynccontextmanager
async def running(
    arm: str, machines: Sequence[Any], message_type: Any, applications: Sequence[Application] | None = None
) -> AsyncIterator[list[Host[Any]]]:
    """Run machines, node n the n-th, until the block ends."""
    with transports(arm, len(machines), message_type) as ways:
        listeners = applications or [Listener() for _ in machines]
        hosts = [
            Host(machine, way, application=listener)
            for machine, way, listener in zip(machines, ways, listeners, strict=True)
        ]
        for host in hosts:
            await host.start()
        introduce(ways)
        try:
            yield hosts
        finally:
            for host in hosts:
                await host.stop()
