"""Real processes write to a store at once, and are killed in the middle: what was acknowledged is there, once."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from solvent.store import Append, Conflict, Store
from tests.live.fresh_stores import Fresh, fresh_part
from tests.live.store_backends import BACK_ENDS, fresh_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.live.data_hosts import Child

WRITERS = 4


@pytest.fixture(scope="module", params=BACK_ENDS)
def fresh(request: pytest.FixtureRequest) -> Iterator[Fresh]:
    """Give a store of each back end in turn."""
    with fresh_store(request.param) as made:
        yield made


def _heard(children: list[Child]) -> list[list[str]]:
    """Give all that processes say, until they end."""
    return [list(iter(child.hear, "")) for child in children]


@pytest.mark.parametrize("is_durable", [True, False])
def test_what_was_acknowledged_survives_kills(fresh: Fresh, *, is_durable: bool) -> None:
    """Writers are killed at any moment: every record that was acknowledged is there, once, at its position."""
    part = fresh_part()

    def writer(name: str) -> Callable[[Store, Callable[[str], None]], None]:
        def work(store: Store, say: Callable[[str], None]) -> None:
            for count in range(1_000_000):
                data = f"{name}:{count}".encode() + b" " * random.randrange(3000)
                appends = [Append(f"{part}/{name}", data), Append(f"{part}/shared", data)]
                positions = store.append_all(appends) if count % 3 else [store.append(*appends[0][:2]), 0]
                say(f"{name}:{count}={positions[0]}")

        return work

    with fresh.open(is_durable=is_durable) as store:
        children = [fresh.start(writer(str(number)), is_durable=is_durable) for number in range(WRITERS)]
        acknowledged = dict[str, int]()
        for child in children:
            line = child.hear()
            acknowledged[line.partition("=")[0]] = int(line.partition("=")[2])
        time.sleep(0.3)
        for child in children:
            os.kill(child.number, signal.SIGKILL)
        for line in (line for lines in _heard(children) for line in lines):
            name, _, position = line.partition("=")
            # The last line may be cut.
            if position and line.count(":") == 1:
                acknowledged.setdefault(name, int(position))
        found = dict[str, list[int]]()
        after = 0
        while page := store.read([f"{part}/{number}" for number in range(WRITERS)], after, 500):
            for record in page:
                found.setdefault(record.data.decode().strip(), []).append(record.position)
            after = page[-1].position
        assert len(acknowledged) >= WRITERS
        assert {name: found.get(name) for name in acknowledged} == {name: [at] for name, at in acknowledged.items()}
        for number in range(WRITERS):
            own = [int(name.partition(":")[2]) for name in found if name.startswith(f"{number}:")]
            assert own == list(range(len(own)))
            # At most the one that was under way when the process died was not acknowledged.
            assert len(own) - 1 <= sum(name.startswith(f"{number}:") for name in acknowledged)


def test_exactly_one_wins_each_compare_and_set(fresh: Fresh) -> None:
    """Of processes that append with the same expected position, or put with the same revision, one succeeds."""
    part, rounds = fresh_part(), 25

    def work(store: Store, say: Callable[[str], None]) -> None:
        last = revision = 0
        for number in range(rounds):
            try:
                store.append(f"{part}/log", f"{os.getpid()}".encode(), expected=last)
                say(f"log{number}")
            except Conflict:
                pass
            try:
                store.put(f"{part}/key", f"{number}".encode(), expected=revision)
                say(f"key{number}")
            except Conflict:
                pass
            # The next round begins with what the winner of this one wrote.
            last = store.read(f"{part}/log", limit=number + 1)[number].position
            revision = _wait_for(store, f"{part}/key", number)

    def _wait_for(store: Store, key: str, number: int) -> int:
        entry = store.get(key)
        assert entry is not None
        assert int(entry.value) >= number
        return entry.revision if int(entry.value) == number else 0

    children = [fresh.start(work, is_durable=False) for _ in range(WRITERS)]
    wins = Counter(line for lines in _heard(children) for line in lines)
    for child in children:
        child.end()
    assert {line: count for line, count in wins.items() if count != 1} == {}
    assert sum(line.startswith("log") for line in wins) == rounds
    with fresh.open() as store:
        assert len(store.read(f"{part}/log")) == rounds


def test_eight_writers_all_get_on(fresh: Fresh) -> None:
    """None of eight writers fails or is left out, and positions are given once."""
    part, count = fresh_part(), 30

    def work(store: Store, say: Callable[[str], None]) -> None:
        for _ in range(count):
            say(str(store.append(f"{part}/{os.getpid()}", bytes(1000))))

    children = [fresh.start(work) for _ in range(8)]
    positions = [[int(line) for line in lines] for lines in _heard(children)]
    for child in children:
        child.end()
    assert [len(some) for some in positions] == [count] * 8
    assert all(some == sorted(some) for some in positions)
    assert len({position for some in positions for position in some}) == 8 * count
