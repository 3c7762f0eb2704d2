"""A NATS server that keeps a store: killed, stopped, started again, full, set otherwise."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from solvent.store import Append, Store, StoreError, open_store
from solvent.store.server import Plan, Server, free_port, server_program
from tests.live.store_servers import server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_SECONDS = 200.0


@pytest.fixture(scope="module")
def one() -> Iterator[Server]:
    with server() as started:
        yield started


def _ask(store: Any, subject: str, **question: Any) -> Any:
    return json.loads(store._link.run(store._link.ask(subject, json.dumps(question).encode())).data)


class _Writer:
    """Appends and keeps what was acknowledged, until it is told to stop."""

    def __init__(self, store: Store, log: str) -> None:
        self._store, self._log = store, log
        self._is_over = False
        self.acknowledged = list[int]()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        last = 0
        while not self._is_over:
            last = self._store.append(self._log, str(len(self.acknowledged)).encode(), expected=last)
            self.acknowledged.append(last)

    def goes_on(self) -> None:
        """Wait until more is acknowledged."""
        before, until = len(self.acknowledged), time.monotonic() + MAX_SECONDS
        while len(self.acknowledged) < before + 5:
            assert time.monotonic() < until
            time.sleep(0.01)

    def stop(self) -> list[int]:
        self._is_over = True
        self._thread.join(MAX_SECONDS)
        return self.acknowledged


def test_a_server_is_killed_and_started_again(one: Server) -> None:
    """All that was acknowledged is there, once; clients come back by themselves, and watches still tell."""
    with open_store(one.url) as store, open_store(one.url) as other, other.watch(["killed/"]) as watch:
        writer = _Writer(store, "killed/log")
        revision = store.put("killed/key", b"value")
        blob = store.put_blob(b"blob" * 100_000)
        for _ in range(2):
            writer.goes_on()
            one.kill()
            time.sleep(0.1)
            one.start()
            writer.goes_on()
        positions = writer.stop()
        records = other.read("killed/log", limit=100_000)
        assert [record.position for record in records] == positions
        assert [int(record.data) for record in records] == list(range(len(records)))
        assert other.keys("killed/")["killed/key"] == (revision, b"value")
        assert other.get_blob(blob) == b"blob" * 100_000
        while watch.wait(0.2):
            pass
        store.append("killed/more", b"")
        assert watch.wait(MAX_SECONDS)


def test_a_server_that_is_stopped_is_waited_for(one: Server) -> None:
    """A server that does not run for a while loses nothing, and nothing is appended twice."""
    with open_store(one.url) as store:
        writer = _Writer(store, "stopped")
        writer.goes_on()
        one.send(signal.SIGSTOP)
        time.sleep(0.5)
        one.send(signal.SIGCONT)
        writer.goes_on()
        positions = writer.stop()
        assert [record.position for record in store.read("stopped", limit=100_000)] == positions


def test_time_in_which_a_process_does_not_run_does_not_count(one: Server) -> None:
    """A process that is stopped for longer than its patience while it waits does not give up afterwards."""
    with open_store(one.url, patience=1.0) as store:
        one.send(signal.SIGSTOP)
        said = list[Any]()

        def append() -> None:
            try:
                said.append(store.append("halted", b""))
            except StoreError as error:
                said.append(error.code)

        thread = threading.Thread(target=append)
        thread.start()
        time.sleep(0.2)
        # What SIGSTOP does to all of a process.
        store._link._loop.call_soon_threadsafe(time.sleep, 2.5)  # type: ignore[attr-defined]
        time.sleep(2.4)
        one.send(signal.SIGCONT)
        thread.join(MAX_SECONDS)
        assert said == [store.last("halted")]


@pytest.mark.parametrize("is_durable", [False, True])
def test_whether_it_is_on_disk_is_chosen(tmp_path: Path, *, is_durable: bool) -> None:
    """The server's default brings things to the disk every two minutes; a durable one does so before it answers."""
    port, plan = free_port(), Plan(folder=tmp_path, port=free_port(), is_durable=is_durable)
    file = tmp_path / "conf"
    file.write_text(f"{plan.configuration()}\nhttp: 127.0.0.1:{port}\n")
    with subprocess.Popen([server_program(), "-c", str(file)], stderr=subprocess.DEVNULL) as process:
        try:
            with open_store(Server(plan).url) as store:
                assert store.is_durable == is_durable
            with open_store(f"nats://127.0.0.1:{plan.port}") as again:
                assert again.is_durable == is_durable
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/jsz") as answer:
                config = json.load(answer)["config"]
        finally:
            process.kill()
    assert config.get("sync_always", False) is is_durable
    assert is_durable or config["sync_interval"] == 120_000_000_000


