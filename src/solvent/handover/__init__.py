"""Spaces: processes that come and go hand data over to each other, each piece under a lock of its own.

Reading order: `place` (what is given), `contents` (what is handed over), `words` (what processes say of data); `peers`,
`node`; `data` (a package: memory, and its way between hosts); `filling`, `keeping`, `copying` (the data on this host,
and on others); `admission`, `resource` (its lock); `claiming`, `handle`, `space` (what users have); `threads`,
`trouble`.
"""

from solvent.handover.claiming import Mode
from solvent.handover.handle import BlockingHandle, Handle
from solvent.handover.resource import HandleState
from solvent.handover.space import BlockingSpace, Opening, Space, join

__all__ = ["BlockingHandle", "BlockingSpace", "Handle", "HandleState", "Mode", "Opening", "Space", "join"]
