"""Ctrl-C while a command starts.

Python raises `KeyboardInterrupt` wherever the main thread is. Inside an import that can be lost: Python ignores what a
callback of its import system raises, and the command goes on, perhaps with the lock of all imports held. So as long as
a command only imports Solvent, Ctrl-C ends the process at once. After that Python raises it as usual; one that
Python ignored is sent again, and one that a user's file caught is remembered until the run begins.

This module imports little, because Ctrl-C shows a traceback until `end_at_once` has been called.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

_AGAIN_SECONDS = 0.01


class _State:
    ends_at_once = False
    is_interrupted = False


def end_at_once(code: int, words: Sequence[str]) -> None:
    """Let Ctrl-C end the process with this code until `begin` is called; `words` are the arguments of the command."""
    # A process in the background of a shell ignores Ctrl-C, and is left so.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        try:
            if code:
                os.write(2, b'{"note": {"message": "interrupted"}}\n' if asks_for_json(words) else b"interrupted\n")
        finally:
            os._exit(code)

    signal.signal(signal.SIGINT, end)
    _State.ends_at_once = True
    show = sys.unraisablehook

    def send_again(ignored: sys.UnraisableHookArgs) -> None:
        if ignored.exc_type is KeyboardInterrupt:
            _send_again()
        else:
            show(ignored)

    sys.unraisablehook = send_again


def asks_for_json(words: Sequence[str]) -> bool:
    """Return whether arguments, perhaps wrong ones, ask for output as JSON: then errors are JSON, too."""
    return "--format=json" in words or ("--format", "json") in zip(words, words[1:], strict=False)  # noqa: RUF007 - spares an import


def begin(*, remembers: bool = False) -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` from now on: something begins that must end in order.

    With `remembers`, `raise_if_interrupted` raises it once more in case a user's module has caught it.
    """
    if _State.ends_at_once:
        _State.ends_at_once = False
        signal.signal(signal.SIGINT, _remember if remembers else signal.default_int_handler)


def raise_if_interrupted() -> None:
    """Raise the Ctrl-C that came since `begin`."""
    if _State.is_interrupted:
        raise KeyboardInterrupt


def _remember(number: int, frame: FrameType | None) -> None:
    _State.is_interrupted = True
    signal.default_int_handler(number, frame)


def _send_again() -> None:
    """Interrupt this process a moment later, when the main thread has left the place where that is ignored."""
    import _thread
    import time

    def send() -> None:
        time.sleep(_AGAIN_SECONDS)
        os.kill(os.getpid(), signal.SIGINT)

    _thread.start_new_thread(send, ())