def test_a_record_beyond_what_the_server_takes_is_refused() -> None:
    """The limit is the server's, as it is told; blobs are divided."""
    with server(max_payload_bytes=10_000) as small, open_store(small.url) as store:
        assert store.max_record_bytes == 10_000 - 1024
        store.append("log", bytes(store.max_record_bytes))
        for work in (lambda: store.append("log", bytes(9_000)), lambda: store.put("key", bytes(9_000))):
            with pytest.raises(StoreError, match=r"E405.*8,976"):
                work()
        assert store.get_blob(store.put_blob(bytes(50_000))) == bytes(50_000)
        assert [len(record.data) for record in store.read("log")] == [store.max_record_bytes]


def test_a_server_whose_limit_has_shrunk_says_so(tmp_path: Path) -> None:
    """A record that fitted before the server was started again is refused, not sent for ever."""
    with Server(Plan(folder=tmp_path)) as large, open_store(large.url, patience=20) as store:
        large.stop()
        shrunk = Server(Plan(folder=tmp_path, port=large.plan.port, max_payload_bytes=5_000))
        with shrunk:
            store.append("log", b"small")
            with pytest.raises(StoreError, match="E405"):
                store.append("log", bytes(9_000))


def _fill(store: Store) -> None:
    for _ in range(100):
        store.append("log", bytes(50_000))


def test_a_full_server_says_so() -> None:
    """Where there is no more room, E403; what was there stays."""
    with server(max_store_bytes=1 << 20) as small, open_store(small.url) as store:
        kept = store.append("log", b"kept")
        with pytest.raises(StoreError, match="E403"):
            _fill(store)
        assert store.read("log", limit=1)[0].position == kept


def test_replicas_need_a_cluster(one: Server) -> None:
    """One server cannot keep three copies, and a store has as many as it was made with."""
    with pytest.raises(StoreError, match=r"E401.*cluster"):
        open_store(f"{one.url}/three?replicas=3")
    with open_store(f"{one.url}/single"), pytest.raises(StoreError, match=r"E401.*1 replicas, not 3"):
        open_store(f"{one.url}/single?replicas=3")


def test_what_is_not_ours_is_left_alone(one: Server) -> None:
    """A stream of that name which is not a store's, or of another format, is refused."""
    with open_store(one.url) as store:
        for name, metadata in (("theirs", {}), ("later", {"solvent.format": "99"})):
            config = {"name": f"{name}-records", "subjects": [f"{name}.log.>"], "metadata": metadata}
            assert "error" not in _ask(store, f"$JS.API.STREAM.CREATE.{name}-records", **config)
    with pytest.raises(StoreError, match="E401"):
        open_store(f"{one.url}/theirs")
    with pytest.raises(StoreError, match="E407"):
        open_store(f"{one.url}/later")


def test_stores_of_other_names_are_apart(one: Server) -> None:
    """Two stores of one server share nothing."""
    with open_store(f"{one.url}/first") as first, open_store(f"{one.url}/second") as second:
        first.append("log", b"")
        first.put("key", b"")
        assert second.read("") == []
        assert second.keys("") == {}


