"""What is known to go wrong between a JetStream server and its clients, each with a real server."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from solvent.store import (
    Append,
    Conflict,
    Store,
    StoreError,
    nats,
    nats_link,
    nats_streams,
    open_store,
)
from tests.live.fresh_stores import fresh_part
from tests.live.store_proxy import Proxy
from tests.live.store_servers import server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.store.server import Server

MAX_SECONDS = 200.0


@pytest.fixture(scope="module")
def one() -> Iterator[Server]:
    with server() as started:
        yield started


@pytest.fixture
def proxy(one: Server) -> Iterator[Proxy]:
    with Proxy(one.plan.port) as between:
        yield between


@pytest.fixture
def far(proxy: Proxy) -> Iterator[Store]:
    """Give the store through the proxy."""
    with open_store(proxy.url) as store:
        yield store


@pytest.fixture
def near(one: Server) -> Iterator[Store]:
    with open_store(one.url) as store:
        yield store


@pytest.fixture
def part() -> str:
    return fresh_part()


def ask(store: Any, subject: str, **question: Any) -> Any:
    """Ask the server something that a store does not ask."""
    return json.loads(store._link.run(store._link.ask(subject, json.dumps(question).encode())).data)


def _meanwhile(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Do something in another thread, which says what came out."""
    said = list[Any]()

    def life() -> None:
        try:
            said.append(work())
        except StoreError as error:
            said.append(error)

    thread = threading.Thread(target=life, daemon=True)
    thread.start()
    return thread, said


@contextmanager
def _forgetting(store: Any) -> Iterator[None]:
    """Have the server forget the ids of messages at once, as it does after some minutes."""
    stream = "solvent-records"
    config = ask(store, f"$JS.API.STREAM.INFO.{stream}")["config"]
    assert "error" not in ask(store, f"$JS.API.STREAM.UPDATE.{stream}", **config | {"duplicate_window": 100_000_000})
    try:
        yield
    finally:
        assert "error" not in ask(store, f"$JS.API.STREAM.UPDATE.{stream}", **config)


def _until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + MAX_SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("is_forgotten", [False, True])
@pytest.mark.parametrize("is_overtaken", [False, True])
def test_an_append_whose_answer_is_lost_is_known_again(
    proxy: Proxy, far: Store, near: Store, part: str, *, is_forgotten: bool, is_overtaken: bool
) -> None:
    """Sent again, it is a "wrong last sequence" to the server; yet it is ours, also when somebody has gone on."""
    first = far.append(part, b"first", expected=0)
    with _forgetting(near) if is_forgotten else nullcontext():
        proxy.swallows_answers = True
        thread, said = _meanwhile(lambda: far.append(part, b"second", expected=first))
        _until(lambda: near.last(part) > first)
        second = near.last(part)
        if is_overtaken:
            near.append(part, b"third", expected=second)
        time.sleep(0.3 if is_forgotten else 0)
        proxy.swallows_answers = False
        proxy.cut()
        thread.join(MAX_SECONDS)
    assert said == [second]
    assert [record.data for record in near.read(part)] == [b"first", b"second", b"third"][: 3 if is_overtaken else 2]


def test_a_late_append_is_refused_although_its_answer_was_lost(
    proxy: Proxy, far: Store, near: Store, part: str
) -> None:
    """Who was overtaken before the append arrived hears of the conflict, and has appended nothing."""
    first = far.append(part, b"first", expected=0)
    second = near.append(part, b"second", expected=first)
    proxy.swallows_answers = True
    thread, said = _meanwhile(lambda: far.append(part, b"late", expected=first))
    time.sleep(0.1)
    proxy.swallows_answers = False
    proxy.cut()
    thread.join(MAX_SECONDS)
    assert isinstance(said[0], Conflict)
    assert said[0].last == second
    assert [record.data for record in near.read(part)] == [b"first", b"second"]


@pytest.mark.parametrize("code", [10071, 10164])
def test_a_conflict_with_nobody_is_not_believed(proxy: Proxy, far: Store, part: str, code: int) -> None:
    """A server may refuse an append because of one that never came about: it is tried again."""
    first = far.append(part, b"first", expected=0)
    error = {"code": 400, "err_code": code, "description": f"wrong last sequence: {first + 7}"}
    proxy.lie = json.dumps({"error": error, "stream": "solvent-records", "seq": 0}).encode()
    assert far.append(part, b"second", expected=first) > first
    assert proxy.lie is None
    assert [record.data for record in far.read(part)] == [b"first", b"second"]


