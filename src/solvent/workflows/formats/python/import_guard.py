"""Refuses runs that a file starts while Solvent imports it.

Worker processes import the files of the functions that they call. If such a file starts a run with worker processes,
those import the file in turn, and so on without end. `multiprocessing` has the same rule for the same reason.

The mark is a context variable: other threads, which may be running workflows, are not affected by an import. Python
does not hand it on to threads that the file starts, so `Thread.start` does.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem
from solvent.workflows.formats.python.builder import line_span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Thread

_ATTRIBUTE = "_solvent_import"


class _Import:
    """An import of a user's file, until it is over."""

    def __init__(self) -> None:
        self.is_over = False
        #: The run that a thread of the file was refused: the file itself may not notice.
        self.refused: WorkflowProblem | None = None


_IMPORT: ContextVar[_Import | None] = ContextVar("solvent_import", default=None)


@contextmanager
def importing() -> Iterator[None]:
    """Refuse runs for as long as this context lasts: it imports a user's file."""
    if _here()[0] is not None:
        yield
        return
    _mark_threads()
    one = _Import()
    mark = _IMPORT.set(one)
    try:
        yield
        if one.refused is not None:
            raise one.refused
    finally:
        one.is_over = True
        _IMPORT.reset(mark)


def refuse_run_while_importing() -> None:
    """Raise `WorkflowProblem` W190 if a run is about to start inside an import by Solvent."""
    one, place = _here()
    if one is None:
        return
    hint = 'put the call that starts the run under `if __name__ == "__main__":`'
    span = line_span(*place) if place is not None else None
    problem = WorkflowProblem("W190", "this file starts a run while Solvent imports it", span=span, hint=hint)
    if _IMPORT.get() is None:
        one.refused = problem
    raise problem


def _here() -> tuple[_Import | None, tuple[str, int] | None]:
    """Return the import that this thread belongs to, and the line of the file that is running."""
    from threading import current_thread

    one = _IMPORT.get()
    if one is None:
        one, place = getattr(current_thread(), _ATTRIBUTE, (None, None))
        return (None, None) if one is None or one.is_over else (one, place)
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return one, None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _mark_threads() -> None:
    """Let `Thread.start` mark threads that an import starts, once and for good: others may have replaced it since."""
    from threading import Thread

    if hasattr(Thread, _ATTRIBUTE):
        return
    start = Thread.start

    def start_marked(self: Thread, *args: Any, **kwargs: Any) -> None:
        here = _here()
        if here[0] is not None:
            setattr(self, _ATTRIBUTE, here)
        start(self, *args, **kwargs)

    setattr(Thread, _ATTRIBUTE, (None, None))
    Thread.start = start_marked  # type: ignore[method-assign]
