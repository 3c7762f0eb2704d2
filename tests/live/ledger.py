"""Payments booked exactly once, by a process that is killed again and again; run as a program it is that process.

The payer sends numbers in order and, when the ledger has restarted, again from the first that was not confirmed. The
ledger saves each number before it confirms it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.net import Codec, Host, Identity, Journal, TcpTransport
from solvent.net.direct import DirectHost
from solvent.protocols.link import Linked, record_type, wire_type
from solvent.protocols.machine import (
    Effects,
    Event,
    Message,
    NodeId,
    PeerRestarted,
    Received,
    Requested,
    Save,
    Send,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.net import Address

PAYER, LEDGER = NodeId(0), NodeId(1)


class Pay(Message, frozen=True, gc=False):
    """Book this one."""

    number: int


class Paid(Message, frozen=True, gc=False):
    """It is booked, and will stay so."""

    number: int


class Booked(Value, frozen=True, gc=False, tag=True):
    """Saved: this one is booked."""

    number: int


WIRE = wire_type(Pay | Paid)
RECORDS = record_type(Booked)


class Ledger:
    """Books what is paid; its state is the last number booked."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[int, Effects]:
        """Begin where it was."""
        del life
        return saved[-1].number if saved else 0, ()

    def step(self, state: int, event: Event) -> tuple[int, Effects]:
        """Book, once."""
        match event:
            case Received(sender, Pay(number)):
                assert number <= state + 1, "a payment was lost, and nobody said so"
                if number <= state:
                    return state, (Send(sender, Paid(number)),)
                return number, (Save(Booked(number)), Send(sender, Paid(number)))
            case _:
                return state, ()


class Payer:
    """Pays up to a number; its state is the last number confirmed."""

    def __init__(self, count: int) -> None:
        self.count = count

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[int, Effects]:
        """Begin with nothing paid."""
        del saved, life
        return 0, ()

    def step(self, state: int, event: Event) -> tuple[int, Effects]:
        """Pay; pay again what a restart may have lost."""
        match event:
            case Requested() | PeerRestarted():
                return state, tuple(Send(LEDGER, Pay(number)) for number in range(state + 1, self.count + 1))
            case Received(_, Paid(number)):
                assert number == state + 1, "a confirmation is missing, or comes twice"
                return number, ()
            case _:
                return state, ()


class Silent:
    """An application that hears nothing."""

    def answer(self, question: Any) -> Any:
        """Know nothing."""
        raise NotImplementedError(question)

    def told(self, outcome: Any) -> None:
        """Hear nothing."""

    def lost(self, peer: NodeId, why: str) -> None:
        """Watch nobody."""
        raise NotImplementedError(peer, why)


def direct_host(
    machine: Any, node: NodeId, find: Callable[[NodeId], Address | None], journal: Journal | None = None
) -> DirectHost[Any]:
    """Make a host in which the thread that waits works."""
    identity = Identity(node, "ledger")
    return DirectHost(
        machine,
        identity,
        Codec(Pay | Paid),
        listen=("127.0.0.1", 0),
        application=Silent(),
        find=find,
        journal=journal,
    )


async def _serve(path: Path, payer_port: int) -> None:
    identity = Identity(LEDGER, "ledger")
    way = TcpTransport(identity, Codec(WIRE), peers={PAYER: ("127.0.0.1", payer_port)})
    machine = Linked(Ledger(), me=LEDGER, peers=(PAYER, LEDGER), resend_after=50)
    host = Host(machine, way, journal=Journal(path, RECORDS))
    await host.start()
    print(way.address[1], flush=True)
    await host.wait()


def _serve_direct(path: Path, payer_port: int) -> None:
    host = direct_host(Ledger(), LEDGER, {PAYER: ("127.0.0.1", payer_port)}.get, Journal(path, Booked))
    host.start()
    host.greet([PAYER])
    print(host.address[1], flush=True)
    host.wait(lambda: False)


if __name__ == "__main__":
    _, _kind, _path, _port = sys.argv
    if _kind == "direct":
        _serve_direct(Path(_path), int(_port))
    else:
        asyncio.run(_serve(Path(_path), int(_port)))
