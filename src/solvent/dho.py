"""Data handover by the names of the paper: each function is a call of a handle of `solvent.shared`.

>>> import os
>>> from solvent import shared
>>> from solvent.dho import *
>>> with shared.join(f"example-{os.getpid()}") as space:
...     matrix = dho_create(space, "matrix", size=1024)
...     for _ in range(3):
...         dho_ew_request(matrix)
...         view = dho_ew_acquire(matrix)  # T_Wblocked until it is there; then T_Locked
...         view[0] += 1
...         dho_ew_release(matrix)
...     dho_destroy(matrix)

Calls out of order do what the paper says. After `dho_destroy` all are ignored, until `dho_create(handle)` makes the
handle valid again; `dho_ew_acquire` returns nothing then.

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
    """Take part in a resource and return a handle of it, or make a handle valid again.

    `contents` are the arguments of `BlockingSpace.handle`, such as `size=1024`.

    Raises `Misuse` (S102) without a name, or for contents that are wrong.

    >>> import os
    >>> from solvent import shared
    >>> from solvent.dho import dho_create, dho_destroy
    >>> with shared.join(f"example-{os.getpid()}") as space:
    ...     matrix = dho_create(space, "matrix", size=1024)
    ...     dho_destroy(matrix)
    ...     str(dho_create(matrix).state)
    'valid'
    """
    if isinstance(space, BlockingHandle):
        return space.create()
    if name is None:
        raise Misuse("S102", "a resource has a name", hint='as in `dho_create(space, "matrix", size=1024)`')
    return space.handle(name, **contents).create()


def dho_ew_request(handle: BlockingHandle) -> None:
    """Claim the resource for writing and return at once: `BlockingHandle.request`.

    Raises `Misuse` (S106) if another thread uses the handle, `SpaceProblem` if this process is no longer part.

    >>> import os
    >>> from solvent import shared
    >>> from solvent.dho import dho_create, dho_ew_request, dho_test
    >>> with shared.join(f"example-{os.getpid()}") as space:
    ...     matrix = dho_create(space, "matrix", size=1024)
    ...     dho_ew_request(matrix)
    ...     str(dho_test(matrix)) in ("req", "fetch", "grant")
    True
    """
    handle.request("write")


def dho_test(handle: BlockingHandle) -> HandleState:
    """Return how far the handle is: `BlockingHandle.state`. With `grant`, `dho_ew_acquire` takes no time.

    Raises nothing.

    >>> import os
    >>> from solvent import shared
    >>> from solvent.dho import dho_create, dho_test
    >>> with shared.join(f"example-{os.getpid()}") as space:
    ...     str(dho_test(dho_create(space, "matrix", size=1024)))
    'valid'
    """
    return handle.state


def dho_ew_acquire(handle: BlockingHandle, timeout: float | None = None) -> memoryview | None:
    """Wait for the resource and return its bytes, or `None` if the handle is not valid: `BlockingHandle.acquire`.

    Raises `TimeoutError` after `timeout` seconds, and all else that `BlockingHandle.acquire` raises.

    >>> import os
    >>> from solvent import shared
    >>> from solvent.dho import dho_create, dho_ew_acquire
    >>> with shared.join(f"example-{os.getpid()}") as space:
    ...     len(dho_ew_acquire(dho_create(space, "matrix", size=1024), timeout=10))
    1024
    """
    return None if handle.state is HandleState.INVALID else handle.acquire(timeout=timeout)


def dho_ew_release(handle: BlockingHandle) -> None:
    """Let the next process have the resource: `BlockingHandle.release`.

    Raises `SpaceProblem` if this process is no longer part, `DataProblem` if the data cannot be kept.

    >>> import os
    >>> from solvent import shared
    >>> from solvent.dho import dho_create, dho_ew_acquire, dho_ew_release, dho_test
    >>> with shared.join(f"example-{os.getpid()}") as space:
    ...     matrix = dho_create(space, "matrix", size=1024)
    ...     view = dho_ew_acquire(matrix)
    ...     dho_ew_release(matrix)
    ...     str(dho_test(matrix))
    'valid'
    """
    handle.release()


def dho_destroy(handle: BlockingHandle) -> None:
    """Take part no longer: `BlockingHandle.destroy`.

    Raises `DataProblem` if what is held cannot be kept.

    >>> import os
    >>> from solvent import shared
    >>> from solvent.dho import dho_create, dho_destroy, dho_test
    >>> with shared.join(f"example-{os.getpid()}") as space:
    ...     matrix = dho_create(space, "matrix", size=1024)
    ...     dho_destroy(matrix)
    ...     str(dho_test(matrix))
    'invalid'
    """
    handle.destroy()


__all__ = ["dho_create", "dho_destroy", "dho_ew_acquire", "dho_ew_release", "dho_ew_request", "dho_test"]
