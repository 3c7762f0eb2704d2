"""Exclusive locks for processes that come and go (ELMP): a tree, a queue and a token.

Reading order: `vocabulary` (what users want and are told), `messages`, `state`; `process` (which function takes what),
`lock` (queue, token, claims, data), `tree` (seats); `invariants` (what must hold).
"""

from solvent.protocols.elmp.process import Elmp, seats
from solvent.protocols.elmp.state import ElmpConfig, ElmpState

__all__ = ["Elmp", "ElmpConfig", "ElmpState", "seats"]
