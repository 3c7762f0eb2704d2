"""Work of coroutines that is done in a thread, and that nobody has to wait for.

The threads of asyncio's own are waited for at the end of `asyncio.run`, however long they take. These are not.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")


def in_background(what: Callable[[], object], name: str) -> None:
    """Do something in a thread of its own."""
    threading.Thread(target=what, name=name, daemon=True).start()


def in_thread(work: Callable[[], _T], name: str) -> asyncio.Future[_T]:
    """Do something in a thread of its own; what is given is done when that is."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def tell(result: _T | None, fault: BaseException | None) -> None:
        if done.done():
            return
        if fault is not None:
            done.set_exception(fault)
            # Who waited may be gone.
            done.exception()
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result = fault = None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            fault = error
        # The loop may be over, since nobody waits any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell, result, fault)

    in_background(run, name)
    return done


__all__ = ["in_background", "in_thread"]
