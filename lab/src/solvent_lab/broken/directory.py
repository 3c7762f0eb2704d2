"""The directory as it must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.directory import directory
from solvent.protocols.directory.messages import DirectoryMessage, Publish, Watch
from solvent.protocols.machine import NodeId, Report, Send
from solvent_lab.checker.model import Crashes, Model
from solvent_lab.checker.registry import Variants
from solvent_lab.models.directory import FIRST, SECOND, Move, Remove, model
from solvent_lab.variants import variant

if TYPE_CHECKING:
    from solvent.protocols.directory.directory import Now
    from solvent.protocols.machine import Message

BROKEN = Variants()


def _one_crash(node: int) -> Model:
    return model(
        2,
        ((0, 1), (1, 0)),
        watchers=(0, 1),
        requests=lambda _ring: ((1, Remove(SECOND)),),
        crashes=Crashes(count=1, nodes=(node,)),
    )


def _leave_out(now: Now, kind: type[Message]) -> None:
    """Leave out messages of a kind."""
    now.effects[:] = [one for one in now.effects if not (isinstance(one, Send) and isinstance(one.message, kind))]


@BROKEN.add(_one_crash, 1, name="a slot keeps what was said")
@variant(directory, "on_peer_restarted")
def keeps_what_was_said(on_peer_restarted: Any, now: Now, peer: NodeId) -> None:
    """A slot that does not forget what a crashed holder had listed."""
    slot = now.state.slot
    on_peer_restarted(now, peer)
    now.state.slot = slot


@BROKEN.add(_one_crash, 1, name="a holder lists once")
@variant(directory, "on_peer_restarted")
def lists_once(on_peer_restarted: Any, now: Now, peer: NodeId) -> None:
    """A holder that does not list its molecules again when a slot has crashed."""
    on_peer_restarted(now, peer)
    _leave_out(now, Publish)


@BROKEN.add(_one_crash, 1, name="a watcher watches once")
@variant(directory, "on_peer_restarted")
def watches_once(on_peer_restarted: Any, now: Now, peer: NodeId) -> None:
    """A watcher that does not watch again when a slot has crashed."""
    on_peer_restarted(now, peer)
    _leave_out(now, Watch)


@BROKEN.add(
    model,
    3,
    ((1, 2),),
    name="a watcher believes the dead",
    requests=lambda _ring: ((1, Remove(FIRST)),),
    crashes=Crashes(count=1, nodes=(2,)),
)
@variant(directory, "on_peer_restarted")
def believes_the_dead(on_peer_restarted: Any, now: Now, peer: NodeId) -> None:
    """A watcher that keeps in view what a crashed slot had shown."""
    on_peer_restarted(now, peer)
    now.effects[:] = [effect for effect in now.effects if not isinstance(effect, Report)]


@BROKEN.add(model, 3, ((1, 0),), name="anybody withdraws", requests=lambda _ring: ((1, Move(FIRST, NodeId(2))),))
@variant(directory, "on_message")
def withdraws_for_all(on_message: Any, now: Now, sender: NodeId, message: DirectoryMessage) -> None:
    """A slot that takes a molecule away whoever withdraws it."""
    if isinstance(message, Publish):
        for holder in sorted({holder for _, holder in now.state.slot.listed} - {sender}):
            on_message(now, holder, Publish((), message.withdrawn))
    on_message(now, sender, message)


__all__ = ["BROKEN"]
