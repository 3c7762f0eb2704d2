"""Deaths that are certain only on the host of the dead one."""

from __future__ import annotations

from solvent.protocols.elmp.vocabulary import Data, Granted, Request
from solvent.protocols.handover.vocabulary import Died, In, Of
from solvent.protocols.machine import NodeId
from tests.unit.protocols.handover.town import R, Town


def _notice(town: Town, hosts: int) -> None:
    """Let all that watch a dead one hear of it, for certain on its host: names are dealt to hosts in turn."""
    told: set[tuple[int, int]] = set()
    while True:
        left = [
            (node, peer)
            for node, state in enumerate(town.states)
            for peer in state.watched
            if node not in town.dead and peer in town.dead and (node, peer) not in told
        ]
        if not left:
            return
        told.add(left[0])
        node, peer = left[0]
        town.want(node, Died(peer, is_certain=node % hosts == peer % hosts))


def _granted(town: Town, node: int) -> list[Granted]:
    told = [one.told for _, one in town.want(node, In(R, Request())) if isinstance(one, Of)]
    return [one for one in told if isinstance(one, Granted)]


def test_host_that_is_silent_as_a_whole_is_waited_for() -> None:
    """Nobody can tell of it for certain, and those that are left are too few."""
    town = Town(6)
    town.dead |= {1, 2, 4, 5}
    _notice(town, hosts=3)
    assert town.states[0].dead == frozenset()
    assert [town.states[node].is_running for node in (0, 3)] == [False, False]


def test_what_was_released_while_others_were_mustered_is_found() -> None:
    """Who does not answer any more may have released something after another one of its host has answered."""
    town = Town(5)
    town.found[1] = {R: Data(7, NodeId(1), "before")}
    town.dead |= {2, 4}
    town.want(0, Died(NodeId(4), is_certain=True))
    assert not town.states[0].is_running
    town.found[1] = {R: Data(8, NodeId(1), "after")}
    town.want(0, Died(NodeId(2), is_certain=False))
    [granted] = _granted(town, 0)
    assert granted.data is not None
    assert (granted.data.version, granted.data.details) == (8, "after")
