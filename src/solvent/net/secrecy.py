"""Who may join processes that name no secret: those of the same user, on this machine.

Each user has a secret, made by chance, in the folder that only this user can enter (`net.private_folder`):

    solvent-UID/secret

Processes that listen on this machine only and are given no secret use it. Any local user can reach their port, and is
refused there: it does not know the secret. Beyond this machine a secret must be given, or the word that none is wanted.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from solvent.errors import Misuse
from solvent.net.private_folder import default_base, private

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Secret: TypeAlias = bytes | str | Literal[False] | None
"""A secret as programs give it: `None` for that of this user, `False` where anybody may join."""
_BYTES = 32


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def secret_from(given: Any, hosts: Iterable[str]) -> bytes:
    """Return the secret of a process that listens, or looks for others, at these hosts; empty for none."""
    if given is None:
        elsewhere = next((host for host in hosts if not is_loopback(host)), None)
        if elsewhere is None:
            return own_secret()
        hint = "give all processes the same `secret`, or `secret=False` to let in anybody who can reach them"
        raise Misuse("S210", f"`{elsewhere or '*'}` is not only this machine, and no secret is given", hint=hint)
    if given is False:
        return b""
    if not isinstance(given, (bytes, str)):
        raise Misuse("S101", f"a secret is bytes or text, not a `{type(given).__name__}`")
    try:
        secret = given.encode() if isinstance(given, str) else given
    except UnicodeEncodeError:
        raise Misuse("S101", "a secret is text that UTF-8 can say", hint="give bytes") from None
    if not secret:
        hint = "leave it out to use the secret of this user, or give `secret=False` to let in anybody"
        raise Misuse("S101", "the secret is empty", hint=hint)
    return secret


def own_secret() -> bytes:
    """Return the secret of this user on this machine; it is made by the first that asks."""
    base = default_base()
    private(base, is_base=True)
    path = base / "secret"
    found = _read(path)
    if found is None:
        made = base / f"secret.{secrets.token_hex(8)}"
        file = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(file, "wb") as writing:
                writing.write(secrets.token_bytes(_BYTES))
            # Of several that make one at the same time the first counts, and nobody sees half of it.
            with suppress(FileExistsError):
                os.link(made, path)
        finally:
            made.unlink()
        found = _read(path)
    if found is None or len(found) != _BYTES:
        hint = f"remove {path} when no process of yours uses Solvent, or give a `secret`"
        raise Misuse("S211", f"{path} is no secret of this user", hint=hint)
    return found


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


__all__ = ["Secret", "is_loopback", "own_secret", "secret_from"]
