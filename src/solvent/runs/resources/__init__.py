"""The resources of a workflow while it runs.

Reading order: `lender` (what a run has to lend, and functions that borrow), `loans` (what one call has, the part that a
process has in the space of a run, and what is left in the end).
"""

from solvent.runs.resources.lender import claimed, lender_of, while_lending

__all__ = ["claimed", "lender_of", "while_lending"]
