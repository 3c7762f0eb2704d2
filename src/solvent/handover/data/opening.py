"""Opening files where a process may have too many of them: an error with a code, and what to do about it.

A resource that a process takes part in needs five files of it: the card and the bytes, each open and mapped, and the
draft. Nothing else tells a user that the limit of a process has to do with the number of resources.
"""

from __future__ import annotations

import errno
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from solvent.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_T = TypeVar("_T")
_PAUSE_SECONDS = 0.02


@contextmanager
def opening() -> Iterator[None]:
    """Raise `Misuse` in place of the `OSError` that no more files can be opened; leave all other errors as they are."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        hint = "a resource needs five: have fewer handles at a time, or allow more files (`ulimit -n`)"
        raise Misuse("D107", "too many files are open in this process, or on this host", hint=hint) from error


def when_files_can_be_opened(what: Callable[[], _T], *, until: float) -> _T | None:
    """Do something, again and again while too many files are open, until some moment; give nothing if it is in vain."""
    while True:
        try:
            return what()
        except Misuse as misuse:
            if misuse.code != "D107":
                raise
        if time.monotonic() > until:
            return None
        time.sleep(_PAUSE_SECONDS)


__all__ = ["opening", "when_files_can_be_opened"]
