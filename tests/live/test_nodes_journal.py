"""Journals that are logs of a store: read anywhere, written by one process at a time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import Conflict, NodeProblem
from solvent.net import Host, Hub
from solvent.protocols.link import Linked, record_type
from solvent.protocols.machine import NodeId, Value
from solvent.runs.nodes.store_journal import StoreJournal
from solvent.store import open_store
from solvent_lab.models.talker import Heard, Listening, Say, Talker
from tests.live.networks import Listener, run, until
from tests.live.store_backends import BACK_ENDS, fresh_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.live.fresh_stores import Fresh

_NUMBERS = itertools.count()


class Kept(Value, frozen=True, gc=False, tag=True):
    """A record."""

    number: int
    values: tuple[str, ...] = ()


class Dropped(Value, frozen=True, gc=False, tag=True):
    """Another record."""

    number: int


@pytest.fixture(scope="module", params=BACK_ENDS)
def fresh(request: pytest.FixtureRequest) -> Iterator[Fresh]:
    """Give a store of each back end in turn."""
    with fresh_store(request.param) as made:
        yield made


@pytest.fixture
def log() -> str:
    """Give a log that no other test has."""
    return f"journals/run/{next(_NUMBERS)}"


def _written(fresh: Fresh, log: str, *records: Any, **options: Any) -> StoreJournal:
    """Open a journal as another process would, save records, close it."""
    journal = StoreJournal(fresh.open(**options), log, Kept | Dropped).open()
    for record in records:
        journal.append(record)
    journal.close()
    return journal


def test_nothing_is_written_behind_what_an_error_has_stopped(log: str, tmp_path: Path) -> None:
    """A record that was not written, for whatever reason, is the last of its life: nobody would see the hole."""
    with open_store(str(tmp_path / "store.db")) as store:
        journal = StoreJournal(store, log, Kept).open()
        journal.append(Kept(1))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(store, "append", _no_memory)
            with pytest.raises(MemoryError):
                journal.commit()
        journal.append(Kept(2))
        journal.close()
        assert StoreJournal(store, log, Kept).open().saved == ()


def _no_memory(*_: Any, **__: Any) -> int:
    raise MemoryError


def test_records_come_back_in_order(fresh: Fresh, log: str) -> None:
    """Whoever opens the journal next gets all records, as they were, and a new life; who only looks begins none."""
    first = _written(fresh, log, Kept(1, ("a",)), Dropped(1))
    second = _written(fresh, log, Kept(2))
    third = _written(fresh, log)
    assert [(one.life, one.saved) for one in (first, second, third)] == [
        (0, ()),
        (1, (Kept(1, ("a",)), Dropped(1))),
        (2, (Kept(1, ("a",)), Dropped(1), Kept(2))),
    ]
    for _ in range(2):
        seen = StoreJournal(fresh.open(), log, Kept | Dropped, is_read_only=True).open()
        assert (seen.life, seen.saved) == (2, third.saved)
    assert StoreJournal(fresh.open(), "journals/none", is_read_only=True).open().life == -1


def test_who_was_replaced_cannot_save_nor_speak(fresh: Fresh, log: str) -> None:
    """The old holder gets a conflict from its next commit, also one of nothing when it is not sure; then nothing."""
    is_sure = True
    old = StoreJournal(fresh.open(), log, Kept, is_sure=lambda _: is_sure).open()
    idle = StoreJournal(fresh.open(), f"{log}-1", Kept, is_sure=lambda _: is_sure).open()
    old.append(Kept(1))
    old.commit()
    for one in (log, f"{log}-1"):
        StoreJournal(fresh.open(), one, Kept).open()
    old.append(Kept(2))
    with pytest.raises(Conflict):
        old.commit()
    old.append(Kept(3))
    with pytest.raises(Conflict):
        old.commit()
    old.append(Kept(4))
    old.close()
    idle.commit()
    is_sure = False
    with pytest.raises(Conflict):
        idle.commit()
    with pytest.raises(Conflict):
        idle.check()
    assert StoreJournal(fresh.open(), log, Kept, is_read_only=True).open().saved == (Kept(1),)


def test_large_bursts_and_large_records_are_kept(fresh: Fresh, log: str) -> None:
    """What is larger than a record of the store may be comes back all the same, in order."""
    records = [Kept(number, ("x" * 700,)) for number in range(20)]
    records[7:7] = [Kept(100, ("y" * 50_000,)), Kept(101, ("z" * 9_000,))]
    _written(fresh, log, *records, max_record_bytes=4096)
    assert _written(fresh, log).saved == tuple(records)


def test_what_does_not_fit_is_a_clear_error(fresh: Fresh, log: str) -> None:
    """A log of something else, and records of another protocol, are told as such."""
    _written(fresh, log, Kept(1))
    with pytest.raises(NodeProblem) as caught:
        StoreJournal(fresh.open(), log, Dropped).open()
    assert caught.value.code == "N113"
    fresh.open().append("other/log", b"\xc1")
    with pytest.raises(NodeProblem) as caught:
        StoreJournal(fresh.open(), "other/log", Kept).open()
    assert caught.value.code == "N112"


def test_a_host_that_was_replaced_stops_before_it_says_anything(fresh: Fresh, log: str) -> None:
    """Of two hosts of one node, the first ends with a conflict, and its peer hears each word of the second once."""

    async def test() -> None:
        hub, nodes = Hub(), (NodeId(0), NodeId(1))

        def host(node: int, of: str) -> Host[Any]:
            machine = Linked(Talker(), me=NodeId(node), peers=nodes, resend_after=20, tells_all_taken=True)
            journal = StoreJournal(fresh.open(), of, record_type(Heard), is_sure=lambda _: False)
            return Host(machine, hub.transport(NodeId(node)), application=Listener(), journal=journal)

        first, other = host(0, log), host(1, f"{log}-1")
        await first.start()
        await other.start()
        for _ in range(5):
            first.request(Say(nodes[1]))
        await until(lambda: other.state.inner.listening.get(nodes[0]) == Listening(0, 0, 5))
        second = host(0, log)
        await second.start()
        first.request(Say(nodes[1]))
        with pytest.raises(Conflict):
            await first.wait()
        for _ in range(5):
            second.request(Say(nodes[1]))
        await until(lambda: other.state.inner.listening.get(nodes[0]) == Listening(1, 0, 5))
        for one in (first, second, other):
            await one.stop()

    run(test())
