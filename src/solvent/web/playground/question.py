"""What may be asked of the playground, and how much of everything there may be."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from solvent.errors import Misuse
from solvent.values.limits import UNREADABLE

MAX_CHARACTERS = 50_000
"""How long a program may be: a person has typed it."""
MAX_BYTES = 4 * MAX_CHARACTERS + 20_000
"""How long a question may be."""
MAX_ABOUT = 2_000
MAX_REACTIONS = 1_000_000
MAX_SECONDS = 10.0
MAX_STATES = 20_000
MAX_MEMORY = 512 * 1024 * 1024
"""How much memory a process may ask for."""
MAX_ANSWER = 4_000_000
"""How many bytes an answer may have."""
MAX_MOMENTS = 500
"""How many reactions can be gone through one by one."""
MAX_MEMBERS = 60_000
"""How many molecules all these moments may show together."""
MAX_RECORDED = 20_000
"""How many reactions are recorded when it is asked why."""
MAX_DRAWN = 120
"""How many states are drawn."""
MAX_TEXT = 100_000
"""How much of a final solution is given."""
MAX_MOLECULE = 2_000
"""How much of one molecule is."""
MAX_LISTED = 50
"""How many errors, final states, and reactions between states are told."""

Reactions = Annotated[int, msgspec.Meta(ge=0, le=MAX_REACTIONS)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=MAX_SECONDS)]
States = Annotated[int, msgspec.Meta(ge=1, le=MAX_STATES)]
About = Annotated[str, msgspec.Meta(max_length=MAX_ABOUT)]
# What a page can say exactly.
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
    """The molecule, or the name of the rule, that is asked about."""


def read_question(data: bytes) -> Question:
    """Read a question; what is none, or asks for more than there may be, is refused."""
    try:
        question = msgspec.json.decode(data, type=Question)
    except UNREADABLE as error:
        raise Misuse("H370", f"this is no question of the playground: {error}") from None
    if len(question.program) > MAX_CHARACTERS:
        said = f"a program of the playground has at most {MAX_CHARACTERS:,} characters; this one has"
        raise Misuse("H370", f"{said} {len(question.program):,}", hint="run it with `solvent run`")
    return question


def limits() -> dict[str, float]:
    """Give the limits that people meet."""
    return {
        "characters": MAX_CHARACTERS,
        "reactions": MAX_REACTIONS,
        "seconds": MAX_SECONDS,
        "states": MAX_STATES,
        "memory": MAX_MEMORY,
        "moments": MAX_MOMENTS,
        "drawn": MAX_DRAWN,
    }


__all__ = ["Question", "limits", "read_question"]
