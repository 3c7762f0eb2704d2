"""Whoever reads several logs of a store, each time from where it was, misses nothing that is appended meanwhile."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.live.store_backends import BACK_ENDS, fresh_store

if TYPE_CHECKING:
    from solvent.store import Store

LOGS = ("a/one", "a/two", "a/three", "a/four")
RECORDS = 150


@pytest.mark.parametrize("scope", [LOGS, "a/"], ids=["names", "below"])
@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_reader_misses_nothing(back_end: str, scope: str | tuple[str, ...]) -> None:
    """A record that comes while others are read is not passed over for one behind it."""
    with fresh_store(back_end) as fresh, fresh.open() as store:
        _read_while_others_write(store, scope)


def _read_while_others_write(store: Store, scope: str | tuple[str, ...]) -> None:
    def write(log: str) -> None:
        for number in range(RECORDS):
            store.append(log, f"{log} {number}".encode())

    writers = [threading.Thread(target=write, args=(log,)) for log in LOGS]
    for writer in writers:
        writer.start()
    seen, after = list[bytes](), 0
    while any(writer.is_alive() for writer in writers) or len(seen) < RECORDS * len(LOGS):
        found = store.read(scope, after)
        seen += [one.data for one in found]
        after = found[-1].position if found else after
        if not found and not any(writer.is_alive() for writer in writers) and not store.read(scope, after):
            break
    for writer in writers:
        writer.join()
    for log in LOGS:
        assert [one for one in seen if one.startswith(f"{log} ".encode())] == [
            f"{log} {number}".encode() for number in range(RECORDS)
        ]
