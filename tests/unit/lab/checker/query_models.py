"""A protocol of the tests whose model does not hold."""

from __future__ import annotations

from solvent_lab.checker import Network
from tests.unit.lab.checker.worlds import query

MODELS = {"lossy": lambda: query(network=Network(losses=1))}
BROKEN = {}
