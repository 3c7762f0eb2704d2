"""A ring of processes: one lock for all of them, and broadcasts that all hear in one order.

Reading order: place (what is given), data, standstill, locking, saying, hearing, opening, node, ring.
"""

from solvent.ring.hearing import RingMessage
from solvent.ring.locking import Fence, Lock
from solvent.ring.place import RingPlace
from solvent.ring.ring import Ring, RingStatus, join

__all__ = ["Fence", "Lock", "Ring", "RingMessage", "RingPlace", "RingStatus", "join"]
