"""Several viewers follow one source, each at its own pace."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from solvent.store import open_store
from solvent.web import channel as channels
from solvent.web.channel import Channel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from solvent.store import Store

MAX_SECONDS = 200.0


class Counter:
    """A source that counts the records of a log, and how often it was made."""

    scopes = ("log",)
    pause_seconds = 0.01
    made = 0

    def __init__(self, store: Store) -> None:
        Counter.made += 1
        self._store = store
        self._after = 0
        self.count = 0
        self.looks = 0

    def look(self) -> list[dict[str, Any]]:
        """Read what was appended since."""
        self.looks += 1
        found = self._store.read("log", self._after)
        if found:
            self._after = found[-1].position
        numbers = range(self.count, self.count + len(found))
        self.count += len(found)
        return [{"number": number} for number in numbers]

    def snapshot(self) -> dict[str, Any]:
        """Say how many there are."""
        return {"count": self.count}


class Viewer:
    """Reads what a channel tells."""

    def __init__(self, channel: Channel, last: str = "") -> None:
        self.stopping = asyncio.Event()
        self._told: AsyncIterator[bytes] = channel.listen(last, self.stopping)
        self.last = last

    async def next(self) -> tuple[str, Any]:
        """Wait for the next event."""
        while True:
            said = await asyncio.wait_for(anext(self._told), MAX_SECONDS)
            fields = dict(
                line.split(": ", 1) for line in said.decode().splitlines() if not line.startswith(":") and line
            )
            if "data" in fields:
                self.last = fields.get("id", self.last)
                return fields["event"], msgspec.json.decode(fields["data"])

    async def numbers(self, until: int) -> list[int]:
        """Read up to a number."""
        found: list[int] = []
        while not found or found[-1] < until:
            kind, data = await self.next()
            assert kind == "news"
            found += [one["number"] for one in data]
        return found

    async def leave(self) -> None:
        """Listen no more."""
        await self._told.aclose()  # type: ignore[attr-defined]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """Give an empty store."""
    with open_store(str(tmp_path / "store.db"), is_durable=False) as found:
        yield found


def append(store: Store, count: int) -> None:
    """Append records."""
    for _ in range(count):
        store.append("log", b"x")


def test_viewers_share_one_source(store: Store) -> None:
    """However many listen, the store is followed once, and all hear the same."""

    async def listen() -> None:
        before = Counter.made
        channel = Channel(lambda: store, lambda: Counter(store))
        viewers = [Viewer(channel) for _ in range(20)]
        assert {(await one.next())[1]["count"] for one in viewers} == {0}
        append(store, 5)
        assert [await one.numbers(4) for one in viewers] == [[0, 1, 2, 3, 4]] * 20
        assert Counter.made == before + 1
        channel.close()

    asyncio.run(listen())


@pytest.mark.parametrize("last", ["nonsense", "00000000.5", "WORD.-1", "WORD.99999999999", "WORD.²"])
def test_who_knows_something_else_hears_all(store: Store, last: str) -> None:
    """A number of another server, or none at all, gives everything anew."""

    async def listen() -> None:
        append(store, 1)
        channel = Channel(lambda: store, lambda: Counter(store))
        first = Viewer(channel)
        await first.next()
        word = first.last.partition(".")[0]
        assert (await Viewer(channel, last.replace("WORD", word)).next())[0] == "all"
        channel.close()

    asyncio.run(listen())


def test_a_slow_viewer_holds_up_nobody(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not read costs nothing; when it reads again and is far behind it hears all at once."""
    monkeypatch.setattr(channels, "MAX_KEPT", 50)

    async def listen() -> None:
        channel = Channel(lambda: store, lambda: Counter(store))
        quick, slow = Viewer(channel), Viewer(channel)
        assert [await quick.next(), await slow.next()] == [("all", {"count": 0})] * 2
        heard: list[int] = []
        for part in range(4):
            append(store, 40)
            heard += await quick.numbers(40 * part + 39)
        assert heard == [*range(160)]
        assert len(channel._kept) <= 50
        assert await slow.next() == ("all", {"count": 160})
        channel.close()

    asyncio.run(listen())


def test_nobody_is_followed_for_nobody(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the last viewer has left, the thread ends after a while."""
    monkeypatch.setattr(channels, "LOOK_SECONDS", 0.01)

    async def listen() -> None:
        channel = Channel(lambda: store, lambda: Counter(store))
        viewer = Viewer(channel)
        await viewer.next()
        monkeypatch.setattr(channels, "LINGER_SECONDS", 0.0)
        await viewer.leave()
        until = asyncio.get_running_loop().time() + MAX_SECONDS
        while not channel.is_over:
            assert asyncio.get_running_loop().time() < until
            await asyncio.sleep(0.01)

    asyncio.run(listen())
    assert not any(one.name == "solvent-channel" and one.is_alive() for one in threading.enumerate())


def test_a_server_that_ends_does_not_wait_for_viewers(store: Store) -> None:
    """When it is time to end, who listens is let go."""

    async def listen() -> None:
        channel = Channel(lambda: store, lambda: Counter(store))
        viewer = Viewer(channel)
        await viewer.next()
        waiting = asyncio.ensure_future(viewer.next())
        await asyncio.sleep(0)
        viewer.stopping.set()
        with pytest.raises(StopAsyncIteration):
            await waiting
        channel.close()

    asyncio.run(listen())
