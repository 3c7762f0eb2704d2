"""What is secret in an address stays out of sight: of the list of processes, of what is printed, of other programs.

A command's words can be read by everybody on the machine. A command that was given an address with a password starts
itself once more at once, with the address in its environment, which only its user can read.
"""

from __future__ import annotations

import os
import re
import sys

VARIABLE = "SOLVENT_STORE"
SECRET_VARIABLE = "SOLVENT_SECRET"  # noqa: S105 - a name, no secret
# The scheme is not asked for: looking for its beginning would take quadratic time in a long word.
_SECRET = re.compile(r"://[^/?#\s]*@")
_OPTION = "--store"
_HANDED_ON = "SOLVENT_HANDED_ON"
"""Has the address for a moment, while a command starts itself anew."""


def redacted(text: str) -> str:
    """Give a text, an address or one that has some, without what is secret in it."""
    return _SECRET.sub("://***@", text)


def has_secret(text: str) -> bool:
    """Whether an address says who is let in."""
    return _SECRET.search(text) is not None


def hide(arguments: list[str]) -> list[str]:
    """Start the command anew, without the secret, if its words have one; and then give it the words as they were."""
    given = os.environ.pop(_HANDED_ON, "")
    if given:
        return [word.replace(redacted(given), given) for word in arguments]
    found = _store(arguments)
    if not has_secret(found):
        return arguments
    sys.stdout.flush()
    sys.stderr.flush()
    # Without `-P` modules of the current folder would be found before ours.
    words = [sys.executable, "-P", "-m", "solvent", *(word.replace(found, redacted(found)) for word in arguments)]
    os.execve(sys.executable, words, {**os.environ, _HANDED_ON: found})  # noqa: S606 - ourselves


def _store(arguments: list[str]) -> str:
    """Give the address of the store that a command's words have."""
    found, words = "", iter(arguments)
    for word in words:
        if word == _OPTION:
            found = next(words, "")
        elif word.startswith(f"{_OPTION}="):
            found = word.removeprefix(f"{_OPTION}=")
    return found


def shown(text: str) -> str:
    """Give a text that others have written without signs that would change the terminal, or a secret."""
    plain = "".join(one if one.isprintable() else "\ufffd" for one in text)
    return redacted(plain)


def secret_from(path: str | None) -> bytes | None:
    """Read the secret; it is never an argument, since everybody on a machine can read those."""
    if path is None:
        return os.environ.get(SECRET_VARIABLE, "").encode() or None
    from pathlib import Path

    from solvent.errors import NodeProblem

    try:
        secret = Path(path).read_bytes().strip()
    except OSError as error:
        raise NodeProblem("N120", f"cannot read the secret in {path}: {error.strerror or error}") from error
    if not secret:
        raise NodeProblem("N120", f"{path} is empty: that is no secret")
    return secret


__all__ = ["SECRET_VARIABLE", "VARIABLE", "has_secret", "hide", "redacted", "secret_from", "shown"]
