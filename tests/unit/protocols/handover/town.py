"""Processes of a space that talk until all is quiet; for the tests of it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from solvent.protocols.handover.invariants import SAFETY, Scene
from solvent.protocols.handover.machine import SpaceMachine
from solvent.protocols.handover.state import SpaceConfig
from solvent.protocols.handover.vocabulary import Died, Enter, Of, Open
from solvent.protocols.machine import Answered, Ask, Effects, Event, NodeId, Received, Report, Requested, Send, SetTimer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.protocols.elmp.vocabulary import Data

R = "matrix"


class Town:
    """A few processes; the first begins a space, and others may come. What is under way arrives in the order sent."""

    def __init__(self, count: int, *, config: SpaceConfig = SpaceConfig(), is_settled: bool = True) -> None:  # noqa: B008
        self.machines = [SpaceMachine(NodeId(node), f"a{node}", config, is_first=not node) for node in range(count)]
        self.under_way: deque[tuple[NodeId, NodeId, Any]] = deque()
        self.told: list[tuple[NodeId, Any]] = []
        self.said: list[tuple[NodeId, NodeId, Any]] = []
        self.timers: list[tuple[NodeId, str]] = []
        self.asked: list[tuple[NodeId, Any]] = []
        self.dead: set[int] = set()
        #: What data each can find; and pairs of processes between which nothing arrives.
        self.found: dict[int, Mapping[str, Data]] = {}
        self.cut: set[frozenset[int]] = set()
        self.kept: deque[tuple[NodeId, NodeId, Any]] = deque()
        self.states = [machine.start()[0] for machine in self.machines]
        if is_settled:
            for node in range(1, count):
                self.want(node, Enter(NodeId(node - 1)))
            for node in range(count):
                self.want(node, Open(R))

    def want(self, node: int, request: Any) -> list[tuple[NodeId, Any]]:
        """Let a process hear what is wanted, and all talk until all is quiet; give what was told meanwhile."""
        before = len(self.told)
        self.take(node, Requested(request))
        self.talk()
        return self.told[before:]

    def talk(self) -> None:
        """Let everything arrive."""
        while self.under_way:
            sender, to, message = self.under_way.popleft()
            if frozenset((sender, to)) in self.cut:
                self.kept.append((sender, to, message))
            elif to not in self.dead:
                self.take(to, Received(sender, message))

    def heal(self) -> None:
        """Let arrive what could not."""
        self.cut.clear()
        self.under_way, self.kept = self.kept, self.under_way
        self.talk()

    def kill(self, node: int, *, is_certain: bool = True) -> None:
        """Let a process die, and those that watch it hear of it."""
        self.dead.add(node)
        self.notice(node, is_certain=is_certain)

    def notice(self, node: int, *, is_certain: bool = False) -> None:
        """Let those that watch a process hear that it is dead, or seems to be; until nobody else watches it."""
        told: set[int] = set()
        while True:
            left = [
                one
                for one, state in enumerate(self.states)
                if one not in self.dead | told and one != node and node in state.watched
            ]
            if not left:
                return
            told.add(left[0])
            self.want(left[0], Died(NodeId(node), is_certain))

    def take(self, node: int, event: Event) -> None:
        """Let a process take one event."""
        self.states[node], effects = self.machines[node].step(self.states[node], event)
        self._carry(NodeId(node), effects)

    def _carry(self, node: NodeId, effects: Effects) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self.under_way.append((node, effect.to, effect.message))
                self.said.append((node, effect.to, effect.message))
            elif isinstance(effect, Report):
                self.told.append((node, effect.outcome))
            elif isinstance(effect, SetTimer):
                self.timers.append((node, effect.name))
            elif isinstance(effect, Ask):
                self.asked.append((node, effect.question))
                self.take(node, Answered(self.found.get(node, {})))


def of(told: list[tuple[NodeId, Any]], kind: type) -> list[tuple[NodeId, Any]]:
    """Give what was told of one kind, also of a resource."""
    inner = [(node, one.told if isinstance(one, Of) else one) for node, one in told]
    return [(node, one) for node, one in inner if isinstance(one, kind)]


def is_sound(town: Town) -> bool:
    """Whether all that must hold does."""
    living = {NodeId(node): state for node, state in enumerate(town.states) if node not in town.dead}
    scene = Scene(living, tuple(town.under_way), town.machines[0].config.locks)
    return [check(scene) for check in SAFETY] == [None] * len(SAFETY)


__all__ = ["R", "Town", "is_sound", "of"]
