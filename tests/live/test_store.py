"""What a store promises, of every back end alike."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from solvent.store import Append, Conflict, Entry, Record, Store, StoreError
from tests.live.fresh_stores import Fresh, fresh_part
from tests.live.store_backends import BACK_ENDS, fresh_store

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", params=BACK_ENDS)
def fresh(request: pytest.FixtureRequest) -> Iterator[Fresh]:
    """Give a store of each back end in turn."""
    with fresh_store(request.param) as made:
        yield made


@pytest.fixture
def store(fresh: Fresh) -> Iterator[Store]:
    """Give the store, open."""
    with fresh.open() as opened:
        yield opened


@pytest.fixture
def part() -> str:
    """Give a part of names that belongs to the test."""
    return fresh_part()


# -------------------------------------------------------------------------------------------------------------- logs


def test_records_come_back_in_order_of_position(store: Store, part: str) -> None:
    """Records of several logs are read in the order in which they were appended."""
    positions = [store.append(f"{part}/{log}", bytes([number])) for number, log in enumerate("abab")]
    assert positions == sorted(set(positions))
    assert positions[0] > 0
    expected = [
        Record(at, f"{part}/{log}", bytes([n])) for n, (at, log) in enumerate(zip(positions, "abab", strict=True))
    ]
    assert store.read(f"{part}/") == expected
    assert store.read([f"{part}/a", f"{part}/b"]) == expected
    assert store.read(f"{part}/b") == expected[1::2]
    assert store.read(f"{part}/", after=positions[1]) == expected[2:]
    assert store.read(f"{part}/", limit=3) == expected[:3]
    assert store.read(f"{part}/", limit=0) == []


def test_a_log_that_is_not_there_is_empty(store: Store, part: str) -> None:
    """Who reads what nobody has written gets nothing."""
    assert store.read(f"{part}/none") == []
    assert store.read([f"{part}/none", f"{part}/below/"]) == []
    assert store.last(f"{part}/none") == 0


def test_a_name_is_not_below_another_that_it_begins_with(store: Store, part: str) -> None:
    """Only `/` makes a name be below another."""
    store.append(f"{part}/ab", b"not below a")
    store.append(f"{part}/a/b", b"below a")
    store.append(f"{part}/a", b"a itself")
    assert [record.data for record in store.read(f"{part}/a/")] == [b"below a"]
    assert [record.data for record in store.read(f"{part}/a")] == [b"a itself"]


def test_only_who_has_seen_everything_appends(store: Store, part: str) -> None:
    """An append that expects another last record is refused, and says what is there."""
    first = store.append(part, b"first", expected=0)
    with pytest.raises(Conflict) as caught:
        store.append(part, b"late", expected=0)
    assert (caught.value.last, caught.value.code) == (first, "E410")
    second = store.append(part, b"second", expected=first)
    with pytest.raises(Conflict):
        store.append(part, b"late", expected=first)
    assert [record.data for record in store.read(part)] == [b"first", b"second"]
    assert store.last(part) == second


def test_other_logs_do_not_make_a_conflict(store: Store, part: str) -> None:
    """What is expected is the last record of the log, whatever others have got since."""
    first = store.append(f"{part}/a", b"")
    store.append(f"{part}/b", b"")
    assert store.append(f"{part}/a", b"", expected=first) > first


def test_several_are_appended_at_once(store: Store, part: str) -> None:
    """`append_all` gives a position for each, in order; each is compared with what was before it."""
    before = store.append(f"{part}/a", b"0")
    appends = [Append(f"{part}/a", b"1", before), Append(f"{part}/b", b"2", 0), Append(f"{part}/a", b"3")]
    positions = store.append_all(appends)
    assert positions == sorted(positions)
    assert [(r.position, r.data) for r in store.read(f"{part}/", before)] == list(
        zip(positions, (b"1", b"2", b"3"), strict=True)
    )
    assert store.append_all([]) == []


def test_a_conflict_among_several_is_raised(store: Store, part: str) -> None:
    """`append_all` raises where one of its records is late, and that one is not appended."""
    store.append(f"{part}/a", b"0")
    with pytest.raises(Conflict):
        store.append_all([Append(f"{part}/a", b"late", 0)])
    assert [record.data for record in store.read(f"{part}/")] == [b"0"]


def test_records_of_any_bytes(store: Store, part: str) -> None:
    """A record may be empty, or large, and of any bytes."""
    contents = [b"", bytes(range(256)), b"\0" * 300_000]
    for data in contents:
        store.append(part, data)
    assert [record.data for record in store.read(part)] == contents


def test_many_records_are_read_in_pages(store: Store, part: str) -> None:
    """Page after page gives every record once."""
    logs = [f"{part}/{number % 7}" for number in range(500)]
    store.append_all([Append(log, str(number).encode()) for number, log in enumerate(logs)])
    after, seen = 0, list[Record]()
    while page := store.read(f"{part}/", after, 64):
        seen += page
        after = page[-1].position
    assert [int(record.data) for record in seen] == list(range(500))


# -------------------------------------------------------------------------------------------------------------- keys


def test_a_key_is_compared_and_set(store: Store, part: str) -> None:
    """A key is put only if its revision is the expected one; revisions grow."""
    assert store.get(part) is None
    first = store.put(part, b"1", expected=0)
    assert store.get(part) == Entry(first, b"1")
    with pytest.raises(Conflict) as caught:
        store.put(part, b"late", expected=0)
    assert caught.value.last == first
    second = store.put(part, b"2", expected=first)
    third = store.put(part, b"3")
    assert first < second < third
    assert store.get(part) == Entry(third, b"3")


def test_a_deleted_key_is_gone_and_its_revisions_are_not_used_again(store: Store, part: str) -> None:
    """After `delete` a key is not there; put again, it has a greater revision than ever."""
    first = store.put(part, b"1")
    with pytest.raises(Conflict):
        store.delete(part, expected=first + 1000)
    store.delete(part, expected=first)
    assert store.get(part) is None
    assert store.keys("").get(part) is None
    with pytest.raises(Conflict) as caught:
        store.put(part, b"2", expected=first)
    assert caught.value.last == 0
    assert store.put(part, b"2", expected=0) > first


def test_deleting_what_is_not_there_is_no_error(store: Store, part: str) -> None:
    """A key that is not there can be deleted, unless it is expected to be there."""
    store.delete(part)
    store.delete(part, expected=0)
    with pytest.raises(Conflict):
        store.delete(part, expected=7)


def test_keys_below_a_name(store: Store, part: str) -> None:
    """`keys` gives what is below a name, sorted, and nothing else."""
    for name in ("b/x", "a", "b/a", "bc"):
        store.put(f"{part}/{name}", name.encode())
    assert list(store.keys(f"{part}/")) == [f"{part}/{name}" for name in ("a", "b/a", "b/x", "bc")]
    assert {key: entry.value for key, entry in store.keys(f"{part}/b/").items()} == {
        f"{part}/b/a": b"b/a",
        f"{part}/b/x": b"b/x",
    }


def test_keys_and_logs_do_not_meet(store: Store, part: str) -> None:
    """A key and a log may have the same name."""
    store.append(part, b"record")
    store.put(part, b"value")
    assert [record.data for record in store.read(part)] == [b"record"]
    assert store.keys("")[part].value == b"value"


# ------------------------------------------------------------------------------------------------------------- blobs


@pytest.mark.parametrize("size", [0, 1, 1000, 64 * 1024, 64 * 1024 + 1, 3_000_000])
def test_a_blob_is_named_by_its_content(store: Store, size: int) -> None:
    """A blob of any size comes back; putting it twice gives the same name."""
    data = bytes(number * 7 % 251 for number in range(1000)) * (size // 1000) + b"x" * (size % 1000)
    name = store.put_blob(data)
    assert store.put_blob(memoryview(data)) == name
    assert len(name) == 64
    assert store.get_blob(name) == data


def test_a_blob_that_is_missing_is_an_error(store: Store) -> None:
    """A name that nobody has put raises E406."""
    with pytest.raises(StoreError, match="E406"):
        store.get_blob("0" * 64)


# ------------------------------------------------------------------------------------------------------------ misuse


@pytest.mark.parametrize("name", ["", "/", "a/", "/a", "a//b", "a b", "a*", "ä", "a\n", "a>", "x" * 251, "a/\0"])
def test_names_that_cannot_be(store: Store, name: str) -> None:
    """A name that is not allowed is refused by every operation."""
    for work in (
        lambda: store.append(name, b""),
        lambda: store.append_all([Append("fine", b""), Append(name, b"")]),
        lambda: store.last(name),
        lambda: store.get(name),
        lambda: store.put(name, b""),
        lambda: store.delete(name),
    ):
        with pytest.raises(StoreError, match="E404"):
            work()
    assert store.last("fine") == 0


@pytest.mark.parametrize("name", ["/", "a", "a//", "a b/", "*/", "x" * 250 + "/"])
def test_names_that_mean_nothing_below_them(store: Store, name: str) -> None:
    """`keys` takes only names that end in `/`."""
    with pytest.raises(StoreError, match="E404"):
        store.keys(name)
    with pytest.raises(StoreError, match="E404"):
        store.get_blob("not a name")


def test_what_is_too_large_is_refused(fresh: Fresh, part: str) -> None:
    """A record, a value or a blob beyond the limit raises E405, which names it."""
    with fresh.open(max_record_bytes=1000, max_blob_bytes=5000) as store:
        store.append(part, bytes(1000))
        for work in (lambda: store.append(part, bytes(1001)), lambda: store.put(part, bytes(1001))):
            with pytest.raises(StoreError, match=r"E405.*1,000"):
                work()
        with pytest.raises(StoreError, match=r"E405.*5,000"):
            store.put_blob(bytes(5001))


def test_a_closed_store_says_so(fresh: Fresh, part: str) -> None:
    """Whatever is asked of a closed store raises E408; closing twice is no error."""
    store = fresh.open()
    store.close()
    store.close()
    works: list[Any] = [
        lambda: store.append(part, b""),
        lambda: store.read(part),
        lambda: store.get(part),
        lambda: store.put(part, b""),
        lambda: store.put_blob(b""),
        lambda: store.keys(""),
        lambda: store.watch([""]),
    ]
    for work in works:
        with pytest.raises(StoreError, match="E408"):
            work()


# ---------------------------------------------------------------------------------------------------------- watching


def test_a_watch_hears_of_what_is_below_its_names(fresh: Fresh, store: Store, part: str) -> None:
    """Somebody else's appends, puts and deletes below the names end a wait."""
    with fresh.open() as other, store.watch([f"{part}/a/", f"{part}/one"]) as watch:
        for change in (
            lambda: other.append(f"{part}/a/log", b""),
            lambda: other.append(f"{part}/one", b""),
            lambda: other.put(f"{part}/a/key", b""),
            lambda: other.put(f"{part}/one", b""),
            lambda: other.delete(f"{part}/one"),
        ):
            while watch.wait(0.1):
                pass
            change()
            assert watch.wait(200)


def test_a_watch_is_from_the_moment_it_was_made(store: Store, part: str) -> None:
    """What happened between making a watch and waiting is not missed."""
    with store.watch([f"{part}/"]) as watch:
        store.append(f"{part}/log", b"")
        assert watch.wait(200)


def test_a_wait_ends_when_the_watch_is_closed(store: Store, part: str) -> None:
    """Closing a watch wakes who waits, who is told that nothing changed."""
    watch = store.watch([f"{part}/"])
    heard = list[bool]()
    waiting = threading.Thread(target=lambda: heard.append(watch.wait(200)))
    waiting.start()
    time.sleep(0.05)
    watch.close()
    waiting.join(200)
    assert heard == [False]
    watch.close()


# ----------------------------------------------------------------------------------------------------------- threads


def test_threads_share_a_store(store: Store, part: str) -> None:
    """Several threads append with one open store, and each record is there once."""
    positions = list[int]()

    def work(number: int) -> None:
        for count in range(20):
            positions.append(store.append(f"{part}/{number}", str(count).encode()))
            assert len(store.read(f"{part}/{number}")) == count + 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(positions) == [record.position for record in store.read(f"{part}/")]
    assert len(set(positions)) == 80
