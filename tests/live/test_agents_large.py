"""However much is to be noted at once, no record is larger than the store takes; here on a server with its defaults."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from solvent.errors import StoreError
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.closed_shards import report_of
from solvent.runs.events import CallStarted, ShardTaken
from solvent.runs.journal import StoredJournal, read_journal
from solvent.runs.registry import existing, journal_of
from solvent.store import Append, open_store
from solvent.workflows.model import Each, Result, Service, Task, Value, Workflow
from tests.live.store_servers import server
from tests.unit.runs.agents.flows import AgentsHere, end_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PAYLOAD_BYTES = 1 << 20
"""What a NATS server takes unless it is told otherwise."""
ITEMS = 1500


@pytest.fixture(scope="module", name="url")
def _url() -> Iterator[str]:
    with server(max_payload_bytes=MAX_PAYLOAD_BYTES) as one:
        yield one.url


def numbers(many: int) -> list[int]:
    """Count."""
    return list(range(many))


def odd(number: int) -> int:
    """Fail for odd numbers, at length."""
    if number % 2:
        raise ValueError(f"{number} is odd " * 20)
    return number


def test_many_calls_are_one_record(url: str) -> None:
    """Calls whose names are more than the server takes at once are noted together, and found again."""
    keys = [f"{'name' * 30}[{number}]" for number in range(12_000)]
    with open_store(url) as store:
        assert store.max_record_bytes < MAX_PAYLOAD_BYTES < sum(map(len, keys))
        journal = StoredJournal(store, journal_of("many"), "me")
        journal.open()
        for key in keys:
            journal.note(CallStarted(key, "name" * 30, time.time()))
        journal.commit()
        found = [one for _, one in read_journal(store, journal.log)]
    assert [type(found[0]), *(one.call for one in found if isinstance(one, CallStarted))] == [ShardTaken, *keys]


def test_what_is_too_large_is_refused_alone(url: str) -> None:
    """Of records that have nothing to do with each other, the others are taken, and the error is the answer for it."""
    with open_store(url) as store:
        appends = [Append("a", b"1"), Append("b", bytes(MAX_PAYLOAD_BYTES + 1)), Append("c", b"3")]
        one, two, three = store.append_each(appends)
        assert isinstance(two, StoreError)
        assert two.code == "E405"
        assert [record.position for record in store.read("")][-2:] == [one, three]


def test_each_over_many_items_is_run_by_agents(url: str) -> None:
    """The calls, and the failures, of a task that is called for each of many items are more than one record takes."""
    flow = Workflow(
        "large",
        (Task("n", "numbers", (Value(ITEMS),)), Task("each_one", "odd", (Result("n"),), each=Each("dot", (0,)))),
        (Service("numbers", function=numbers), Service("odd", function=odd)),
    )
    with open_store(url, max_record_bytes=40_000) as store:
        submit(store, "large", flow, {})
        with AgentsHere(store, offers_of([flow])) as agents:
            assert end_of(store, "large").state == "failed"
        assert not [one for one in agents.told if "store" in one]
        noted = [one for _, one in read_journal(store, journal_of("large", 0)) if isinstance(one, CallStarted)]
        report = report_of(store, existing(store, "large"), flow)
        assert (len(noted), report is not None and report.failures[0].task) == (ITEMS + 1, "each_one")
