"""The data of exclusive resources: shared between the processes of a host, sent straight from one host to the next.

Nothing here knows of locks. Somebody else decides who may write and who comes next, and carries a `Where` to it.

Reading order: `extents` (which version each stretch has), `locks`, `card` (what all processes of a host know about a
resource), `draft` (changes that nobody sees), `memory` (its bytes), `arrays`, `kept` (a copy of the version before),
`writing`, `redo` and `drafting` (how a draft becomes a version), `region`; `roll` (who is alive), `folder` (and what
the dead left), `segments`, `opening`, `where`; `wire`, `dialling`, `server`, `fetch`, `offering` (between hosts);
`store` (all of it, for one process).
"""

from solvent.handover.data.extents import VOID
from solvent.handover.data.fetch import Fetch, Options, Progress
from solvent.handover.data.folder import Swept, sweep
from solvent.handover.data.region import Region
from solvent.handover.data.store import Store
from solvent.handover.data.where import Where
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
