"""One lock for several processes, and broadcasts that all receive in one order; no server.

The processes are nodes of a ring in which a token goes round: the node that has it has the lock. A ring survives the
loss of nodes as long as most members are there.

>>> import asyncio
>>> from solvent import ring
>>> async def main() -> int:
...     async with ring.join() as node, node.lock():
...         return await node.broadcast("one at a time")
>>> asyncio.run(main()) >= 0
True

Reading order: `place` (what is given), `data`, `standstill`, `lock`, `broadcasts`, `deliveries`, `entry`, `node`,
`ring`.
"""

from solvent.ring.deliveries import RingMessage
from solvent.ring.lock import Fence, Lock
from solvent.ring.ring import Ring, RingStatus, join

__all__ = ["Fence", "Lock", "Ring", "RingMessage", "RingStatus", "join"]
