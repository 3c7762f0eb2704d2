"""Runs machines without an event loop, for the shortest way from one process to another: whoever waits works.

Reading order: `host` (what it is like to use); `threads` (who works when) and `attached` (an event loop does); `steps`
(the machine and its effects); `board` (all connections), `way` (to a node), `caller` (from a node), `places`
(addresses), `clock`, `bell`, `shield` (Ctrl-C).
"""

from solvent.net.direct.host import DirectApplication, DirectHost

__all__ = ["DirectApplication", "DirectHost"]
