"""Questions of the playground, their limits, and the errors in answers.

An error or warning comes with the range of the text that it is about, in UTF-16 units, as JavaScript counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from solvent.errors import Misuse
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from solvent.errors import SolventError
    from solvent.lang.doubts import Doubt
    from solvent.source import Span

NAME = "program"
"""The name of the text in the editor."""
_HINTS = {"H501": "allow more reactions", "H502": "allow more seconds", "H503": "keep long data flat, in a solution"}

MAX_CHARACTERS = 50_000
"""The longest program: a person has typed it."""
MAX_BYTES = 4 * MAX_CHARACTERS + 20_000
"""The longest question."""
MAX_ABOUT = 2_000
MAX_REACTIONS = 1_000_000
MAX_SECONDS = 10.0
MAX_STATES = 20_000
MAX_MEMORY = 512 * 1024 * 1024
"""The memory of a process."""
MAX_ANSWER = 4_000_000
"""The largest answer, in bytes."""
MAX_STEPS = 500
"""The number of reactions that can be stepped through."""
MAX_MEMBERS = 60_000
"""The number of molecules that all these steps may show together."""
MAX_RECORDED = 20_000
"""The number of reactions recorded for `why` and `why-not`."""
MAX_DRAWN = 120
"""The number of states drawn."""
MAX_TEXT = 100_000
"""The longest text of a final solution."""
MAX_MOLECULE = 2_000
"""The longest text of a molecule."""
MAX_LISTED = 50
"""The number of errors, of final states, and of reactions between states."""

Reactions = Annotated[int, msgspec.Meta(ge=0, le=MAX_REACTIONS)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=MAX_SECONDS)]
States = Annotated[int, msgspec.Meta(ge=1, le=MAX_STATES)]
About = Annotated[str, msgspec.Meta(max_length=MAX_ABOUT)]
# The integers that JavaScript has exactly.
Seed = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question about one program."""

    ask: Literal["check", "format", "run", "explore", "why", "why-not"]
    program: str
    seed: Seed | None = None
    max_reactions: Reactions = 100_000
    max_seconds: Seconds = 5.0
    max_states: States = 2_000
    about: About = ""
    """The molecule, or the name of the rule, that the question is about."""


def read_question(data: bytes) -> Question:
    """Parse a question; raise `Misuse` if it is none, or exceeds a limit."""
    try:
        question = msgspec.json.decode(data, type=Question)
    except UNREADABLE as error:
        raise Misuse("H370", f"this is no question of the playground: {error}") from None
    if len(question.program) > MAX_CHARACTERS:
        said = f"a program of the playground has at most {MAX_CHARACTERS:,} characters; this one has"
        raise Misuse("H370", f"{said} {len(question.program):,}", hint="run it with `solvent run`")
    return question


def limits() -> dict[str, float]:
    """Return the limits that users meet."""
    return {
        "characters": MAX_CHARACTERS,
        "reactions": MAX_REACTIONS,
        "seconds": MAX_SECONDS,
        "states": MAX_STATES,
        "memory": MAX_MEMORY,
        "steps": MAX_STEPS,
        "drawn": MAX_DRAWN,
    }


def problem(code: str, message: str, hint: str = "") -> dict[str, Any]:
    """Return the fields of an error without a place in the text."""
    return {"kind": "error", "code": code, "message": message, "note": "", "hint": hint, "details": []}


def error_of(error: SolventError) -> dict[str, Any]:
    """Return the fields of an error, with the hints of the page in place of command line options."""
    found: dict[str, Any] = {
        **problem(error.code, error.message, _HINTS.get(error.code, error.hint)),
        "note": error.note,
        "details": list(error.details()),
    }
    # The molecule of a question is also a text, but not the one in the editor.
    if error.span is not None and error.span.source.name == NAME:
        found |= _place_of(error.span)
    return found


def warning_of(doubt: Doubt) -> dict[str, Any]:
    """Return the fields of a warning."""
    found = problem(doubt.code, doubt.message, doubt.hint) | {"kind": "warning"}
    return found | (_place_of(doubt.span) if doubt.span is not None else {})


def _place_of(span: Span) -> dict[str, int]:
    """Return a range of the text."""
    text = span.source.text
    start = units(text, span.start)
    return {"start": start, "end": start + units(span.text, len(span.text)), "line": span.line, "column": span.column}


def units(text: str, end: int) -> int:
    """Return the number of UTF-16 units before a character of a text."""
    return end if text.isascii() else len(text[:end].encode("utf-16-le", "surrogatepass")) // 2


__all__ = ["NAME", "Question", "error_of", "limits", "problem", "read_question", "units", "warning_of"]
