"""Count how many lines of Python a call executes, so that tests of growth need no clock.

A busy machine changes how long something takes, not which lines it executes: the count is the same every time.
"""

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


def executed_lines(function: Callable[[], Any]) -> int:
    """Return how many lines `function` executes, in this thread and in those that it starts."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before, before_threads = sys.gettrace(), threading.gettrace()
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
        threading.settrace(before_threads)  # type: ignore[arg-type]  # `None` is what no tracing is.
    return count
