"""A network that loses messages, of those that may be lost: all that do not carry the token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.machine import Send
from solvent.protocols.token.messages import Token

if TYPE_CHECKING:
    from random import Random

    from solvent.protocols.machine import Effects, Event, Machine, Step


class Loss:
    """Which part of the messages gets lost, and how many did."""

    def __init__(self, part: float, chance: Random) -> None:
        self.part = part
        self.lost = 0
        self._chance = chance

    def rest_of(self, effects: Effects) -> Effects:
        """Leave out what gets lost."""
        kept = tuple([effect for effect in effects if not self._is_lost(effect)])
        self.lost += len(effects) - len(kept)
        return kept

    def _is_lost(self, effect: Any) -> bool:
        return type(effect) is Send and type(effect.message) is not Token and self._chance.random() < self.part


class Losing:
    """A machine some of whose messages get lost."""

    def __init__(self, machine: Machine[Any], loss: Loss) -> None:
        self.machine = machine
        self.loss = loss

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[Any]:
        """Begin."""
        state, effects = self.machine.start(saved, life)
        return state, self.loss.rest_of(effects)

    def step(self, state: Any, event: Event) -> Step[Any]:
        """Take one event."""
        after, effects = self.machine.step(state, event)
        return after, self.loss.rest_of(effects)


__all__ = ["Losing", "Loss"]
