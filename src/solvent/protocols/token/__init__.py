"""Adaptive token passing: a token goes round a ring, and a search by halving brings it to who wants it.

Reading order: `messages`, `node`, `invariants`; then `group`, a lock and a common order of broadcasts made of it.
"""

from solvent.protocols.token.messages import Acquire, Granted, Moved, Release
from solvent.protocols.token.node import TokenConfig, ring_node

__all__ = ["Acquire", "Granted", "Moved", "Release", "TokenConfig", "ring_node"]
