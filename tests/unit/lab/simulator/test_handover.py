"""Setups of data handover, and a peer on a network that only notes what it is to carry."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from solvent.errors import Misuse
from solvent.protocols.elmp.process import Elmp, seats
from solvent.protocols.elmp.state import ElmpConfig
from solvent.protocols.elmp.vocabulary import Data
from solvent.protocols.machine import NodeId
from solvent_lab.simulator.handover import Fetch, Parcel, Peer, Program, Seen, Setup, Until
from solvent_lab.simulator.handover_network import Network


@pytest.mark.parametrize("changes, said", [
    ({"mode": "cloud"}, "there is no mode `cloud`"),
    ({"platform": "moon"}, "there is no platform `moon`"),
    ({"leavers": "run"}, "there is no leavers `run`"),
    ({"peers": 0}, "`peers` is 0, and must be 1 at least"),
    ({"bytes": 0}, "`bytes` is 0"),
    ({"cycles": -1}, "`cycles` is -1"),
    ({"order": 1}, "`order` is 1, and must be 2 at least"),
    ({"locked": -1.0}, "`locked` is -1.0"),
    ({"wblocked": float("inf")}, "`wblocked` is inf"),
    ({"idle": float("nan")}, "`idle` is nan"),
    ({"leaving": 1.5}, "`leaving` is 1.5"),
    ({"leaving": 0.9, "peers": 2}, "all peers come and go"),
    ({"leaving": 0.5, "pause": 0.0}, "`pause` is 0"),
    ({"fetch": "acquire", "mode": "server"}, "a server sends the data with the lock"),
])  # fmt: skip
def test_what_cannot_be_is_refused(changes: dict[str, Any], said: str) -> None:
    """Each wrong value has its own words."""
    with pytest.raises(Misuse) as caught:
        Setup(**changes)
    assert said in caught.value.message
    assert caught.value.code == "P316"


def test_parts_become_numbers_of_peers() -> None:
    """A part of the peers is rounded to whole peers."""
    assert [Setup(peers=50, leaving=part).leavers_count for part in (0.0, 0.25, 0.33, 0.5)] == [0, 12, 16, 25]


A, B = NodeId(0), NodeId(1)


class Notes(Network):
    """A network on which nothing happens by itself."""

    now = 0.0

    def __init__(self) -> None:
        self.carried: list[tuple[NodeId, NodeId, Any]] = []
        self.naps: list[float] = []

    def say(self, sender: NodeId, to: NodeId, message: Any) -> None:
        """Note a message."""
        self.carried.append((sender, to, message))

    def ship(self, sender: NodeId, to: NodeId, message: Any) -> None:
        """Note data."""
        self.carried.append((sender, to, message))

    def wake(self, node: NodeId, seconds: float) -> None:
        """Note a sleep."""
        del node
        self.naps.append(seconds)


def pair(**changes: Any) -> tuple[Notes, list[Peer]]:
    """Make two peers, of which the first has the data."""
    ground, seen = Notes(), Seen(Setup(peers=2, **changes), Random(1))
    config, data = ElmpConfig(), Data(0, A)
    machines = [Elmp(node, config, seat=seat, rank=node + 1, data=data) for node, seat in seats((A, B), 2).items()]
    peers = [Peer(NodeId(node), machine, ground, seen) for node, machine in enumerate(machines)]
    peers[0].version = 0
    return ground, peers


def carry(ground: Notes, peers: list[Peer]) -> list[Any]:
    """Let all arrive that is under way, and return it."""
    seen = []
    while ground.carried:
        sender, to, message = ground.carried.pop(0)
        seen.append(message)
        peers[to].hear(sender, message)
    return seen


def claiming(peer: Peer, log: list[str]) -> Program:
    """Claim, sleep, wait, release."""
    peer.request()
    yield 3.0
    log.append("waits")
    yield Until.HELD
    log.append("holds")
    yield 0.0
    peer.release()
    log.append("done")


def test_data_is_fetched_as_soon_as_the_lock_is_granted() -> None:
    """The data is there before the program asks for it, which then need not wait."""
    ground, peers = pair()
    log: list[str] = []
    peers[0].begin()
    peers[1].begin(claiming(peers[1], log))
    carried = carry(ground, peers)
    assert [one for one in carried if isinstance(one, Fetch | Parcel)] == [Fetch(0), Parcel(0)]
    assert (log, ground.naps) == ([], [3.0])
    peers[1].go_on()
    assert log == ["waits", "holds", "done"]
    assert (peers[1].version, peers[1].seen.version) == (1, 1)


def test_data_is_fetched_when_it_is_waited_for() -> None:
    """As in the paper: not before the program waits."""
    ground, peers = pair(fetch="acquire")
    log: list[str] = []
    peers[0].begin()
    peers[1].begin(claiming(peers[1], log))
    assert not [one for one in carry(ground, peers) if isinstance(one, Fetch)]
    peers[1].go_on()
    assert log == ["waits"]
    assert [type(one) for one in carry(ground, peers)][:2] == [Fetch, Parcel]
    assert log == ["waits", "holds", "done"]


def test_a_wish_for_a_version_that_is_gone_is_ignored() -> None:
    """Only who does not wait any more asks for it."""
    ground, peers = pair()
    peers[0].begin()
    peers[0].hear(B, Fetch(5))
    assert ground.carried == []
    peers[0].hear(B, Parcel(5))
    assert peers[0].version == 0


def test_who_has_the_data_holds_it_at_once() -> None:
    """A claim where token and data rest needs no message."""
    ground, peers = pair()
    log: list[str] = []
    peers[0].begin(claiming(peers[0], log))
    peers[0].go_on()
    assert (log, ground.carried) == (["waits", "holds", "done"], [])