def test_an_answer_that_comes_late_is_taken(
    proxy: Proxy, far: Store, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An append is sent again before its answer is there; the first answer counts, and there is one record."""
    monkeypatch.setattr(nats_link, "_ANSWER_S", 0.05)
    proxy.delay_s = 0.4
    position = far.append(part, b"once")
    proxy.delay_s = 0
    assert proxy.sent.count(b"once") > 1
    assert [(record.position, record.data) for record in far.read(part)] == [(position, b"once")]


@pytest.mark.parametrize("fences", [True, False])
def test_a_batch_whose_answer_is_lost_is_known_again(
    proxy: Proxy, far: Store, near: Store, part: str, monkeypatch: pytest.MonkeyPatch, *, fences: bool
) -> None:
    """A batch that is sent twice is appended once, and its positions are those of the first time."""
    monkeypatch.setattr(nats_streams, "_MIN_ALONE", 2)
    far.append(f"{part}/a", b"before")
    appends = [Append(f"{part}/b", b"0", 0 if fences else None), Append(f"{part}/a", b"1"), Append(f"{part}/c", b"2")]
    proxy.swallows_answers = True
    thread, said = _meanwhile(lambda: far.append_all(appends))
    _until(lambda: near.last(f"{part}/c") > 0)
    proxy.swallows_answers = False
    proxy.cut()
    thread.join(MAX_SECONDS)
    records = near.read(f"{part}/")
    assert [record.data for record in records] == [b"before", b"0", b"1", b"2"]
    assert said == [[record.position for record in records[1:]]]
    assert b"Nats-Batch-Commit" in proxy.sent


def test_a_batch_is_all_or_nothing(near: Store, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one of a batch is late, nothing is appended."""
    monkeypatch.setattr(nats_streams, "_MIN_ALONE", 2)
    last = near.append(f"{part}/b", b"before")
    with pytest.raises(Conflict) as caught:
        near.append_all([Append(f"{part}/a", b"0"), Append(f"{part}/b", b"1", last + 1), Append(f"{part}/c", b"2")])
    assert (caught.value.name, caught.value.last) == (f"{part}/b", last)
    assert [record.data for record in near.read(f"{part}/")] == [b"before"]


def test_nothing_is_sent_behind_a_record_that_is_refused(near: Store, part: str) -> None:
    """Without a batch, too, the records behind one that is late are not appended."""
    near.append(f"{part}/own", b"taken over")
    with pytest.raises(Conflict):
        near.append_all([Append(f"{part}/own", b"late", 0), Append(f"{part}/other", b"harm")])
    assert near.last(f"{part}/other") == 0


@pytest.mark.parametrize("code", [10008, 10077])
def test_records_of_a_log_are_stored_in_the_order_of_their_appends(
    proxy: Proxy, far: Store, part: str, code: int
) -> None:
    """None is stored before an earlier one that the server refuses, be it for a moment or for want of room."""
    proxy.lie = json.dumps({"error": {"code": 503, "err_code": code, "description": "refused"}}).encode()
    with pytest.raises(StoreError, match="E403") if code == 10077 else nullcontext():
        far.append_all([Append(part, b"first"), Append(f"{part}/other", b""), Append(part, b"second")])
    assert proxy.lie is None
    assert [record.data for record in far.read(part)] == ([] if code == 10077 else [b"first", b"second"])


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_read_that_is_cut_off_is_done_again(proxy: Proxy, far: Store, part: str, share: float) -> None:
    """A read whose answers stop amid a batch gives every record once, in order."""
    contents = [str(number).encode() * 20 for number in range(800)]
    far.append_all([Append(part, data) for data in contents])
    # Often, since the server may go on answering to a connection that it takes for the old one.
    for _ in range(8):
        proxy.cut_after = int(share * sum(map(len, contents)))
        assert [record.data for record in far.read(part)] == contents
        assert proxy.cut_after is None


def test_a_record_that_is_lost_on_the_way_is_missed(proxy: Proxy, far: Store, part: str) -> None:
    """A batch of which one answer is missing is asked for again."""
    contents = [str(number).encode() for number in range(200)]
    far.append_all([Append(part, data) for data in contents])
    proxy.drops_one = True
    assert [record.data for record in far.read(part)] == contents
    assert not proxy.drops_one


def test_a_read_does_not_wait_for_answers_that_never_come(
    proxy: Proxy, far: Store, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read whose answers are lost is asked again, on the same connection."""
    far.append(part, b"here")
    monkeypatch.setattr(nats_link, "_ANSWER_S", 0.1)
    proxy.swallows_answers = True
    thread, said = _meanwhile(lambda: far.read(part))
    time.sleep(0.2)
    proxy.swallows_answers = False
    thread.join(MAX_SECONDS)
    assert [record.data for record in said[0]] == [b"here"]


def test_a_watch_goes_on_after_connections_are_lost(
    proxy: Proxy, far: Store, near: Store, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each new connection counts as news, and what happens after it is told, without looking."""
    monkeypatch.setattr(nats, "_LOOK_S", 1000.0)
    with far.watch([f"{part}/"]) as watch:
        for _ in range(15):
            while watch.wait(0.02):
                pass
            proxy.cut()
            assert watch.wait(MAX_SECONDS)
            near.append(f"{part}/log", b"")
            assert watch.wait(MAX_SECONDS)


def test_a_notice_that_is_lost_is_made_up_for(
    proxy: Proxy, far: Store, near: Store, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watch also looks for itself."""
    monkeypatch.setattr(nats, "_LOOK_S", 0.2)
    with far.watch([f"{part}/"]) as watch:
        proxy.swallows_answers = True
        near.append(f"{part}/log", b"")
        time.sleep(0.05)
        proxy.swallows_answers = False
        assert watch.wait(MAX_SECONDS)


def test_nobody_to_connect_to(one: Server) -> None:
    """Without a server, opening fails with E402; one that is there is found among others that are not."""
    from solvent.store.server import free_port

    with pytest.raises(StoreError, match="E402"):
        open_store(f"nats://127.0.0.1:{free_port()}", patience=0.2)
    with open_store(f"nats://127.0.0.1:{free_port()},127.0.0.1:{one.plan.port}") as store:
        assert store.last("nothing") == 0


def test_patience_has_an_end(proxy: Proxy, part: str) -> None:
    """Who gets no answer for longer than the patience hears E409."""
    with open_store(proxy.url, patience=0.6) as store:
        proxy.swallows_answers = True
        with pytest.raises(StoreError, match="E409"):
            store.append(part, b"")
        proxy.swallows_answers = False
        proxy.cut()
        store.append(part, b"")
