"""Who notices that a process of a space is dead."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from solvent.protocols.handover.machine import SpaceMachine
from solvent.protocols.handover.state import Role, SpaceConfig, SpaceState
from solvent.protocols.handover.vocabulary import Died, Enter
from solvent.protocols.machine import Answered, Ask, Event, NodeId, Received, Requested, Send

if TYPE_CHECKING:
    from collections.abc import Callable


class _Space:
    """Processes and the messages between them; the dead take none."""

    def __init__(self, first: int) -> None:
        self._machines = dict[int, SpaceMachine]()
        self.states = dict[int, SpaceState]()
        self._messages = deque[tuple[int, Event]]()
        self.dead = set[int]()
        self.add(first, is_first=True)

    def add(self, node: int, *, is_first: bool = False) -> None:
        """Have one more process, outside."""
        machine = SpaceMachine(NodeId(node), f"at {node}", SpaceConfig(), is_first=is_first)
        self._machines[node] = machine
        self.states[node], _ = machine.start()

    def take(self, node: int, event: Event) -> None:
        """Let a process take an event, and note what it says."""
        self.states[node], effects = self._machines[node].step(self.states[node], event)
        for effect in effects:
            if isinstance(effect, Send):
                self._messages.append((effect.to, Received(NodeId(node), effect.message)))
            elif isinstance(effect, Ask):
                self.take(node, Answered({}))

    def settle(self, *, until: Callable[[], bool] = lambda: False) -> None:
        """Let all messages arrive, or so many that something is so."""
        while self._messages and not until():
            to, event = self._messages.popleft()
            if to not in self.dead:
                self.take(to, event)

    def enter(self, node: int, contact: int) -> None:
        """Let a process turn to another one."""
        self.add(node)
        self.take(node, Requested(Enter(NodeId(contact))))

    def watchers(self, node: int) -> list[int]:
        """Give who lives and would notice that a process is dead."""
        return [one for one, state in self.states.items() if one not in self.dead and node in state.standing.watched]


def _told(space: _Space, dead: int) -> None:
    for node in space.watchers(dead):
        space.take(node, Requested(Died(NodeId(dead), is_certain=True)))


def test_a_death_is_noticed_though_those_before_it_in_the_circle_come_in_just_then() -> None:
    """Who is let in only when the dead one has noted it cannot watch it; the founder does."""
    space = _Space(50)
    for node in (30, 40, 60):
        space.enter(node, 50)
        space.settle()
    space.dead.add(30)
    for node in (10, 20):
        space.enter(node, 40)
    space.settle()
    assert space.states[20].standing.role is Role.ENTERING
    assert space.watchers(30)
    _told(space, 30)
    space.settle()
    assert {node: state.standing.role for node, state in space.states.items() if node != 30} == dict.fromkeys(
        (50, 40, 60, 10, 20), Role.INSIDE
    )


def test_all_watch_the_founder() -> None:
    """If it dies while it lets those in who would watch it, others notice."""
    space = _Space(50)
    for node in (60, 70):
        space.enter(node, 50)
        space.settle()
    for node in (30, 40):
        space.enter(node, 70)
    space.settle(until=lambda: all({30, 40} <= set(space.states[one].standing.members) for one in (60, 70)))
    space.dead.add(50)
    space.settle()
    assert space.states[30].standing.role is space.states[40].standing.role is Role.ENTERING
    assert sorted(space.watchers(50)) == [60, 70]
    _told(space, 50)
    space.settle()
    assert {space.states[node].standing.role for node in (30, 40, 60, 70)} == {Role.INSIDE}
