"""Small worlds of the link: two or three talkers whose words get lost, doubled, late, and whose nodes crash.

The talkers inside fail as soon as they hear a word twice, out of order, of a former life, or not at all without being
told; see `protocols/link/talker`. Timers fire when all is quiet: sending again while the first is still under way adds
messages without end, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.link.desk import Desk
from solvent.protocols.link.linked import Linked
from solvent.protocols.link.messages import Ack, Announce, Data, Loose
from solvent.protocols.machine import NodeId, Received
from solvent_lab.checker.model import Crashes, Model, Network, Order, Timers
from solvent_lab.models.link_invariants import TALK_INVARIANTS, everything_is_heard
from solvent_lab.models.talker import Say, Talker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.protocols.link.line import Line
    from solvent_lab.checker.world import World

A, B, C = NodeId(0), NodeId(1), NodeId(2)


def _model(
    title: str,
    says: tuple[tuple[int, Say], ...],
    *,
    desk: type[Desk] = Desk,
    nodes_count: int = 2,
    echoes: bool = False,
    ack_after: int = 0,
    network: Network = Network(),  # noqa: B008 - a frozen value
    crashes: Crashes = Crashes(),  # noqa: B008 - a frozen value
) -> Model:
    class Link(Linked[Any]):
        pass

    Link.desk = desk
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


def _unreliable(desk: type[Desk] = Desk) -> Model:
    network = Network(order=Order.ANY, losses=1, duplicates=1)
    says = ((A, Say(B)), (A, Say(B)), (A, Say(B)), (B, Say(A)))
    return _model("words get lost, doubled and overtaken", says, desk=desk, network=network)


def _gathering() -> Model:
    network = Network(order=Order.ANY, losses=1, duplicates=1)
    says = ((A, Say(B)), (A, Say(B)), (B, Say(A)))
    return _model("acknowledgements wait for others", says, ack_after=1, network=network)


def _crash(desk: type[Desk] = Desk) -> Model:
    network = Network(order=Order.ANY, losses=1)
    says = ((A, Say(B)), (A, Say(B)))
    return _model("a crash, also within a step", says, desk=desk, echoes=True, network=network, crashes=_ONE_CRASH)


def _doubled_crash(desk: type[Desk] = Desk) -> Model:
    network = Network(order=Order.ANY, duplicates=1)
    says = ((A, Say(B)), (A, Say(B)), (B, Say(A, is_cheap=True)))
    return _model("a crash, and frames that come late", says, desk=desk, network=network, crashes=_ONE_CRASH)


def _two_crashes() -> Model:
    says = ((A, Say(B)), (B, Say(A)))
    return _model("two crashes, of one node or of both", says, crashes=_TWO_CRASHES)


def _three() -> Model:
    says = ((A, Say(B)), (B, Say(C)), (C, Say(A)), (A, Say(A)))
    network = Network(order=Order.ANY, losses=1)
    return _model("three nodes, and one talks to itself", says, nodes_count=3, network=network)


# ----------------------------------------------------------------------------------------------------- broken ones


class _HastyDesk(Desk):
    """Counts a message as taken before what its step saves is safe."""

    def carry(self, effects: Any, sender: NodeId | None = None) -> None:
        if sender is not None:
            self.on_taken(sender)
        super().carry(effects)


class _ForgetfulDesk(Desk):
    """Does not look at lives: a restarted peer goes on where the former one was."""

    def on_frame(self, event: Received, sender: NodeId, frame: Any) -> None:
        frame = replace(frame, life=self.line(sender).life, to=self.life)
        super().on_frame(replace(event, message=frame), sender, frame)


class _TrustingDesk(Desk):
    """Looks at the sender's life only: takes what was meant for its own former life."""

    def on_frame(self, event: Received, sender: NodeId, frame: Any) -> None:
        assert isinstance(frame, Data | Ack | Announce | Loose)
        frame = replace(frame, to=self.life)
        super().on_frame(replace(event, message=frame), sender, frame)


class _CarelessDesk(Desk):
    """Takes whatever comes: what is doubled twice, and what is early at once."""

    def on_data(self, sender: NodeId, line: Line, number: int, message: Any) -> None:
        super().on_data(sender, line, max(line.taken, 0), message)
        del number


class _ShyDesk(Desk):
    """Does not repeat that its node restarted."""

    def is_unfinished(self) -> bool:
        return any(line.waiting for line in self.lines.values())


MODELS: Mapping[str, Callable[[], Model]] = {
    "unreliable": _unreliable,
    "gathering": _gathering,
    "crash": _crash,
    "late": _doubled_crash,
    "two-crashes": _two_crashes,
    "three": _three,
}
BROKEN: Mapping[str, Callable[[], Model]] = {
    "takes-whatever-comes": lambda: _unreliable(_CarelessDesk),
    "acknowledges-before-it-is-safe": lambda: _crash(_HastyDesk),
    "no-lives": lambda: _doubled_crash(_ForgetfulDesk),
    "only-the-senders-life": lambda: _doubled_crash(_TrustingDesk),
    "announces-itself-once": lambda: _crash(_ShyDesk),
}

__all__ = ["BROKEN", "MODELS"]
