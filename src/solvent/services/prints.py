"""What functions print: it goes where it went, and its end is noted with the call that printed it.

`sys.stdout` and `sys.stderr` are wrapped while `noting_prints` is open. A write is noted for the call whose function
makes it (`CURRENT`), if the run is recorded. Of what a call prints, the last 4,000 characters are kept. Threads that a
function starts have no current call, and bytes that are written to `sys.stdout.buffer` are not seen.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from solvent.services.current_call import CURRENT
from solvent.services.failure import tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NAMES = ("stdout", "stderr")


class NotingStream:
    """A text stream that notes what calls write."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, and note it for the current call."""
        job = CURRENT.get()
        if job is not None and job.identity is not None:
            job.printed = tail(job.printed + text)
        written: int = self._stream.write(text)
        return written

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_lock = threading.Lock()
_wrapped: dict[str, tuple[Any, NotingStream]] = {}
_users = 0


@contextmanager
def noting_prints() -> Iterator[None]:
    """Note what calls of recorded runs print, in this process, while the context is open."""
    global _users  # noqa: PLW0603 - as many runs as there are share the streams of the process
    with _lock:
        _users += 1
        if _users == 1:
            for name in _NAMES:
                stream = getattr(sys, name)
                if stream is not None:
                    _wrapped[name] = stream, NotingStream(stream)
                    setattr(sys, name, _wrapped[name][1])
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                for name, (stream, noting) in _wrapped.items():
                    # Somebody may have replaced it meanwhile, who puts back what it was.
                    if getattr(sys, name) is noting:
                        setattr(sys, name, stream)
                _wrapped.clear()


__all__ = ["NotingStream", "noting_prints"]
