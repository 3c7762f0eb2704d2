"""Carries the messages of another machine without fail, over channels that lose, double and reorder, across crashes.

Reading order: `messages`, `line` (one peer), `state`, `linked`, `desk` (a step in the making).
"""

from solvent.protocols.link.linked import Linked
from solvent.protocols.link.messages import AllTaken, Congested, LinkFault, record_type, wire_type
from solvent.protocols.link.state import LinkState

__all__ = ["AllTaken", "Congested", "LinkFault", "LinkState", "Linked", "record_type", "wire_type"]
