"""A process of the playground: one question in, one answer out, within limits of the system.

    python -m solvent.web.playground.process < question.json > answer.json

The limits of memory and files are set before anything is read, that of processor time with the question. Where a
system has no such limits (Windows), the sandbox ends the process by the clock alone.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import msgspec

from solvent.errors import Misuse
from solvent.web.playground.answers import answer
from solvent.web.playground.question import MAX_ANSWER, MAX_BYTES, MAX_MEMORY, error_of, problem, read_question

READY = b"\n"
"""Written when the process has started; JSON may begin with it."""
_MAX_FILES = 32
_NICENESS = 5


def main() -> None:
    """Answer one question, if there is one, and exit."""
    _limit("AS", MAX_MEMORY)
    _limit("FSIZE", 0)
    _limit("CORE", 0)
    _limit("NOFILE", _MAX_FILES)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if data:
        sys.stdout.buffer.write(_answered(data))
        sys.stdout.buffer.flush()
    # Deallocating a large solution would take long.
    os._exit(0)


def _answered(data: bytes) -> bytes:
    try:
        question = read_question(data)
        _limit("CPU", int(question.max_seconds) + 2)
        found = msgspec.json.encode(answer(question))
    except Misuse as error:
        return msgspec.json.encode({"problems": [error_of(error)]})
    except MemoryError:
        return _stopped("H505", f"this needs more than {MAX_MEMORY // 2**20} MB of memory")
    except RecursionError:
        return _stopped("H503", "something is nested too deeply to go on", "keep long data flat, in a solution")
    if len(found) > MAX_ANSWER:
        return _stopped("H371", f"the answer has {len(found):,} bytes: more than a page shows", "try it with less data")
    return found


def _stopped(code: str, message: str, hint: str = "") -> bytes:
    return msgspec.json.encode({"problems": [problem(code, message, hint)]})


def _limit(name: str, amount: int) -> None:
    """Set a limit of the system, if it has that one; never raise one."""
    if sys.platform == "win32":
        return
    import resource

    which = getattr(resource, f"RLIMIT_{name}", None)
    if which is None:
        return
    _, hard = resource.getrlimit(which)
    # Some systems name a limit and refuse to set it (memory on macOS).
    with suppress(ValueError, OSError):
        resource.setrlimit(which, (amount if hard == resource.RLIM_INFINITY else min(amount, hard), hard))


if __name__ == "__main__":
    main()
