"""Exclusive locks for processes that come and go (ELMP): a tree, a queue and a token.

Reading order: vocabulary (what users want and are told), messages, state; invariants (what must hold); desk, queue,
pieces, holding, exchange, request, departure, insertion, balance, process (the machine, part by part); broken and
broken_data (what must not be).
"""

from solvent.protocols.elmp.process import Elmp, seats
from solvent.protocols.elmp.state import ElmpConfig, ElmpState

__all__ = ["Elmp", "ElmpConfig", "ElmpState", "seats"]
