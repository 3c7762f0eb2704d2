"""Small worlds of the link: two or three talkers whose words get lost, doubled, late, and whose nodes crash.

The talkers inside fail as soon as they hear a word twice, out of order, of a former life, or not at all without being
told; see `talker`. Timers fire when all is quiet: sending again while the first is still under way adds
messages without end, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.link.desk import Desk
from solvent.protocols.link.linked import Linked
from solvent.protocols.machine import NodeId
from solvent_lab.checker.model import Crashes, Model, Network, Order, Timers
from solvent_lab.models.talker import TALK_INVARIANTS, Say, Talker, everything_is_heard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.checker.world import World

A, B, C = NodeId(0), NodeId(1), NodeId(2)


def _model(
    title: str,
    says: tuple[tuple[int, Say], ...],
    *,
    machine: type[Desk] = Desk,
    nodes_count: int = 2,
    echoes: bool = False,
    ack_after: int = 0,
    network: Network = Network(),  # noqa: B008 - a frozen value
    crashes: Crashes = Crashes(),  # noqa: B008 - a frozen value
) -> Model:
    class Link(Linked[Any]):
        pass

    Link.desk = machine
    nodes = tuple(NodeId(number) for number in range(nodes_count))
    machines = tuple(
        Link(Talker(echoes=echoes), me=me, peers=nodes, ack_after=ack_after, max_patience=0, tells_all_taken=True)
        for me in nodes
    )
    return Model(
        machines=machines,
        title=title,
        requests=says,
        network=network,
        timers=Timers.WHEN_QUIET,
        crashes=crashes,
        invariants=TALK_INVARIANTS,
        goal=_all_said_and_heard,
        has_no_livelock=False,
        names=("a", "b", "c")[:nodes_count],
    )


def _all_said_and_heard(world: World) -> bool:
    return not world.requests and world.is_quiet and everything_is_heard(world)


_ONE_CRASH = Crashes(count=1, are_noticed=False, within_step=True, lose_messages=False)
_TWO_CRASHES = Crashes(count=2, are_noticed=False, within_step=True, lose_messages=False)


def unreliable(machine: type[Desk] = Desk, title: str = "words get lost, doubled and overtaken") -> Model:
    """Build a world of an unreliable network."""
    network = Network(order=Order.ANY, losses=1, duplicates=1)
    says = ((A, Say(B)), (A, Say(B)), (A, Say(B)), (B, Say(A)))
    return _model(title, says, machine=machine, network=network)


def _gathering() -> Model:
    network = Network(order=Order.ANY, losses=1, duplicates=1)
    says = ((A, Say(B)), (A, Say(B)), (B, Say(A)))
    return _model("acknowledgements wait for others", says, ack_after=1, network=network)


def crash(machine: type[Desk] = Desk, title: str = "a crash, also within a step") -> Model:
    """Build a world in which one node crashes."""
    network = Network(order=Order.ANY, losses=1)
    says = ((A, Say(B)), (A, Say(B)))
    return _model(title, says, machine=machine, echoes=True, network=network, crashes=_ONE_CRASH)


def doubled_crash(machine: type[Desk] = Desk, title: str = "a crash, and frames that come late") -> Model:
    """Build a world in which one node crashes and a message is doubled."""
    network = Network(order=Order.ANY, duplicates=1)
    says = ((A, Say(B)), (A, Say(B)), (B, Say(A, is_cheap=True)))
    return _model(title, says, machine=machine, network=network, crashes=_ONE_CRASH)


def _two_crashes() -> Model:
    says = ((A, Say(B)), (B, Say(A)))
    return _model("two crashes, of one node or of both", says, crashes=_TWO_CRASHES)


def _three() -> Model:
    says = ((A, Say(B)), (B, Say(C)), (C, Say(A)), (A, Say(A)))
    network = Network(order=Order.ANY, losses=1)
    return _model("three nodes, and one talks to itself", says, nodes_count=3, network=network)


MODELS: Mapping[str, Callable[[], Model]] = {
    "unreliable": unreliable,
    "gathering": _gathering,
    "crash": crash,
    "late": doubled_crash,
    "two-crashes": _two_crashes,
    "three": _three,
}

__all__ = ["MODELS", "crash", "doubled_crash", "unreliable"]
