"""Where a node of a ring is, whom it knows and what it keeps, read from what people write."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse, NodeProblem
from solvent.net import address_from, addresses_from, peers_from_text
from solvent.net.secrecy import secret_from
from solvent.protocols.machine import NodeId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.net import Address
    from solvent.net.secrecy import Secret

_ANY = ("127.0.0.1", 0)
_EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - told apart, not listened at
_MAX_NODES = 2**31
MIN_PATIENCE = 0.02


@dataclass(frozen=True, kw_only=True)
class RingPlace:
    """Where a node is, whom it knows and what it keeps."""

    node: NodeId
    #: Where it listens, and where others find it; None: where it listens.
    listen: Address
    address: Address | None
    #: The first members, this node among them; empty: it joins.
    members: Mapping[NodeId, Address]
    #: Where to find a member, for a node that joins.
    contacts: tuple[Address, ...]
    journal: Path | None
    fsync: bool
    secret: bytes = field(repr=False)
    #: In seconds.
    patience: float
    name: str
    kept: int


def place_from(
    *,
    node: int | None,
    listen: str | Address | None,
    address: str | Address | None,
    peers: Mapping[int, str | Address] | str | None,
    join: str | Address | tuple[str, ...] | list[str] | None,
    journal: str | Path | None,
    fsync: bool,
    secret: Secret,
    patience: float,
    name: str,
    kept: int,
) -> RingPlace:
    """Read and check what is given."""
    contacts = addresses_from(join)
    known = _peers(peers)
    if contacts and known:
        hint = "first members know each other by `peers`; all others join one of them"
        raise Misuse("P340", "a node is one of the first members, or joins", hint=hint)
    if node is None:
        # A newcomer need not know which numbers are taken.
        node = secrets.randbelow(_MAX_NODES - 1_000) + 1_000 if contacts else 0
    me = _number(node)
    own = known.get(me)
    if known and own is None:
        hint = f"add `{me}=HOST:PORT`, the same at all of them; or let it join: `join=` the address of one"
        raise Misuse("P340", f"node {me} is not among the first members in `peers`", hint=hint)
    here = address_from(listen) if listen is not None else own or _ANY
    outside = address_from(address) if address is not None else own
    if outside is None and here[0] in _EVERYWHERE:
        message = f"a node that listens everywhere ({here[0] or '*'}:{here[1]}) must say where others find it"
        raise NodeProblem("N106", message, hint="give `address` too, such as 10.0.0.5:7000")
    _check(patience=patience, kept=kept, name=name)
    if not contacts:
        known[me] = outside or here
    hosts = [host for host, _ in (here, *contacts, *known.values())]
    return RingPlace(
        node=me,
        listen=here,
        address=outside,
        members=known,
        contacts=contacts,
        journal=_journal(journal, me),
        fsync=fsync,
        secret=secret_from(secret, hosts if outside is None else [*hosts, outside[0]]),
        patience=float(patience),
        name=name,
        kept=kept,
    )


def _check(*, patience: Any, kept: Any, name: Any) -> None:
    if not isinstance(patience, (int, float)) or not math.isfinite(patience) or patience < MIN_PATIENCE:
        raise Misuse("P340", f"{patience!r} is no patience", hint=f"give seconds, at least {MIN_PATIENCE}")
    if not isinstance(kept, int) or isinstance(kept, bool) or kept < 0:
        raise Misuse("P340", f"{kept!r} is no number of messages to keep")
    if not isinstance(name, str):
        raise Misuse("P340", "the name of a ring is text")


def _peers(given: Any) -> dict[NodeId, Address]:
    if given is None:
        return {}
    if isinstance(given, str):
        return peers_from_text(given)
    try:
        items = list(given.items())
    except AttributeError:
        hint = 'give a mapping, such as {0: "127.0.0.1:7000", 1: "127.0.0.1:7001"}'
        raise Misuse("P340", "`peers` says who is where", hint=hint) from None
    return {_number(node): address_from(where) for node, where in items}


def _number(given: Any) -> NodeId:
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < _MAX_NODES:
        raise Misuse("P340", f"{given!r} is no number of a node", hint="nodes are numbered from 0")
    return NodeId(given)


def _journal(given: str | Path | None, node: NodeId) -> Path | None:
    if given is None:
        return None
    path = Path(given)
    return path / f"ring-{node}.journal" if path.is_dir() or str(given).endswith("/") else path


__all__ = ["MIN_PATIENCE", "RingPlace", "place_from"]
