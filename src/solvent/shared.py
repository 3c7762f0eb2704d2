"""Data that processes hand over to each other, each piece under a lock of its own; no server.

>>> import os
>>> from solvent import shared
>>> with shared.join(f"example-{os.getpid()}") as space, space.handle("counter", size=8) as counter:
...     view = counter.acquire()
...     view[0] += 1
...     counter.release()

The package `solvent.handover` implements it; "Hand data over between processes" in the documentation says what happens
when processes leave or die.
"""

from solvent.handover import BlockingHandle, BlockingSpace, Handle, HandleState, Mode, Opening, Space, join

__all__ = ["BlockingHandle", "BlockingSpace", "Handle", "HandleState", "Mode", "Opening", "Space", "join"]
