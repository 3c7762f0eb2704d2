"""Tries every order of events of a small system of machines.

Reading order: model (what is checked, and what the moves are), world, explore; then packed_worlds and moves (how states
are found and kept), graph (dead ends, livelocks), counterexample; small_numbers (worlds that differ in names only);
registry (where the models of our protocols are).
"""

from solvent_lab.checker.explore import MAX_STATES, Result, Verdict, Violation, check
from solvent_lab.checker.model import Asking, Crashes, Invariant, Model, Network, Order, Timers
from solvent_lab.checker.world import Budget, Local, World

__all__ = [
    "MAX_STATES",
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
