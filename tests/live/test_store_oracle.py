"""Random operations on a store give what the plainest one gives: a list and a dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvent.store import Append, Conflict, Entry, Record, Store
from tests.live.fresh_stores import Fresh, fresh_part
from tests.live.store_backends import BACK_ENDS, fresh_store

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", params=BACK_ENDS)
def fresh(request: pytest.FixtureRequest) -> Iterator[Fresh]:
    """Give a store of each back end in turn."""
    with fresh_store(request.param) as made:
        yield made


LOGS = st.sampled_from(["a", "b", "b/c", "b/d"])
SCOPES = st.lists(st.sampled_from(["a", "b", "b/", "b/c", "none"]), min_size=1, max_size=3)
DATA = st.binary(max_size=8)
# Which of the numbers that were given so far is expected: the last ones are often right.
GUESS = st.none() | st.integers(0, 3)
STEPS = st.lists(
    st.tuples(st.just("append"), LOGS, DATA, GUESS)
    | st.tuples(st.just("put"), LOGS, DATA, GUESS)
    | st.tuples(st.just("delete"), LOGS, GUESS)
    | st.tuples(st.just("read"), SCOPES, st.integers(0, 3), st.integers(0, 5))
    | st.tuples(st.just("keys"), st.sampled_from(["", "b/"]))
    | st.tuples(st.just("append_all"), st.lists(st.tuples(LOGS, DATA), max_size=4)),
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
        for step in steps:
            _step(store, oracle, step)
        everything = store.read(f"{oracle.part}/")
        assert everything == oracle.records
        assert all(store.last(log) == oracle.last(log) for log in {record.log for record in everything})
        assert all(store.get(key) == entry for key, entry in oracle.entries.items())
