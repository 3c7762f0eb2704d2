"""A node that stood still asks the others whether they have gone on without it, event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.machine import Cheap, NodeId, Received, Report, Requested, Send, TimerFired
from solvent.protocols.maps import Map
from solvent.protocols.token.group import GroupConfig, GroupState, group_node
from solvent.protocols.token.group.messages import Confirm, Confirmed, Epoch, Known, Lock, Passed, Probe
from solvent.protocols.token.group.state import PATIENCE
from solvent.protocols.token.messages import Token

if TYPE_CHECKING:
    from solvent.protocols.machine import Effects, Event

NODES = A, B, C, D, E = tuple(map(NodeId, range(5)))
FIRST = Epoch(0, A)


def _holder(*events: Event) -> tuple[GroupState, Effects]:
    """Let node B of five have the lock, and then some events happen."""
    group = group_node(GroupConfig(B, NODES))
    state, _ = group.start()
    effects: Effects = ()
    for event in (Requested(Lock()), Received(A, Passed(FIRST, Token(visits=0), length=0)), *events):
        state, effects = group.step(state, event)
    return state, effects


def _told(effects: Effects) -> list[Any]:
    return [one.outcome for one in effects if isinstance(one, Report)]


def _probed(effects: Effects) -> list[NodeId]:
    sent = [(one.to, one.message.message) for one in effects if isinstance(one, Send) and type(one.message) is Cheap]
    return [to for to, message in sent if isinstance(message, Probe)]


def test_most_members_confirm_that_nobody_has_gone_on() -> None:
    """The lock counts when two of the four others are in the same epoch; an answer to an earlier probe is none."""
    asked = Requested(Confirm(1)), Received(A, Known(FIRST, 1)), Requested(Confirm(2))
    assert _probed(_holder(Requested(Confirm(1)))[1]) == [A, C, D, E]
    assert not _told(_holder(*asked, Received(A, Known(FIRST, 1)), Received(C, Known(FIRST, 2)))[1])
    state, effects = _holder(*asked, Received(C, Known(FIRST, 2)), Received(D, Known(FIRST, 2)))
    assert _told(effects) == [Confirmed(2)]
    assert state.fence is not None


def test_silent_members_are_asked_again() -> None:
    """A probe may be lost on its way; whoever has not answered is asked again when the patience ends."""
    _, effects = _holder(Requested(Confirm(1)), Received(A, Known(FIRST, 1)), TimerFired(PATIENCE))
    assert _probed(effects) == [C, D, E]


def test_members_that_are_gone_need_not_answer() -> None:
    """A probe is answered when those who have answered are most of the members that are left."""
    state, _ = _holder(Requested(Confirm(1)), Received(A, Known(FIRST, 1)))
    left = Map({node: where for node, where in state.log.members.items() if node in (A, B, C)})
    state = replace(state, log=replace(state.log, members=left))
    state, effects = group_node(GroupConfig(B, NODES)).step(state, TimerFired(PATIENCE))
    assert _told(effects) == [Confirmed(1)]
    assert not _probed(effects)
