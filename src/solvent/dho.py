"""Data handover by the names of the paper, for who knows those; each is a call of a handle of `solvent.shared`.

    import solvent
    from solvent.dho import *

    with solvent.shared.join("run") as space:
        a = dho_create(space, "matrix", size=50 * 2**20)
        for _ in range(100):
            dho_ew_request(a)
            ...                       # T_Wblocked: whatever can be done meanwhile
            dho_test(a)
            view = dho_ew_acquire(a)
            view[0] = 1               # T_Locked
            dho_ew_release(a)
        dho_destroy(a)

Calls out of order do what the paper says: see docs/how-to/handover.md. After `dho_destroy` all are ignored, also
`dho_ew_acquire`, which gives nothing then, until `dho_create(a)` makes the handle valid again.

After S. L. Hernane, J. Gustedt and M. Benyettou, "Data handover on a peer-to-peer system" (Inria, RR-8690, 2015),
section 6 and Listing 2.
"""

from __future__ import annotations

from typing import Any, overload

from solvent.errors import Misuse
from solvent.handover import BlockingHandle, BlockingSpace, HandleState


@overload
def dho_create(space: BlockingHandle) -> BlockingHandle: ...


@overload
def dho_create(space: BlockingSpace, name: str, **contents: Any) -> BlockingHandle: ...


def dho_create(space: BlockingSpace | BlockingHandle, name: str | None = None, **contents: Any) -> BlockingHandle:
    """Take part in a resource, and give a handle of it; or make a handle valid again: `BlockingHandle.create`."""
    if isinstance(space, BlockingHandle):
        return space.create()
    if name is None:
        raise Misuse("S102", "a resource has a name", hint='as in `dho_create(space, "matrix", size=1024)`')
    return space.handle(name, **contents).create()


def dho_ew_request(handle: BlockingHandle) -> None:
    """Claim it exclusively, to write: `BlockingHandle.request`."""
    handle.request("write")


def dho_test(handle: BlockingHandle) -> HandleState:
    """Return how far it is: `grant` when to acquire it takes no time; `BlockingHandle.state`."""
    return handle.state


def dho_ew_acquire(handle: BlockingHandle, timeout: float | None = None) -> memoryview | None:
    """Wait for it, and give its bytes; nothing of a handle that is not valid: `BlockingHandle.acquire`."""
    return None if handle.state is HandleState.INVALID else handle.acquire(timeout=timeout)


def dho_ew_release(handle: BlockingHandle) -> None:
    """Let the next one have it: `BlockingHandle.release`."""
    handle.release()


def dho_destroy(handle: BlockingHandle) -> None:
    """Take part no longer: `BlockingHandle.destroy`."""
    handle.destroy()


__all__ = ["dho_create", "dho_destroy", "dho_ew_acquire", "dho_ew_release", "dho_ew_request", "dho_test"]
