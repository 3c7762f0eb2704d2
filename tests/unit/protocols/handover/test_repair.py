"""Who notices that a process of a space is dead, and who may make a repair."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from solvent.protocols.handover.machine import SpaceMachine
from solvent.protocols.handover.messages import Proceed
from solvent.protocols.handover.state import Role, SpaceConfig, SpaceState
from solvent.protocols.handover.vocabulary import Died, Enter, Go
from solvent.protocols.machine import Answered, Ask, Event, NodeId, Received, Requested, Send
from tests.unit.protocols.handover.town import Town

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

    def role(self, node: int) -> Role:
        """Tell how far a process is."""
        return self.states[node].role

    def watchers(self, node: int) -> list[int]:
        """Give who lives and would notice that a process is dead."""
        return [one for one, state in self.states.items() if one not in self.dead and node in state.watched]


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
    assert space.states[20].role is Role.ENTERING
    assert space.watchers(30)
    _told(space, 30)
    space.settle()
    assert {node: state.role for node, state in space.states.items() if node != 30} == dict.fromkeys(
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
    space.settle(until=lambda: all({30, 40} <= set(space.states[one].members) for one in (60, 70)))
    space.dead.add(50)
    space.settle()
    assert space.states[30].role is space.states[40].role is Role.ENTERING
    assert sorted(space.watchers(50)) == [60, 70]
    _told(space, 50)
    space.settle()
    assert {space.states[node].role for node in (30, 40, 60, 70)} == {Role.INSIDE}


def test_the_death_of_one_that_has_said_goodbye_holds_up_nobody() -> None:
    """Nobody but the founder counts on it any more; whoever comes or goes next does so all the same."""
    space = _Space(50)
    for node in (10, 20, 30, 40):
        space.enter(node, 50)
        space.settle()
    space.take(20, Requested(Go()))
    space.settle(until=lambda: all(20 not in space.states[one].members for one in (10, 30, 40)))
    space.dead.add(20)
    space.settle()
    assert 20 in space.states[50].members
    space.take(40, Requested(Go()))
    space.enter(60, 30)
    space.settle()
    assert space.watchers(20)
    _told(space, 20)
    space.settle()
    assert space.states[40].role is Role.OVER
    assert space.states[60].role is Role.INSIDE
    assert sorted(space.states[50].members) == [10, 30, 50, 60]


def test_one_that_waits_for_another_s_answer_to_its_goodbye_goes_though_that_one_dies() -> None:
    """The other one had said goodbye before, so no repair is made for it by who has heard that."""
    space = _Space(50)
    for node in (10, 20, 30, 40):
        space.enter(node, 50)
        space.settle()
    space.take(20, Requested(Go()))
    space.take(40, Requested(Go()))
    space.settle(until=lambda: 20 not in space.states[40].members)
    space.dead.add(20)
    space.settle()
    assert space.role(40) is Role.INSIDE
    for _ in range(3):
        _told(space, 20)
        space.settle()
    assert space.role(40) is Role.OVER
    assert sorted(space.states[50].members) == [10, 30, 50]


def _without_resources(count: int) -> Town:
    town = Town(count, is_settled=False)
    for node in range(1, count):
        town.want(node, Enter(NodeId(0)))
    return town


def _pairs(ones: tuple[int, ...], others: tuple[int, ...]) -> set[frozenset[int]]:
    return {frozenset((one, other)) for one in ones for other in others}


def test_one_that_has_said_goodbye_has_no_vote() -> None:
    """Two have heard its goodbye and are two of three; with its vote the founder would go on as half of four."""
    town = _without_resources(4)
    town.cut = _pairs((0,), (3,))
    town.want(3, Go())
    assert [3 in state.members for state in town.states] == [True, False, False, True]
    town.cut = _pairs((0,), (1, 2, 3)) | _pairs((3,), (1, 2))
    town.want(0, Died(NodeId(1), is_certain=False))
    town.want(0, Died(NodeId(2), is_certain=False))
    town.cut = _pairs((0, 3), (1, 2))
    town.under_way, town.kept = town.kept, town.under_way
    town.talk()
    town.want(1, Died(NodeId(0), is_certain=False))
    assert [state.is_running for state in town.states] == [False, True, True, False]


def test_a_repair_does_not_wait_for_one_that_the_last_epoch_left_out() -> None:
    """Who makes it has missed that this epoch has begun, and hears it from another one of it."""
    town = _without_resources(4)
    town.cut = _pairs((3,), (0, 1, 2))
    town.take(0, Requested(Died(NodeId(3), is_certain=False)))
    while not any(isinstance(message, Proceed) for _, _, message in town.under_way):
        sender, to, message = town.under_way.popleft()
        if to != 3:
            town.take(to, Received(sender, message))
    # It dies before it has told all.
    town.under_way = deque(one for one in town.under_way if one[1] == 2)
    town.talk()
    assert [town.states[node].epoch for node in (1, 2)] == [(0, 0), (1, 0)]
    town.kill(0)
    assert 3 not in town.states[1].suspects
    assert [town.states[node].is_running for node in (1, 2)] == [True, True]
    assert [sorted(town.states[node].members) for node in (1, 2)] == [[1, 2], [1, 2]]
