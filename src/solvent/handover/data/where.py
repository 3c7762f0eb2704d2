"""Where a version of a resource is: the small message by which big data is handed over.

Whoever is on the same host attaches to the memory by its name; everybody else asks at the address, and shows the token
and the secret of the run. It is carried by whoever passes the right to write.
"""

from __future__ import annotations

from solvent.protocols.machine import Value


class Where(Value, frozen=True, gc=False):
    """Where a version of a resource is, and all that one must know to get it."""

    resource: str
    version: int
    size: int
    #: The memory that has it: a boot of a system, and a folder in it.
    host: str
    #: The name of the files, and which of those that had this name.
    segment: str
    birth: int
    #: `HOST:PORT` of a process that hands it to other hosts; empty where none does.
    address: str = ""
    #: What to show there, beside the run's secret.
    token: bytes = b""
    #: What the bytes are, and whether the last version is kept, wherever the resource is.
    form: str = ""
    keep_last: bool = False
    #: How many hosts are to have a version before others get it.
    copies: int = 1

    def __repr__(self) -> str:
        # Without the token: what is shown may end up in a log.
        return f"Where(resource={self.resource!r}, version={self.version}, size={self.size}, address={self.address!r})"


__all__ = ["Where"]
