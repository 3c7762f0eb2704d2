"""Where a process of a space is and whom it knows, read from what people write."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse, NodeProblem
from solvent.net import address_from, addresses_from
from solvent.net.secrecy import secret_from

if TYPE_CHECKING:
    from solvent.net import Address

_ANY = ("127.0.0.1", 0)
_EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - told apart, not listened at
MAX_NAME_CHARACTERS = 200
MIN_PATIENCE = 0.02


@dataclass(frozen=True, kw_only=True)
class SpacePlace:
    """Where a process is, whom it knows and how long it waits for others."""

    name: str
    #: Where it listens, and what others are told instead, if that is another host's name.
    listen: Address
    outside: str
    #: Where to find a process of the space, on other hosts.
    contacts: tuple[Address, ...]
    secret: bytes = field(repr=False)
    #: In seconds.
    patience: float
    #: The folder that the processes of this host share; none: the usual one.
    folder: Path | None
    #: Whether data outlives the last process.
    is_keeping: bool


def place_from(
    name: Any,
    *,
    join: str | Address | tuple[str, ...] | list[str] | None,
    listen: str | Address | None,
    address: Any,
    secret: Any,
    patience: Any,
    folder: Any,
    keep: bool,
) -> SpacePlace:
    """Read and check what is given."""
    if not is_name(name, MAX_NAME_CHARACTERS):
        raise Misuse("S101", f"the name of a space is text of 1 to {MAX_NAME_CHARACTERS} characters, not {name!r:.50}")
    if not isinstance(patience, (int, float)) or not math.isfinite(patience) or patience < MIN_PATIENCE:
        raise Misuse("S101", f"{patience!r} is no patience", hint=f"give seconds, at least {MIN_PATIENCE}")
    if folder is not None and not isinstance(folder, (str, os.PathLike)):
        raise Misuse("S101", f"{folder!r} is no folder", hint="give a path")
    if address is not None and (not isinstance(address, str) or not _is_text(address) or len(address.split()) > 1):
        raise NodeProblem("N104", f"{address!r} is no name of a host", hint='as in `address="node7.example.org"`')
    here = _ANY if listen is None else address_from(listen)
    if not address and here[0] in _EVERYWHERE:
        message = f"a process that listens everywhere ({here[0] or '*'}:{here[1]}) must say where others find it"
        raise NodeProblem("N106", message, hint="give `address` too: the name of this host, as others know it")
    outside, contacts = (address or "").strip(), addresses_from(join)
    hosts = [host for host, _ in (here, *contacts)] + ([outside] if outside else [])
    return SpacePlace(
        name=name,
        listen=here,
        outside=outside,
        contacts=contacts,
        secret=secret_from(secret, hosts),
        patience=float(patience),
        folder=None if folder is None else Path(folder),
        is_keeping=keep,
    )


def is_name(given: Any, max_characters: int) -> bool:
    """Tell whether something can be a name that others are told."""
    return isinstance(given, str) and 0 < len(given) <= max_characters and _is_text(given)


def _is_text(given: str | bytes) -> bool:
    """Tell whether it can be said in UTF-8: half of a character, as in some names of files, cannot."""
    try:
        return isinstance(given, bytes) or bool(given.encode() or True)
    except UnicodeEncodeError:
        return False


__all__ = ["SpacePlace", "is_name", "place_from"]
