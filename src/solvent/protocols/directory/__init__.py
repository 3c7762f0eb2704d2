"""A directory of molecules by shape and ordered value, spread over the nodes by consistent hashing.

Reading order: `messages`, `keys`, `ring`, `shelf`, `slot`, `directory`, `invariants`.
"""

from solvent.protocols.directory.directory import Directory, DirectoryState, directory_node
from solvent.protocols.directory.messages import (
    EVERYTHING,
    Bounds,
    DirectoryMessage,
    Entry,
    Find,
    Found,
    Publish,
    Seen,
    Unwatch,
    Watch,
    bounds,
    entry,
)
from solvent.protocols.directory.ring import Ring

__all__ = [
    "EVERYTHING",
    "Bounds",
    "Directory",
    "DirectoryMessage",
    "DirectoryState",
    "Entry",
    "Find",
    "Found",
    "Publish",
    "Ring",
    "Seen",
    "Unwatch",
    "Watch",
    "bounds",
    "directory_node",
    "entry",
]
