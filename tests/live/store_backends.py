"""Which back ends of stores are tested: files always, servers where a server can be started."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tests.live.fresh_stores import Fresh, fresh_file

if TYPE_CHECKING:
    from collections.abc import Iterator

HAS_SERVERS = find_spec("tests.live.store_servers") is not None
BACK_ENDS = ("sqlite", "nats") if HAS_SERVERS else ("sqlite",)


@contextmanager
def fresh_store(back_end: str) -> Iterator[Fresh]:
    """Make a store of a back end."""
    if back_end == "sqlite":
        with fresh_file() as fresh:
            yield fresh
        return
    from tests.live.store_servers import served

    with served() as url:
        fresh = Fresh(url)
        try:
            yield fresh
        finally:
            fresh.close()
