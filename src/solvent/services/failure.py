"""What comes back from a call that did not succeed.

A failure has a kind, a cause in one line, and the end of what the service had to say, cut to a bound: a service
that prints a hundred megabytes must not fill the memory of those who only want to know why it failed.

    FAILED     the service raised, exited with an error, or answered with one
    TIMEOUT    it took too long, or gave no sign of life for too long
    CANCELLED  nobody wanted the result any more
    LOST       whatever ran it is gone (a killed worker process, a broken pool); it may or may not have happened
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

if TYPE_CHECKING:
    from types import TracebackType

Kind: TypeAlias = Literal["FAILED", "TIMEOUT", "CANCELLED", "LOST"]

MAX_TEXT = 500
MAX_OUTPUT = 4_000
MAX_FRAMES = 20


class Failure(msgspec.Struct, frozen=True):
    """Why a call has no result."""

    kind: Kind
    text: str
    output: str = ""
    attempts: int = 1

    def __post_init__(self) -> None:
        """Make texts legible: they may have names of files that are no UTF-8."""
        for name in ("text", "output"):
            said = getattr(self, name)
            if not said.isascii():
                force_setattr(self, name, legible(said))


Done: TypeAlias = Callable[[Any, Failure | None, int], None]
"""What is told the outcome of a call: its value, or the failure, and the number of attempts."""


def legible(text: str) -> str:
    """Write half characters (lone surrogates) as what they are: no record and no terminal takes them."""
    return text.encode(errors="backslashreplace").decode()


def one_line(text: str) -> str:
    """Put a text into one line of bounded length."""
    line = " ".join(text[: 4 * MAX_TEXT].split())
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"


def tail(text: str, max_length: int = MAX_OUTPUT) -> str:
    """Keep the end of a text."""
    return text if len(text) <= max_length else "…" + text[1 - max_length :]


def cause_of(error: BaseException) -> str:
    """Name an exception in one line, as Python does: `ValueError: no such column`."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 -- an exception whose text cannot be made is still to be reported
        text = "(its text could not be made)"
    return one_line(f"{name}: {text}" if text else name)


def frames_of(trace: TracebackType | None) -> str:
    """List where an exception came through, without source lines: these would have to be read from disk."""
    lines = list[str]()
    while trace is not None:
        code = trace.tb_frame.f_code
        lines.append(f'  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}')
        if len(lines) > MAX_FRAMES:
            del lines[MAX_FRAMES // 2]
        trace = trace.tb_next
    return "\n".join(lines)


class Told(Exception):
    """A failure that a function of ours has words for: neither the exception's name nor its frames say more."""

    def __init__(self, text: str, output: str = "") -> None:
        super().__init__(text)
        self.output = output


def failure_of(error: BaseException) -> Failure:
    """Make a failure of what a function raised; the first frame is ours and says nothing."""
    if isinstance(error, Told):
        return Failure("FAILED", one_line(str(error)), tail(error.output))
    trace = error.__traceback__
    inner = trace.tb_next if trace is not None else None
    cause = cause_of(error)
    where = frames_of(inner)
    return Failure("FAILED", cause, tail(f"{where}\n{cause}") if where else "")


__all__ = ["Done", "Failure", "Kind", "Told", "cause_of", "failure_of", "frames_of", "one_line", "tail"]
