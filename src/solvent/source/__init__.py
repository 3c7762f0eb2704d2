"""Source texts, places in them, and how a place is shown.

Reading order: text, span, excerpt.
"""

from solvent.source.excerpt import excerpt
from solvent.source.span import Span
from solvent.source.text import Source

__all__ = ["Source", "Span", "excerpt"]
