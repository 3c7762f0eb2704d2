"""Protocols as pure machines; simulated, checked and served by three hosts that know none of them.

Reading order: `machine`; `maps` (mappings that never change); `channel` (every message once, over connections that
break); then one package per protocol. `link`: every message once, over a network that loses them. `capture`: taking
molecules that lie on many nodes. `directory`: finding them. `inertia`: knowing that nothing can react any more.
`nodes`: these together, one node of a distributed chemical program. `token`: a lock and one order of messages in a
ring. `elmp`: locks in a tree. `handover`: resources whose data travels with such a lock.
"""

from solvent.protocols.machine import Effect, Event, Machine, Message, NodeId, Step, Value

__all__ = ["Effect", "Event", "Machine", "Message", "NodeId", "Step", "Value"]
