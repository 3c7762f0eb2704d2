"""One adapter for each system: it says whether the system is here, and makes trials of a problem.

Reading order: `trial` (what an adapter promises), then any of the others.
"""

from bench.systems.clips_rules import Clips
from bench.systems.hand_loop import HandLoop
from bench.systems.maude_rewriting import Maude, MaudeEquations
from bench.systems.solvent_engine import Solvent
from bench.systems.swi_chr import SwiChr
from bench.systems.trial import System, Trial

SYSTEMS: dict[str, System] = {
    "hand": HandLoop(),
    "solvent": Solvent(),
    "maude": Maude(),
    "maude-eq": MaudeEquations(),
    "chr": SwiChr(),
    "clips": Clips(),
}

__all__ = ["SYSTEMS", "System", "Trial"]
