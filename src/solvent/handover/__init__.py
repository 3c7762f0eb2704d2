"""Spaces: processes that come and go hand data over to each other, each piece under a lock of its own.

Reading order: place (what is given), contents (what is handed over), words (what is told of data); meeting, node;
filling, keeping, access (the data on this host); cycle, resource (its lock); claiming, handle, space (what users have).
"""

from solvent.handover.claiming import Mode
from solvent.handover.cycle import HandleState
from solvent.handover.handle import BlockingHandle, Handle
from solvent.handover.space import BlockingSpace, Opening, Space, join

__all__ = ["BlockingHandle", "BlockingSpace", "Handle", "HandleState", "Mode", "Opening", "Space", "join"]
