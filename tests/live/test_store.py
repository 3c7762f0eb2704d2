"""The promises of a store, for every back end: operation by operation, at random beside a model, and in order."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvent.store import Append, Conflict, Entry, Record, Store, StoreError
from tests.live.fresh_stores import Fresh, fresh_part
from tests.live.store_backends import BACK_ENDS, fresh_store

if TYPE_CHECKING:
    from solvent.store import Store


@pytest.fixture
def part() -> str:
    """Give a part of names that belongs to the test."""
    return fresh_part()


# -------------------------------------------------------------------------------------------------------------- logs


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


def test_blobs_that_are_not_used_are_swept(store: Store) -> None:
    """They are gone, large or small, and what they have held is told; those that are used, or were just put, stay."""
    kept, small, large = (store.put_blob(fresh_part().encode() * count) for count in (1, 10, 50_000))
    sizes = sum(len(store.get_blob(one)) for one in (small, large))
    assert store.sweep_blobs({kept}).blobs == 0
    assert store.sweep_blobs({kept}, min_age=-1.0, is_tried=True) >= (2, sizes)
    assert store.get_blob(large)
    assert store.sweep_blobs({kept}, min_age=-1.0) >= (2, sizes)
    assert store.sweep_blobs({kept}, min_age=-1.0) == (0, 0)
    assert store.get_blob(kept)
    for one in (small, large):
        with pytest.raises(StoreError, match="E406"):
            store.get_blob(one)


GAP_SECONDS = 0.1


@pytest.mark.parametrize("size", [100, 300_000])
def test_a_blob_that_is_put_again_counts_as_just_put(store: Store, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is about to use a blob that was there before does not lose it to a sweep."""
    for module in ("sqlite", "nats"):
        monkeypatch.setattr(f"solvent.store.{module}.FRESH", 0.0)
    while True:
        data, other = fresh_part().encode() * (size // 5), fresh_part().encode()
        name, unused = store.put_blob(data), store.put_blob(other)
        between = time.time()
        time.sleep(GAP_SECONDS)
        store.put_blob(data)
        min_age = time.time() - between
        store.sweep_blobs((), min_age=min_age)
        if time.time() - min_age - between < GAP_SECONDS:
            break
        # The machine was too busy to tell one moment from the other.
    assert store.get_blob(name) == data
    with pytest.raises(StoreError, match="E406"):
        store.get_blob(unused)


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


NAMES = st.sampled_from(["a", "b", "b/c", "b/d", "bc"])
SCOPES = st.lists(st.sampled_from(["a", "b", "b/", "b/c", "none"]), min_size=1, max_size=3)
DATA = st.binary(max_size=8)
# Which of the numbers that were given so far is expected: the last ones are often right.
GUESS = st.none() | st.integers(0, 3)
STEPS = st.lists(
    st.tuples(st.just("append"), NAMES, DATA, GUESS)
    | st.tuples(st.just("put"), NAMES, DATA, GUESS)
    | st.tuples(st.just("delete"), NAMES, GUESS)
    | st.tuples(st.just("read"), SCOPES, st.integers(0, 3), st.integers(0, 5))
    | st.tuples(st.just("drop"), st.sampled_from(["a", "b", "b/", "b/c"]), st.integers(0, 5))
    | st.tuples(st.just("keys"), st.sampled_from(["", "b/"]))
    | st.tuples(st.just("append_all"), st.lists(st.tuples(NAMES, DATA), max_size=4)),
    max_size=30,
)


class Oracle:
    """The plainest store: a list and a dictionary."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.records = list[Record]()
        self.entries = dict[str, Entry]()
        self.given = [0]

    def guessed(self, guess: int | None) -> int | None:
        """Give one of the numbers that were given last, or none."""
        return None if guess is None else self.given[-1 - guess] if guess < len(self.given) else 0

    def last(self, log: str) -> int:
        """Give the last position."""
        return max((record.position for record in self.records if record.log == log), default=0)

    def read(self, scopes: list[str], after: int, limit: int) -> list[Record]:
        """Give what a reader should get."""
        found = [r for r in self.records if r.position > after and any(_is_meant(r.log, scope) for scope in scopes)]
        return found[:limit]


def _is_meant(name: str, scope: str) -> bool:
    return name.startswith(scope) if scope.endswith("/") else name == scope


def _changed(work: Any, *, is_expected: bool) -> int | None:
    """Do something that is refused exactly if it should be."""
    if is_expected:
        return int(work() or 0)
    with pytest.raises(Conflict):
        work()
    return None


def _step(store: Store, oracle: Oracle, step: tuple[Any, ...]) -> None:
    part = oracle.part
    match step:
        case ("append", log, data, guess):
            log, expected = f"{part}/{log}", oracle.guessed(guess)
            is_right = expected in (None, oracle.last(log))
            at = _changed(lambda: store.append(log, data, expected=expected), is_expected=is_right)
            if at is not None:
                assert at > max((record.position for record in oracle.records), default=0)
                oracle.records.append(Record(at, log, data))
                oracle.given.append(at)
        case ("append_all", some):
            appends = [Append(f"{part}/{log}", data) for log, data in some]
            for append, at in zip(appends, store.append_all(appends), strict=True):
                oracle.records.append(Record(at, append.log, append.data))
        case ("put", key, value, guess):
            key, expected = f"{part}/{key}", oracle.guessed(guess)
            entry = oracle.entries.get(key)
            is_right = expected in (None, entry.revision if entry else 0)
            revision = _changed(lambda: store.put(key, value, expected=expected), is_expected=is_right)
            if revision is not None:
                oracle.entries[key] = Entry(revision, value)
                oracle.given.append(revision)
        case ("delete", key, guess):
            key, expected = f"{part}/{key}", oracle.guessed(guess)
            entry = oracle.entries.get(key)
            is_right = expected in (None, entry.revision if entry else 0)
            if _changed(lambda: store.delete(key, expected=expected), is_expected=is_right) is not None:
                oracle.entries.pop(key, None)
        case ("drop", name, back):
            name, up_to = f"{part}/{name}", oracle.records[-1 - back].position if back < len(oracle.records) else None
            store.drop(name, up_to=up_to)
            oracle.records = [
                one for one in oracle.records if not _is_meant(one.log, name) or one.position > (up_to or one.position)
            ]
            if up_to is None:
                oracle.entries = {key: one for key, one in oracle.entries.items() if not _is_meant(key, name)}
        case ("read", scopes, back, limit):
            scopes = [f"{part}/{scope}" for scope in scopes]
            after = oracle.records[-1 - back].position if back < len(oracle.records) else 0
            assert store.read(scopes, after, limit) == oracle.read(scopes, after, limit)
        case ("keys", below):
            below = f"{part}/{below}"
            assert store.keys(below) == {k: e for k, e in sorted(oracle.entries.items()) if k.startswith(below)}


@settings(max_examples=40)
@given(steps=STEPS)
def test_a_store_does_what_a_list_and_a_dictionary_do(fresh: Fresh, steps: list[tuple[Any, ...]]) -> None:
    """Any sequence of operations gives what the plainest store gives."""
    oracle = Oracle(fresh_part())
    with fresh.open(is_durable=False) as store:
        with fresh.open(is_durable=False) as other:
            for number, step in enumerate(steps):
                _step(other if number % 3 == 2 else store, oracle, step)
        everything = store.read(f"{oracle.part}/")
        assert everything == oracle.records
        assert all(store.last(log) == oracle.last(log) for log in {record.log for record in everything})
        assert all(store.get(key) == entry for key, entry in oracle.entries.items())


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
