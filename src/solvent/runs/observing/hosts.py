"""Names under which a browser may ask a server of ours."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet


def is_own_name(host: str, names: AbstractSet[str]) -> bool:
    """Whether a `Host` header is an address, which no name server gives out, `localhost`, or one of the names."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in {"localhost", *map(str.lower, names)} if name else False
    return True


__all__ = ["is_own_name"]
