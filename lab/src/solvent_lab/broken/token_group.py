"""A group as it must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.machine import Received, Save, TimerFired
from solvent.protocols.token.group.desk import Desk
from solvent.protocols.token.group.group import Group
from solvent.protocols.token.group.messages import Passed
from solvent.protocols.token.group.settling import settle
from solvent.protocols.token.group.state import ELECT, Promised
from solvent_lab.checker.registry import Variants
from solvent_lab.models.token_group import Small, group

if TYPE_CHECKING:
    from solvent.protocols.machine import Event
    from solvent.protocols.token.group.state import GroupState, GroupStep
    from solvent_lab.checker.model import Model

BROKEN = Variants()


def _group(size: int, *, machine: type[Group], **options: Any) -> Model:
    """Build a small world of broken nodes."""
    return group(size, machine=type(machine.__name__, (Small, machine), {}), **options)


@BROKEN.add(_group, 3, says=(0, 2), crashes=1, crashing=(1,), impatient=(2,), max_epochs=1, is_hasty=True)
class ForgetsPromises(Group):
    """Promises are not saved: after a crash an older token is accepted again."""

    def step(self, state: GroupState, event: Event) -> GroupStep:
        state, effects = super().step(state, event)
        return state, tuple(one for one in effects if not (isinstance(one, Save) and isinstance(one.record, Promised)))


@BROKEN.add(_group, 3, name="silence-is-assent", says=(0, 1), max_epochs=1, is_hasty=True, impatient=(2,))
class TakesSilenceForAssent(Group):
    """A node that does not answer an election in time counts as having promised."""

    def step(self, state: GroupState, event: Event) -> GroupStep:
        election = state.election
        if isinstance(event, TimerFired) and event.name == ELECT and election is not None:
            silent = dict.fromkeys(state.log.members, (state.log.last, state.log.length))
            return _settled(self, replace(state, election=replace(election, promises=Map(silent))), ())
        return super().step(state, event)


@BROKEN.add(_group, 3, says=(0,), crashes=1, crashing=(0,), max_epochs=2)
class TakesOwnLog(Group):
    """The node that makes a new token continues with its own log, however short."""

    def step(self, state: GroupState, event: Event) -> GroupStep:
        state, effects = super().step(state, event)
        election = state.election
        if election is None or election.fetches_from is None:
            return state, effects
        return _settled(
            self, replace(state, election=replace(election, fetches_from=None, is_complete=True)), effects[:-2]
        )


@BROKEN.add(_group, 3, says=(0, 1), crashes=1, crashing=(0,), max_epochs=2)
class DeliversTooEarly(Group):
    """A node delivers what it has written before others have saved it."""

    def step(self, state: GroupState, event: Event) -> GroupStep:
        state, effects = super().step(state, event)
        if not state.is_appending or state.is_beginning:
            return state, effects
        desk = Desk(self.config, state)
        desk.commit(state.log.length)
        return desk.state, (*effects, *desk.effects)


@BROKEN.add(_group, 3, says=(2,), max_epochs=1, is_hasty=True)
class HeedsOldTokens(Group):
    """A token is accepted although a newer one was promised."""

    def step(self, state: GroupState, event: Event) -> GroupStep:
        if isinstance(event, Received) and isinstance(event.message, Passed):
            epoch = event.message.epoch
            if epoch == state.epoch and epoch < state.promised and state.inner is None:
                desk = Desk(self.config, replace(state, promised=epoch, election=None))
                desk.begin_ring()
                return super().step(desk.state, event)
        return super().step(state, event)


def _settled(group: Group, state: GroupState, effects: tuple[Any, ...]) -> GroupStep:
    desk = Desk(group.config, state)
    settle(desk)
    return desk.state, (*effects, *desk.effects)


__all__ = ["BROKEN"]
