"""Where a process of a space is and whom it knows, read from what people write."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse, NodeProblem
from solvent.live import address_from_text

if TYPE_CHECKING:
    from os import PathLike

    from solvent.live import Address

_ANY = ("127.0.0.1", 0)
_EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - told apart, not listened at
NAME_CHARACTERS_MAX = 200
PATIENCE_MIN = 0.02


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
    address: str | None,
    secret: bytes | str,
    patience: Any,
    folder: str | PathLike[str] | None,
    keep: bool,
) -> SpacePlace:
    """Read and check what is given."""
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARACTERS_MAX:
        raise Misuse("S101", f"the name of a space is text of 1 to {NAME_CHARACTERS_MAX} characters")
    if not isinstance(patience, (int, float)) or not math.isfinite(patience) or patience < PATIENCE_MIN:
        raise Misuse("S101", f"{patience!r} is no patience", hint=f"give seconds, at least {PATIENCE_MIN}")
    here = _ANY if listen is None else _address(listen)
    if not address and here[0] in _EVERYWHERE:
        message = f"a process that listens everywhere ({here[0] or '*'}:{here[1]}) must say where others find it"
        raise NodeProblem("N106", message, hint="give `address` too: the name of this host, as others know it")
    return SpacePlace(
        name=name,
        listen=here,
        outside=address or "",
        contacts=_contacts(join),
        secret=secret.encode() if isinstance(secret, str) else secret,
        patience=float(patience),
        folder=None if folder is None else Path(folder),
        is_keeping=keep,
    )


def _address(given: Any) -> Address:
    if isinstance(given, str):
        return address_from_text(given)
    match given:
        case (str(host), int(port)) if 0 <= port < 65_536:
            return host, port
    raise NodeProblem("N104", f"{given!r} is no address", hint="write HOST:PORT, as in 127.0.0.1:7000")


def _contacts(given: Any) -> tuple[Address, ...]:
    if given is None:
        return ()
    if isinstance(given, list) or (isinstance(given, tuple) and not (len(given) == 2 and isinstance(given[1], int))):
        return tuple(_address(one) for one in given)
    return (_address(given),)


__all__ = ["SpacePlace", "place_from"]
