"""Two other ways to hand a token to who wants it, with the same words for users, to compare with.

Reading order: raymond (a fixed tree), naimi_trehel (a tree that changes with every request). In both the token rests
where it was used last and moves only on request, and every message must arrive: there are no hints.
"""

from solvent_lab.token_peers.naimi_trehel import NaimiTrehel
from solvent_lab.token_peers.raymond import Raymond

__all__ = ["NaimiTrehel", "Raymond"]
