"""Secrets in addresses are kept out of the list of processes, of output and of other programs.

Every user of a machine can read the arguments of a process. A command that gets an address with a password starts
itself anew as soon as its arguments are parsed, with the address in its environment, which only its user can read.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLE = "SOLVENT_STORE"
SECRET_VARIABLE = "SOLVENT_SECRET"  # noqa: S105 - a name, no secret
# The scheme is not asked for: looking for its beginning would take quadratic time in a long word.
_SECRET = re.compile(r"://[^/?#\s]*@")
_HANDED_ON = "SOLVENT_HANDED_ON"
"""Holds the address while a command starts itself anew."""


def redacted(text: str) -> str:
    """Return a text without the secrets of the addresses in it."""
    return _SECRET.sub("://***@", text)


def has_secret(text: str) -> bool:
    """Return whether an address has credentials."""
    return _SECRET.search(text) is not None


def restored(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command as they were before `hide` started it anew."""
    given = os.environ.pop(_HANDED_ON, "")
    return [word.replace(redacted(given), given) for word in arguments] if given else list(arguments)


def hide(url: str) -> None:
    """Start the process anew without the secret, if its arguments show an address that has one."""
    if not has_secret(url) or not any(url in word for word in sys.argv):
        return
    sys.stdout.flush()
    sys.stderr.flush()
    # Without `-P` modules of the current folder would be found before ours.
    words = [sys.executable, "-P", "-m", "solvent", *(word.replace(url, redacted(url)) for word in sys.argv[1:])]
    os.execve(sys.executable, words, {**os.environ, _HANDED_ON: url})  # noqa: S606 - ourselves


def shown(text: str) -> str:
    """Return a text of others without secrets and without characters that would change the terminal."""
    plain = "".join(one if one.isprintable() else "\ufffd" for one in text)
    return redacted(plain)


def secret_from(path: str | None) -> bytes | None:
    """Read the secret; it is never an argument, since every user of a machine can read those."""
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
