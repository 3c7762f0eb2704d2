"""A node of a group whose user leaves the lock and wants it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.machine import Machine, NodeId, Received, Report, Requested, Send
from solvent.protocols.token.group import GroupConfig, GroupState, group_node
from solvent.protocols.token.group.messages import Broadcast, Lock, Locked, Retire, Unlock
from solvent.protocols.token.node import TokenConfig

if TYPE_CHECKING:
    from solvent.protocols.machine import Effects

A, B = NodeId(0), NodeId(1)


def _asked(group: Machine[GroupState], state: GroupState, *requests: Any) -> tuple[GroupState, Effects]:
    effects: Effects = ()
    for request in requests:
        state, more = group.step(state, Requested(request))
        effects += more
    return state, effects


def _numbers(effects: Effects) -> list[int]:
    return [
        effect.outcome.fence.number
        for effect in effects
        if isinstance(effect, Report) and isinstance(effect.outcome, Locked)
    ]


def test_the_lock_is_not_given_twice_by_one_grant() -> None:
    """Who leaves the lock while what it wrote is not safe yet gets it again by another grant, with a greater fence."""
    group = group_node(GroupConfig(A, (A, B), ring=TokenConfig(A, 1, is_instant=False, max_rest=1000)))
    state, _ = group.start()
    state, effects = _asked(group, state, Lock(), Broadcast("said under the lock"), Unlock(), Lock())
    assert state.is_appending
    assert _numbers(effects) == [1]


def test_who_is_alone_gets_the_lock_again_at_once() -> None:
    """Where nobody else is, the lock that is left and wanted again is there, and its fence is greater."""
    group = group_node(GroupConfig(A, (A,)))
    state, _ = group.start()
    state, effects = _asked(group, state, Lock(), Unlock(is_again=True), Unlock(is_again=True))
    assert _numbers(effects) == [1, 2, 3]
    assert state.fence is not None


def test_the_token_does_not_rest_where_a_node_is_about_to_stop() -> None:
    """It goes on at once, and so it does when it comes again."""
    group = group_node(GroupConfig(A, (A, B), ring=TokenConfig(A, 1, is_instant=False, max_rest=1000)))
    state, _ = group.start()
    assert state.inner is not None
    assert state.inner.token is not None
    state, effects = _asked(group, state, Retire())
    passed = [effect.message for effect in effects if isinstance(effect, Send)]
    assert [type(message).__name__ for message in passed] == ["Passed"]
    _, effects = group.step(state, Received(B, passed[0]))
    assert [type(effect.message).__name__ for effect in effects if isinstance(effect, Send)] == ["Passed"]
