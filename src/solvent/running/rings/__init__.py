"""A ring of processes: one lock for all of them, and broadcasts that all hear in one order.

Reading order: place (what is given), data, locking, saying, hearing, opening, node, ring.
"""

from solvent.running.rings.hearing import RingMessage
from solvent.running.rings.locking import Fence, Lock
from solvent.running.rings.place import RingPlace
from solvent.running.rings.ring import Ring, RingStatus, ring

__all__ = ["Fence", "Lock", "Ring", "RingMessage", "RingPlace", "RingStatus", "ring"]
