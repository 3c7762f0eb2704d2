"""The directory as it must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from solvent.protocols.directory.directory import Directory, DirectoryState, DirectoryStep
from solvent.protocols.directory.messages import Publish, Watch
from solvent.protocols.machine import Effects, Message, NodeId, Report, Send
from solvent_lab.checker.model import Crashes, Model
from solvent_lab.checker.registry import Variants
from solvent_lab.models.directory import FIRST, SECOND, Move, Remove, model

BROKEN = Variants()


def _one_crash(node: int, *, machine: type[Directory], title: str) -> Model:
    return model(
        2,
        ((0, 1), (1, 0)),
        watchers=(0, 1),
        requests=lambda _ring: ((1, Remove(SECOND)),),
        crashes=Crashes(count=1, nodes=(node,)),
        machine=machine,
        title=title,
    )


def _without(effects: Effects, kind: type[Message]) -> Effects:
    """Leave out messages of a kind."""
    return tuple(effect for effect in effects if not (isinstance(effect, Send) and isinstance(effect.message, kind)))


@BROKEN.add(_one_crash, 1, name="a slot keeps what was said")
class KeepsWhatWasSaid(Directory):
    """A slot that does not forget what a crashed holder had listed."""

    def _on_peer_restarted(self, state: DirectoryState, peer: NodeId) -> DirectoryStep:
        after, effects = super()._on_peer_restarted(state, peer)
        return replace(after, slot=state.slot), effects


@BROKEN.add(_one_crash, 1, name="a holder lists once")
class ListsOnce(Directory):
    """A holder that does not list its molecules again when a slot has crashed."""

    def _on_peer_restarted(self, state: DirectoryState, peer: NodeId) -> DirectoryStep:
        state, effects = super()._on_peer_restarted(state, peer)
        return state, _without(effects, Publish)


@BROKEN.add(_one_crash, 1, name="a watcher watches once")
class WatchesOnce(Directory):
    """A watcher that does not watch again when a slot has crashed."""

    def _on_peer_restarted(self, state: DirectoryState, peer: NodeId) -> DirectoryStep:
        state, effects = super()._on_peer_restarted(state, peer)
        return state, _without(effects, Watch)


@BROKEN.add(
    model,
    3,
    ((1, 2),),
    name="a watcher believes the dead",
    requests=lambda _ring: ((1, Remove(FIRST)),),
    crashes=Crashes(count=1, nodes=(2,)),
)
class BelievesTheDead(Directory):
    """A watcher that keeps in view what a crashed slot had shown."""

    def _on_peer_restarted(self, state: DirectoryState, peer: NodeId) -> DirectoryStep:
        after, effects = super()._on_peer_restarted(state, peer)
        return after, tuple(effect for effect in effects if not isinstance(effect, Report))


@BROKEN.add(model, 3, ((1, 0),), name="anybody withdraws", requests=lambda _ring: ((1, Move(FIRST, NodeId(2))),))
class WithdrawsForAll(Directory):
    """A slot that takes a molecule away whoever withdraws it."""

    def _on_message(self, state: DirectoryState, sender: NodeId, message: Any) -> DirectoryStep:
        effects: Effects = ()
        if isinstance(message, Publish):
            for holder in sorted({holder for _, holder in state.slot.listed} - {sender}):
                state, more = super()._on_message(state, holder, Publish((), message.withdrawn))
                effects += more
        state, more = super()._on_message(state, sender, message)
        return state, effects + more


__all__ = ["BROKEN"]
