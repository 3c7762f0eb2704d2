"""What is secret in an address stays out of sight: of the list of processes, of what is printed, of other programs.

A command's words can be read by everybody on the machine. A command that was given an address with a password starts
itself once more at once, with the address in its environment, which only its user can read.
"""

from __future__ import annotations

import os
import re
import sys

VARIABLE = "SOLVENT_SPACE"
_SECRET = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^/?#\s]*@")
_OPTION = "--space"
_HANDED_ON = "SOLVENT_HANDED_ON"
"""Has the address for a moment, while a command starts itself anew."""


def redacted(text: str) -> str:
    """Give a text, an address or one that has some, without what is secret in it."""
    return _SECRET.sub(r"\g<scheme>***@", text)


def has_secret(text: str) -> bool:
    """Whether an address says who is let in."""
    return _SECRET.search(text) is not None


def hide(arguments: list[str]) -> list[str]:
    """Start the command anew, without the secret, if its words have one; and then give it the words as they were."""
    given = os.environ.pop(_HANDED_ON, "")
    if given:
        return [word.replace(redacted(given), given) for word in arguments]
    found = _space(arguments)
    if not has_secret(found):
        return arguments
    sys.stdout.flush()
    sys.stderr.flush()
    # Without `-P` modules of the current folder would be found before ours.
    words = [sys.executable, "-P", "-m", "solvent", *(word.replace(found, redacted(found)) for word in arguments)]
    os.execve(sys.executable, words, {**os.environ, _HANDED_ON: found})  # noqa: S606 - ourselves


def _space(arguments: list[str]) -> str:
    """Give the address of the space that a command's words have."""
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


__all__ = ["VARIABLE", "has_secret", "hide", "redacted", "shown"]
