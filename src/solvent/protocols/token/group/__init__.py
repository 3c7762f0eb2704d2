"""A group of nodes around a token: a lock, a common order of broadcasts, members that come, go and crash.

Reading order: `messages`, `log`, `state`, `group` (the machine, and what follows from what a node knows), `order`
(the log and the token), `electing` (new tokens, newcomers), `invariants`.
"""

from solvent.protocols.token.group.group import group_node
from solvent.protocols.token.group.state import GroupConfig, GroupState

__all__ = ["GroupConfig", "GroupState", "group_node"]
