"""A protocol of the tests: models as a protocol's module offers them."""

from __future__ import annotations

from solvent_lab.checker import Network
from tests.unit.lab.checker.worlds import query, ring

MODELS = {"two": lambda: ring(2), "three": lambda: ring(3)}
LARGE = {"four": lambda: ring(4)}
BROKEN = {
    "hasty": lambda: ring(2, is_hasty=True),
    "lossy": lambda: query(network=Network(losses=1)),
    "not broken": lambda: ring(2),
}
