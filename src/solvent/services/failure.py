"""The failure of a call.

A failure has a kind, a cause in one line, and the end of the service's output, of limited length: a service that prints
a hundred megabytes must not fill the memory.

    FAILED     the service raised, exited with an error, or answered with one
    TIMEOUT    it took too long, or sent no heartbeat for too long
    CANCELLED  its result was no longer wanted
    LOST       its process or pool is gone; the call may or may not have had an effect
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr, replace

from solvent.errors import is_internal

if TYPE_CHECKING:
    from types import TracebackType

Kind: TypeAlias = Literal["FAILED", "TIMEOUT", "CANCELLED", "LOST"]

MAX_TEXT = 500
MAX_OUTPUT = 4_000
MAX_FRAMES = 20
MAX_LINE = 200


class Failure(msgspec.Struct, frozen=True):
    """Why a call has no result."""

    kind: Kind
    text: str
    output: str = ""
    attempts: int = 1
    #: The exception itself, where it was raised in this process.
    error: BaseException | None = None

    def __post_init__(self) -> None:
        """Escape lone surrogates: texts may contain names of files that are not UTF-8."""
        for name in ("text", "output"):
            said = getattr(self, name)
            if not said.isascii():
                force_setattr(self, name, legible(said))

    def after(self, printed: str) -> Failure:
        """Return it with what was printed before it."""
        return replace(self, output=tail(f"{printed.rstrip()}\n{self.output}".strip("\n"))) if printed else self


Done: TypeAlias = Callable[[Any, Failure | None, int], None]
"""Called with the outcome of a call: its value, or the failure, and the number of attempts."""


def legible(text: str) -> str:
    """Escape lone surrogates, which neither records nor terminals accept."""
    return text.encode(errors="backslashreplace").decode()


def one_line(text: str) -> str:
    """Return a text as one line of limited length."""
    line = " ".join(text[: 4 * MAX_TEXT].split())
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"


def tail(text: str, max_length: int = MAX_OUTPUT) -> str:
    """Return the end of a text."""
    return text if len(text) <= max_length else "…" + text[1 - max_length :]


def cause_of(error: BaseException) -> str:
    """Describe an exception in one line, as Python does: `ValueError: no such column`."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 -- an exception without a text must still be reported
        text = "(its text could not be made)"
    return one_line(f"{name}: {text}" if text else name)


def frames_of(trace: TracebackType | None) -> str:
    """List the frames of a traceback with their source lines, without those of Solvent; many are shortened."""
    frames = list[str]()
    left_out = 0
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_internal(code.co_filename):
            source = _source_line(code.co_filename, trace)
            frames.append(f'  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}{source}')
        if len(frames) > MAX_FRAMES:
            del frames[MAX_FRAMES // 2]
            left_out += 1
        trace = trace.tb_next
    if left_out:
        frames.insert(MAX_FRAMES // 2, f"  ... {left_out:,} more frames")
    return "\n".join(frames)


def _source_line(file: str, trace: TracebackType) -> str:
    """Return the line of a frame on a line of its own; nothing if there is no such file, or no memory to read it."""
    try:
        line = linecache.getline(file, trace.tb_lineno, trace.tb_frame.f_globals).strip()
    except Exception:  # noqa: BLE001 -- the loader of a user's module may raise anything
        return ""
    return f"\n    {line[:MAX_LINE]}" if line else ""


class Told(Exception):
    """A failure with a text of its own, reported without the exception's name and frames."""

    def __init__(self, text: str, output: str = "") -> None:
        super().__init__(text)
        self.output = output


def failure_of(error: BaseException) -> Failure:
    """Return the failure for an exception of a function, with the frames of the user's code."""
    if isinstance(error, Told):
        return Failure("FAILED", one_line(str(error)), tail(error.output), error=error.__cause__)
    cause = cause_of(error)
    where = frames_of(error.__traceback__)
    return Failure("FAILED", cause, tail(f"{where}\n{cause}") if where else "", error=error)


__all__ = ["Done", "Failure", "Kind", "Told", "cause_of", "failure_of", "frames_of", "one_line", "tail"]
