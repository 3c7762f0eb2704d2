"""The five programs of the paper's evaluation (sections 4.1 and 4.2.1).

T0, T1, ... are types of molecules and R0, R1, ... are rules. R1 and R2 of the workflow program consume two molecules of
their type each: the text does not say it, but only then do the numbers of its figure come out.
"""

from __future__ import annotations

from solvent_lab.simulator.capture import ONE_RULE
from solvent_lab.simulator.capture_world import Program
from solvent_lab.simulator.capture_world import RuleOfTypes as Rule

SINGLE = ONE_RULE
INDEPENDENT: Program = (Rule((0, 0)), Rule((1, 1)), Rule((2, 2)))
DEPENDENT: Program = (Rule((0, 0), (1, 1)), Rule((1, 1), (2, 2)), Rule((2, 2)))
CIRCULAR: Program = (Rule((0, 0), (1, 1)), Rule((1, 1), (2, 2)), Rule((2, 2), (0,)))
WORKFLOW: Program = (Rule((0, 0), (1, 2)), Rule((1, 1), (3,)), Rule((2, 2), (4,)), Rule((3, 4)))

__all__ = ["CIRCULAR", "DEPENDENT", "INDEPENDENT", "SINGLE", "WORKFLOW"]
