"""One node of a group, event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.machine import Cheap, Machine, NodeId, Received, Report, Requested, Send, TimerFired
from solvent.protocols.token.group import GroupConfig, GroupState, group_node
from solvent.protocols.token.group.invariants import Order
from solvent.protocols.token.group.log import forgotten
from solvent.protocols.token.group.messages import (
    Append,
    Behind,
    Broadcast,
    Delivered,
    Elect,
    Epoch,
    Hello,
    Line,
    Lock,
    Locked,
    LockLost,
    Member,
    Passed,
    Promise,
    Refuse,
    Said,
    Saved,
    Seek,
    Seen,
    View,
    ViewBegan,
)
from solvent.protocols.token.group.state import ELECT, PATIENCE
from solvent.protocols.token.messages import Token

if TYPE_CHECKING:
    from solvent.protocols.machine import Effects, Event

A, B, C = NodeId(0), NodeId(1), NodeId(2)
FIRST, NEXT = Epoch(0, A), Epoch(1, C)


def _told(effects: Effects, kind: type[Any]) -> list[Any]:
    return [one.outcome for one in effects if isinstance(one, Report) and isinstance(one.outcome, kind)]


def _said(effects: Effects, kind: type[Any]) -> list[tuple[NodeId, Any]]:
    sent = [(one.to, one.message) for one in effects if isinstance(one, Send)]
    plain = [(to, message.message if isinstance(message, Cheap) else message) for to, message in sent]
    return [(to, message) for to, message in plain if isinstance(message, kind)]


def _steps(group: Machine[GroupState], state: GroupState, *events: Event) -> tuple[GroupState, Effects]:
    effects: Effects = ()
    for event in events:
        state, more = group.step(state, event)
        effects += more
    return state, effects


def _holder() -> tuple[Machine[GroupState], GroupState]:
    """Make node B of three, which has just got the token and whose user has the lock."""
    group = group_node(GroupConfig(B, (A, B, C)))
    state, _ = group.start()
    token = Passed(FIRST, Token(visits=0), length=0)
    state, effects = _steps(group, state, Requested(Lock()), Received(A, token))
    assert _told(effects, Locked)
    return group, state


def test_a_log_that_names_more_members_needs_more_promises() -> None:
    """Two of three are most of those a node knew; in the best log there are five, and two are not enough."""
    group = group_node(GroupConfig(B, (A, B, C)))
    state, _ = group.start()
    state, effects = _steps(group, state, *[TimerFired(PATIENCE)] * 3, TimerFired(ELECT))
    epoch = _said(effects, Elect)[0][1].epoch
    lines = tuple(Line(FIRST, Member(NodeId(node), is_member=True)) for node in (3, 4))
    state, effects = _steps(group, state, Received(A, Promise(epoch, FIRST, 2)), TimerFired(ELECT))
    assert _said(effects, Behind) == [(A, Behind(epoch, 0))]
    state, effects = _steps(group, state, Received(A, Append(epoch, 0, FIRST, lines, committed=2)))
    assert not _told(effects, ViewBegan)
    assert [to for to, _ in _said(effects, Elect)] == [2, 3, 4]
    _, effects = _steps(group, state, Received(NodeId(4), Promise(epoch, FIRST, 2)), TimerFired(ELECT))
    assert [one.ring for one in _told(effects, ViewBegan)] == [(1, 4, 0)]


def test_one_that_promised_something_newer_does_not_stop_the_others() -> None:
    """A holder writes on while most save it, and gives up when most refuse."""
    group, state = _holder()
    state, _ = _steps(group, state, Requested(Broadcast("x")), Received(C, Refuse(FIRST, NEXT)))
    done, effects = _steps(group, state, Received(A, Saved(FIRST, 1)))
    assert [one.data for one in _told(effects, Delivered)] == ["x"]
    assert done.fence is not None
    _, effects = _steps(group, state, Received(A, Refuse(FIRST, NEXT)))
    assert _told(effects, LockLost)


def test_a_token_is_sought_before_it_is_replaced() -> None:
    """A node that hears nothing asks all, and a word that it was seen is enough."""
    group = group_node(GroupConfig(B, (A, B, C)))
    state, _ = group.start()
    silence = [TimerFired(PATIENCE)] * 3
    state, effects = _steps(group, state, Requested(Lock()), *silence)
    assert [to for to, _ in _said(effects, Seek)] == [A, C]
    assert not _said(effects, Elect)
    seen, effects = _steps(group, state, Received(C, Seen(FIRST)), TimerFired(ELECT))
    assert (seen.is_seeking, _said(effects, Elect)) == (False, [])
    _, effects = _steps(group, state, TimerFired(ELECT))
    assert [to for to, _ in _said(effects, Elect)] == [A, C]


def test_who_meets_the_token_tells_who_seeks_it() -> None:
    """A token under way is found where it arrives."""
    group = group_node(GroupConfig(B, (A, B, C)))
    state, _ = group.start()
    state, effects = _steps(group, state, Received(C, Seek(FIRST)))
    assert not _said(effects, Seen)
    _, effects = _steps(group, state, Received(A, Passed(FIRST, Token(visits=0), length=0)))
    assert _said(effects, Seen) == [(C, Seen(FIRST))]


def test_an_old_answer_does_not_take_the_log_away() -> None:
    """Who has forgotten lines is told of them again, in pieces or late, and keeps what it has."""
    group = group_node(GroupConfig(B, (A, B, C)))
    state, _ = group.start()
    lines = tuple(Line(FIRST, Said(A, 0, number, number)) for number in range(10))
    state, _ = _steps(group, state, Received(A, Append(FIRST, 0, FIRST, lines, committed=10)))
    state = replace(state, log=forgotten(state.log, 8))
    old = Append(FIRST, 2, FIRST, lines[2:5], committed=10, members=((A, ""), (B, ""), (C, "")), is_whole=False)
    after, effects = _steps(group, state, Received(C, old))
    assert (after.log, after.committed) == (state.log, 10)
    assert _said(effects, Behind) == [(C, Behind(FIRST, 10))]
    after, effects = _steps(group, state, Received(C, replace(old, is_whole=True)))
    assert (after.log, _said(effects, Behind)) == (state.log, [])


def test_who_refuses_too_late_is_told_that_the_new_token_is_there() -> None:
    """And whoever hears that it is there, and has the lock, has lost it."""
    maker = group_node(GroupConfig(C, (A, B, C)))
    state, _ = maker.start()
    view = Append(NEXT, 0, FIRST, (Line(NEXT, View((C, A))),), committed=0)
    state, _ = _steps(maker, state, Received(A, view))
    _, effects = _steps(maker, state, Received(B, Refuse(NEXT, FIRST, is_held=True)))
    assert _said(effects, Seen) == [(B, Seen(NEXT))]
    holder, state = _holder()
    _, effects = _steps(holder, state, Received(C, Seen(NEXT)))
    assert _told(effects, LockLost)
    assert [to for to, _ in _said(effects, Hello)] == [C]


def test_the_common_order_notices_what_is_wrong() -> None:
    """Another word, another order and a gap are seen; who comes later may begin later."""
    order = Order()
    assert [order.heard(0, 0, place, word) for place, word in ((0, "a"), (2, "b"), (3, "c"))] == [None] * 3
    assert order.heard(1, 0, 0, "a") is None
    assert "hears 'c' at place 3" in str(order.heard(1, 0, 3, "c"))
    assert "hears 'x' at place 2" in str(order.heard(1, 0, 2, "x"))
    assert order.heard(2, 0, 3, "c") is None
    assert "went past it" in str(order.heard(2, 0, 1, "y"))
