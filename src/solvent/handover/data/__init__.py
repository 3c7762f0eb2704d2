"""The data of exclusive resources: shared between the processes of a host, sent straight from one host to the next.

Nothing here knows of locks. Somebody else decides who may write and who comes next, and carries a `Where` to it.

Reading order: `locks`, `card` (what all processes of a host know about a resource), `memory` (its bytes, and changes
that nobody sees), `arrays`, `writing` (how these become a version), `region`; `folder` (who is alive, and what the dead
left), `opening`; `wire` and `transfer` (between hosts); `store` (all of it, for one process).
"""

from solvent.handover.data.card import VOID
from solvent.handover.data.folder import Swept, sweep
from solvent.handover.data.region import Region
from solvent.handover.data.store import Store
from solvent.handover.data.transfer import Fetch, Options, Progress
from solvent.handover.data.wire import Where
from solvent.handover.data.writing import Writing

__all__ = [
    "VOID",
    "Fetch",
    "Options",
    "Progress",
    "Region",
    "Store",
    "Swept",
    "Where",
    "Writing",
    "sweep",
]
