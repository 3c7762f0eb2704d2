"""`solvent lab serve link`: nodes that talk to each other, to see whether they reach each other, and how fast.

Each node says a number of words to every other, each of which is echoed, and tells when all have been taken.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from solvent.cli.loading import at_least
from solvent.cli.render import complain, write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.net import Node, Place, Service

SAYS = "Talk to other nodes: say words to each of them, and tell when all were heard."
EXAMPLE = "solvent lab serve link --node 0 --peers 0=127.0.0.1:7000,1=127.0.0.1:7001"


def add_options(parser: ArgumentParser) -> None:
    """Add --words."""
    says = "how many words to say to every other node (default: %(default)s)"
    parser.add_argument("--words", type=at_least(0), default=1000, metavar="N", help=says)


class _Listener:
    """Tells of faults, and when all words were taken."""

    def __init__(self, words: int, nodes_count: int) -> None:
        self._words = words
        self._nodes_count = nodes_count
        self._began = time.monotonic()
        self._is_done = not words or not nodes_count

    def answer(self, question: Any) -> Any:
        """Answer nothing; a talker asks nothing."""
        raise NotImplementedError(question)

    def told(self, outcome: Any) -> None:
        """Tell of it."""
        from solvent.net import PeerFault
        from solvent.protocols.link.messages import AllTaken, LinkFault

        match outcome:
            case AllTaken() if not self._is_done:
                self._is_done = True
                seconds = time.monotonic() - self._began
                count = self._words * self._nodes_count
                write(f"all {count:,} words heard by {self._nodes_count} nodes after {seconds:.2f} s")
            case PeerFault(peer, reason):
                complain(f"{peer}: {reason}")
            case LinkFault(peer, reason):
                complain(f"node {peer}: {reason}")
            case _:
                pass


def service(options: Namespace, place: Place) -> Service:
    """Give a talker in a link."""
    from solvent.net import Service
    from solvent.protocols.link import Linked, record_type, wire_type
    from solvent_lab.models.talker import Heard, Talker, TalkMessage

    return Service(
        protocol="link",
        machine=Linked(Talker(echoes=True, reports=True), me=place.node, peers=place.nodes, tells_all_taken=True),
        message_type=wire_type(TalkMessage),
        record_type=record_type(Heard),
        application=_Listener(options.words, len(place.peers)),
    )


def started(options: Namespace, place: Place, node: Node) -> None:
    """Say the words."""
    from solvent_lab.models.talker import Say

    for _ in range(options.words):
        for peer in place.peers:
            node.host.request(Say(peer))


__all__ = ["EXAMPLE", "SAYS", "add_options", "service", "started"]
