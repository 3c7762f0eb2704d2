"""Adaptive token passing: a token goes round a ring, and a search by halving brings it to who wants it.

Reading order: vocabulary, messages, state, node; systems holds the paper's rewriting systems.
"""

from solvent.protocols.token.node import Ring
from solvent.protocols.token.state import TokenConfig
from solvent.protocols.token.vocabulary import Acquire, Granted, Moved, Release

__all__ = ["Acquire", "Granted", "Moved", "Release", "Ring", "TokenConfig"]
