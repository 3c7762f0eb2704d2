"""Tries every order of events of a small system of machines.

Reading order: model (what is checked, and what the moves are), world, explore; then packing, steps, move, moves,
faults and graph (how states are found and kept), liveness (dead ends, livelocks), counterexample; renumbering
and symmetry (worlds that differ in names only); registry and models (our protocols').
"""

from solvent.checker.explore import STATES_MAX, Result, Verdict, Violation, check
from solvent.checker.model import Asking, Crashes, Invariant, Model, Network, Order, Timers
from solvent.checker.world import Budget, Local, World

__all__ = [
    "STATES_MAX",
    "Asking",
    "Budget",
    "Crashes",
    "Invariant",
    "Local",
    "Model",
    "Network",
    "Order",
    "Result",
    "Timers",
    "Verdict",
    "Violation",
    "World",
    "check",
]
