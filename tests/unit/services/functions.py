"""Functions that the tests call as services, at the top of a module, so that worker processes find them."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from solvent.services import heartbeat

MAX_SECONDS = 200.0


def double(number: int) -> int:
    return 2 * number


def fail(text: str) -> None:
    raise ValueError(text)


def leave() -> None:
    sys.exit(3)


def interrupt() -> None:
    raise KeyboardInterrupt


def make_lock() -> Any:
    return threading.Lock()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(mark: str) -> str:
    """Die the first time, and answer after that."""
    if not Path(mark).exists():
        Path(mark).touch()
        die()
    return "alive"


def process_id() -> int:
    return os.getpid()


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def wait_for(mark: str) -> str:
    """Give signs of life until a file is there."""
    end = time.monotonic() + MAX_SECONDS
    while not Path(mark).exists() and time.monotonic() < end:
        heartbeat()
        time.sleep(0.01)
    return "done"


def note_and_sleep(mark: str, seconds: float) -> int:
    """Leave the process's number in a file, then sleep."""
    Path(mark).write_text(str(os.getpid()))
    time.sleep(seconds)
    return os.getpid()


class Decorated:
    """Stands in a module in the place of the function that it holds."""

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)


@Decorated
def hidden(number: int) -> int:
    return number + 1


NUMBER = 5
