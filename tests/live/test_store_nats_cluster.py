"""Three NATS servers that keep a store: any one may be lost, also the leader, and nothing that was acknowledged is."""

from __future__ import annotations

import json
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from solvent.store import Append, Conflict, open_store
from tests.live.fresh_stores import fresh_part
from tests.live.store_servers import cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.store.cluster import Cluster
    from solvent.store import Store
    from solvent.store.server import Server

MAX_SECONDS = 200.0


@pytest.fixture(scope="module")
def three() -> Iterator[Cluster]:
    with cluster() as started:
        yield started


@pytest.fixture
def part() -> str:
    return fresh_part()


def _info(store: Any) -> Any:
    return json.loads(store._link.run(store._link.ask("$JS.API.STREAM.INFO.solvent-records")).data)


def _leader(store: Store, three: Cluster) -> Server:
    """Give the server that leads the stream of records."""
    until = time.monotonic() + MAX_SECONDS
    while True:
        name = _info(store).get("cluster", {}).get("leader")
        if name:
            return next(server for server in three.servers if server.plan.name == name)
        assert time.monotonic() < until
        time.sleep(0.05)


def _until_whole(store: Store) -> None:
    """Wait until all three have everything."""
    until = time.monotonic() + MAX_SECONDS
    while True:
        found = _info(store).get("cluster", {})
        if found.get("leader") and all(one["current"] for one in found["replicas"]):
            return
        assert time.monotonic() < until
        time.sleep(0.05)


class _Writers:
    """Threads that append, some alone and some in batches, and keep what was acknowledged."""

    def __init__(self, store: Store, part: str) -> None:
        self._store, self._part = store, part
        self._is_over = False
        self.acknowledged: list[list[int]] = [[], [], []]
        self._threads = [threading.Thread(target=self._work, args=(n,), daemon=True) for n in range(3)]
        for thread in self._threads:
            thread.start()

    def _work(self, number: int) -> None:
        own, last = self.acknowledged[number], 0
        while not self._is_over:
            log, data = f"{self._part}/{number}", str(len(own)).encode()
            if number == 2:
                # A log of its own with a fence, and one that all share.
                last, _ = self._store.append_all([Append(log, data, last), Append(f"{self._part}/shared", data)])
            else:
                last = self._store.append(log, data, expected=last if number else None)
            own.append(last)

    def go_on(self) -> None:
        """Wait until each has got on."""
        before, until = [len(own) for own in self.acknowledged], time.monotonic() + MAX_SECONDS
        while any(len(own) < count + 3 for own, count in zip(self.acknowledged, before, strict=True)):
            assert time.monotonic() < until
            time.sleep(0.01)

    def check(self) -> None:
        """Stop, and compare what is there with what was acknowledged."""
        self._is_over = True
        for thread in self._threads:
            thread.join(MAX_SECONDS)
        for number, own in enumerate(self.acknowledged):
            records = self._store.read(f"{self._part}/{number}", limit=1_000_000)
            assert [record.position for record in records] == own
            assert [int(record.data) for record in records] == list(range(len(own)))
        shared = self._store.read(f"{self._part}/shared", limit=1_000_000)
        assert [int(record.data) for record in shared] == list(range(len(self.acknowledged[2])))


def test_the_leader_is_killed_and_then_another(three: Cluster, part: str) -> None:
    """Appends go on after an election; all that was acknowledged is there once; watches still tell; nodes come back."""
    with open_store(three.url) as store, open_store(three.url) as other, other.watch([f"{part}/key"]) as watch:
        _until_whole(store)
        writers = _Writers(store, part)
        blob = store.put_blob(bytes(range(256)) * 4000)
        for is_leader in (True, False):
            writers.go_on()
            leader = _leader(store, three)
            victim = leader if is_leader else next(one for one in three.servers if one is not leader)
            victim.kill()
            writers.go_on()
            victim.start()
            _until_whole(store)
        writers.go_on()
        writers.check()
        assert other.get_blob(blob) == bytes(range(256)) * 4000
        while watch.wait(0.2):
            pass
        store.put(f"{part}/key", b"")
        assert watch.wait(MAX_SECONDS)


def test_without_a_majority_nothing_is_acknowledged(three: Cluster, part: str) -> None:
    """Two of three are away: an append waits, and is done when one is back."""
    with open_store(three.url, patience=60) as store:
        _until_whole(store)
        first = store.append(part, b"first")
        victims = three.servers[:2]
        for victim in victims:
            victim.kill()
        said = list[int]()
        thread = threading.Thread(target=lambda: said.append(store.append(part, b"second", expected=first)))
        thread.start()
        thread.join(1.0)
        assert said == []
        for victim in victims:
            victim.start()
        thread.join(MAX_SECONDS)
        assert [record.data for record in store.read(part)] == [b"first", b"second"]
        assert said == [store.last(part)]
        _until_whole(store)


def test_what_one_has_appended_another_reads_at_once(three: Cluster, part: str) -> None:
    """Whichever server answers, a read has everything that was acknowledged before."""
    urls = [f"nats://127.0.0.1:{server.plan.port}" for server in three.servers]
    with open_store(three.url) as store, open_store(urls[0]) as near, open_store(urls[1]) as far:
        assert store.replicas == near.replicas == 3  # type: ignore[attr-defined]
        for count in range(1, 101):
            position = store.append(part, b"")
            revision = store.put(part, b"")
            for reader in (near, far):
                assert [len(records := reader.read(part)), records[-1].position] == [count, position]
                assert reader.keys("")[part].revision == revision


def test_a_server_that_lags_hides_nothing(three: Cluster, part: str) -> None:
    """A server that was stopped answers a read before it has caught up; the read has everything all the same."""
    with open_store(three.url) as store:
        _until_whole(store)
        leader = _leader(store, three)
        follower = next(one for one in three.servers if one is not leader)
        with (
            open_store(f"nats://127.0.0.1:{leader.plan.port}") as writer,
            open_store(f"nats://127.0.0.1:{follower.plan.port}") as reader,
        ):
            for count in range(1, 6):
                log = f"{part}/{count}"
                follower.send(signal.SIGSTOP)
                try:
                    positions = writer.append_all([Append(log, bytes(20_000))] * 390)
                    said = list[list[int]]()
                    thread = threading.Thread(
                        target=lambda log=log, said=said: said.append([one.position for one in reader.read(log)])
                    )
                    thread.start()
                    time.sleep(0.05)
                finally:
                    follower.send(signal.SIGCONT)
                thread.join(MAX_SECONDS)
                assert said == [positions]


def test_a_batch_with_a_late_record_appends_nothing(three: Cluster, part: str) -> None:
    """Replicated, too, a batch is all or nothing, and its records lie side by side."""
    with open_store(three.url) as store:
        last = store.append(f"{part}/a", b"0")
        with pytest.raises(Conflict):
            store.append_all([Append(f"{part}/b", b"1"), Append(f"{part}/a", b"2", 0)])
        positions = store.append_all([Append(f"{part}/b", b"1"), Append(f"{part}/a", b"2", last)])
        assert positions == [record.position for record in store.read(f"{part}/", last)]
