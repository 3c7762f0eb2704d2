"""A group of nodes around a token: a lock, a common order of broadcasts, members that come, go and crash.

Reading order: vocabulary, messages, log, state, desk (a step in the making), order, electing, confirming,
settling, group, invariants, broken.
"""

from solvent.protocols.token.group.group import Group
from solvent.protocols.token.group.messages import GroupMessage
from solvent.protocols.token.group.state import GroupConfig, GroupRecord, GroupState
from solvent.protocols.token.group.vocabulary import (
    Broadcast,
    Confirm,
    Confirmed,
    Delivered,
    Epoch,
    Fence,
    Leave,
    Left,
    Lock,
    Locked,
    LockLost,
    MemberChanged,
    Remove,
    Retire,
    Skipped,
    Suspected,
    Unlock,
    ViewBegan,
)

__all__ = [
    "Broadcast",
    "Confirm",
    "Confirmed",
    "Delivered",
    "Epoch",
    "Fence",
    "Group",
    "GroupConfig",
    "GroupMessage",
    "GroupRecord",
    "GroupState",
    "Leave",
    "Left",
    "Lock",
    "LockLost",
    "Locked",
    "MemberChanged",
    "Remove",
    "Retire",
    "Skipped",
    "Suspected",
    "Unlock",
    "ViewBegan",
]