def test_a_server_without_jetstream_is_of_no_use(tmp_path: Path) -> None:
    """A server that keeps nothing is refused."""
    port = free_port()
    with subprocess.Popen([server_program(), "-a", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL) as process:
        try:
            with pytest.raises(StoreError, match=r"E401.*JetStream"):
                open_store(f"nats://127.0.0.1:{port}")
        finally:
            process.kill()


def test_a_folder_is_for_one_server(tmp_path: Path) -> None:
    """A second server in the same folder is refused, and so is a port that is taken."""
    with Server(Plan(folder=tmp_path / "a")) as first:
        configuration = (tmp_path / "a" / "server.conf").read_text()
        with pytest.raises(StoreError, match=r"E401.*process \d+ keeps its data"):
            Server(Plan(folder=tmp_path / "a")).start()
        assert (tmp_path / "a" / "server.conf").read_text() == configuration
        with pytest.raises(StoreError, match="E401"):
            Server(Plan(folder=tmp_path / "b", port=first.plan.port)).start()


def test_other_tools_read_keys_and_blobs(one: Server) -> None:
    """Keys are a key-value bucket, and blobs an object store, as NATS' own clients know them."""
    import asyncio

    import nats

    async def read(name: str) -> tuple[bytes | None, bytes | None]:
        client = await nats.connect(one.url)
        stream = client.jetstream()
        value = await (await stream.key_value("layout-keys")).get("a.b/c")
        data = (await (await stream.object_store("layout-blobs")).get(name)).data
        await client.close()
        return value.value, data

    with open_store(f"{one.url}/layout") as store:
        store.put("a/b.c", b"value")
        name = store.put_blob(b"xyz" * 200_000)
    assert asyncio.run(read(name)) == (b"value", b"xyz" * 200_000)


def test_a_damaged_blob_is_found_out(one: Server) -> None:
    """A blob of which a part is gone raises E406, and so does one whose bytes are others."""
    with open_store(f"{one.url}/damaged") as store:
        name = store.put_blob(bytes(range(256)) * 3000)
        stream = "OBJ_damaged-blobs"
        assert _ask(store, f"$JS.API.STREAM.MSG.DELETE.{stream}", seq=2)["success"]
        with pytest.raises(StoreError, match=r"E406.*damaged"):
            store.get_blob(name)


def test_threads_put_the_same_blob(one: Server) -> None:
    """Of several that put a blob at once all succeed, and its chunks are there once."""
    data = bytes(range(256)) * 4000
    with open_store(f"{one.url}/together") as store:
        names = list[str]()
        threads = [threading.Thread(target=lambda: names.append(store.put_blob(data))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(names) == 4
        assert store.get_blob(names[0]) == data
        state = _ask(store, "$JS.API.STREAM.INFO.OBJ_together-blobs")["state"]
        assert state["messages"] == 1 + -(-len(data) // (256 << 10))


def test_ten_thousand_records_are_read_fast(one: Server) -> None:
    """Reading asks in batches: page after page of many logs, each record once and in order."""
    with open_store(f"{one.url}/many") as store:
        appends = [Append(f"log{number % 50}", str(number).encode()) for number in range(10_000)]
        positions = store.append_all(appends)
        assert positions == sorted(set(positions))
        seen, after, asked = 0, 0, store._link._numbers  # type: ignore[attr-defined]
        while page := store.read("", after, 2500):
            assert [int(record.data) for record in page] == list(range(seen, seen + len(page)))
            seen, after = seen + len(page), page[-1].position
        assert seen == 10_000
        # Ten thousand questions would be slow on any machine.
        assert store._link._numbers - asked < 40  # type: ignore[attr-defined]


def test_a_server_that_has_lost_its_folder_is_told(tmp_path: Path) -> None:
    """Whoever has the store open hears that it is gone for good, and what to do; no other store is made instead."""
    with Server(Plan(folder=tmp_path / "a")) as first, open_store(first.url) as store:
        store.put("gone/key", b"")
        first.stop()
        with Server(Plan(folder=tmp_path / "b", port=first.plan.port)):
            with pytest.raises(StoreError, match="the store is gone") as caught:
                store.get("gone/key")
            error = caught.value
            assert (error.code, error.exit_code, error.is_lasting) == ("E409", 1, True)
            assert "its former folder" in error.hint
