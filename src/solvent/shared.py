"""Data that processes hand over to each other, each piece under a lock of its own.

    from solvent import shared

    with shared.join("run") as space, space.handle("counter", size=8) as counter:
        view = counter.acquire()
        view[:8] = (int.from_bytes(view[:8], "little") + 1).to_bytes(8, "little")
        counter.release()

The package `solvent.handover` implements it.
"""

from solvent.handover import BlockingHandle, BlockingSpace, Handle, HandleState, Mode, Opening, Space, join

__all__ = ["BlockingHandle", "BlockingSpace", "Handle", "HandleState", "Mode", "Opening", "Space", "join"]
