"""What a shard does when several things come at once is done again in the same way from its journal."""

from __future__ import annotations

from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import StoreError
from solvent.lang.molecule import Symbol
from solvent.runs.agents.hosted_run import HostedRun
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.events import CallAnswered, CallFailed, CallStarted
from solvent.runs.journal import read_journal
from solvent.runs.messages import Message, Writer, addressed, dealt
from solvent.runs.registry import messages_of
from solvent.store.leases import Heartbeats
from solvent.workflows.model import Alternative, Policy, Result, Service, Task, Value, Workflow
from solvent.workflows.rule_functions import molecule_of
from solvent.workflows.translate import task_symbol
from tests.unit.runs.agents.flows import store_at, workflow

if TYPE_CHECKING:
    from solvent.runs.execution import Execution
    from solvent.store import Record, Store

FLOW = workflow(
    Task("first", "add", (Value(1),)),
    Task("second", "add", (Result("first"),)),
    Task("third", "add", (Result("second"),)),
    Task("fourth", "add", (Result("third"),)),
    Task("bad", "broken", (Result("first"),)),
    Task("spare", "add", (Value(5),)),
    Task("other", "add", (Value(6),)),
    alternatives=(Alternative("instead", {"first": "spare", "bad": "other"}, watch=("bad",)),),
)


def fail_once(file: str) -> int:
    """Fail, and the next time return how often it was called."""
    count = len(Path(file).read_text()) if Path(file).exists() else 0
    Path(file).write_text("x" * (count + 1))
    if count == 0:
        raise ValueError("once")
    return count + 1


def retried(folder: Path) -> Workflow:
    """Make a workflow of a task that fails once, and may be tried twice."""
    service = Service("shaky", function=fail_once, policy=Policy(retries=1, backoff=0.0))
    return Workflow("retried", (Task("t", "shaky", (Value(str(folder / "calls")),)),), (service,))


def write_unheard(shard: Execution) -> None:
    """Keep what a shard noted, and let it not know: the store is away before it says so."""
    shard.settle()
    shard.admit_all()
    for one in shard.appends():
        shard.journal.store.append(one.log, one.data, expected=one.expected)


def run_to_its_end(shard: Execution, came: SimpleQueue[Any]) -> list[Any]:
    """Go on until nothing more can happen, and return what the journal has of calls."""
    while not shard.is_idle:
        kept(shard)
        if not shard.is_idle:
            shard.take(came.get(timeout=200))
    kept(shard)
    kinds = CallStarted | CallFailed | CallAnswered
    return [one for _, one in read_journal(shard.journal.store, shard.journal.log) if isinstance(one, kinds)]


def said(store: Store, number: int, shard: int, *molecule: Any) -> Record:
    """Say something to a task of a shard, as the shard of `first` does; give the message as it is read."""
    message = Message(0, number, (Writer(store).encode(molecule),))
    position = store.append(messages_of("r1"), addressed(shard, message))
    [record] = store.read(messages_of("r1"), position - 1, 1)
    [(_, found)] = dealt(record, [shard])
    return found


def kept(shard: Execution) -> None:
    """End a turn: let the shard react, keep what it noted, and make its calls."""
    shard.settle()
    shard.admit_all()
    for one in shard.appends():
        position = shard.journal.store.append(one.log, one.data, expected=one.expected)
        if one.expected is not None:
            shard.journal.kept(position)
    shard.begin_calls()


def test_a_call_that_is_called_off_in_the_turn_that_led_to_it_is_so_again(tmp_path: Path) -> None:
    """An answer and a message that takes back what it rests on come together: the journal can be opened by another."""
    second, first = task_symbol("second"), task_symbol("first")
    with store_at(tmp_path) as store:
        plan, came = submit(store, "r1", FLOW, {}, max_shards=8), SimpleQueue[Any]()
        hosted_runs = [HostedRun(store, name, plan, offers_of([FLOW]), jobs=1) for name in ("one", "two")]
        number = hosted_runs[0]._where[second]
        assert hosted_runs[0]._where[first] != number
        shard = hosted_runs[0].take(number, Heartbeats(store), came)
        assert shard is not None
        shard.hear([said(store, 1, number, Symbol("PASS"), second, first, 0, molecule_of(1))])
        kept(shard)
        shard.take(came.get(timeout=200))
        shard.hear([said(store, 2, number, Symbol("OFF"), second, first, 0)])
        kept(shard)
        while not shard.is_idle:
            shard.take(came.get(timeout=200))
            kept(shard)
        hosted_runs[0].release(number)
        again = hosted_runs[1].take(number, Heartbeats(store), came)
        assert again is not None
        assert hosted_runs[1].closed(again, store).states == hosted_runs[0].closed(shard, store).states
        for hosted in hosted_runs:
            hosted.close()


def test_who_goes_on_after_a_record_of_which_the_store_said_nothing_loses_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store took the record that opens the journal, and was away before it said so: it has it still."""
    flow = workflow(Task("t", "add", (Value(1),)))
    with store_at(tmp_path) as store:
        plan, came = submit(store, "r1", flow, {}), SimpleQueue[Any]()
        hosted = HostedRun(store, "one", plan, offers_of([flow]), jobs=1)
        shard = hosted.take(0, Heartbeats(store), came)
        assert shard is not None
        kept(shard)
        hosted.set_adrift()

        def unheard(*arguments: Any, **options: Any) -> int:
            append(*arguments, **options)
            raise StoreError("E402", "the connection is lost")

        append = store.append
        with monkeypatch.context() as patched:
            patched.setattr(store, "append", unheard)
            with pytest.raises(StoreError):
                hosted.take(0, Heartbeats(store), came)
        again = hosted.take(0, Heartbeats(store), came)
        assert again is not None
        assert (again.journal.is_resumed, len(again.calls.waiting), again.journal.losses.total()) == (True, 0, 0)
        hosted.close()


def test_a_call_that_was_noted_and_not_made_has_its_attempts(tmp_path: Path) -> None:
    """The store went away just then, twice: who goes on makes it, and it may fail as often as its policy allows."""
    flow = retried(tmp_path)
    with store_at(tmp_path) as store:
        plan, came = submit(store, "r1", flow, {}), SimpleQueue[Any]()
        hosted = HostedRun(store, "one", plan, offers_of([flow]), jobs=1)
        for _ in range(2):
            shard = hosted.take(0, Heartbeats(store), came)
            assert shard is not None
            write_unheard(shard)
            hosted.set_adrift()
        shard = hosted.take(0, Heartbeats(store), came)
        assert shard is not None
        *_, last = run_to_its_end(shard, came)
        assert isinstance(last, CallAnswered)
        assert (last.attempts, shard.journal.value_of(last)) == (2, 2)
        hosted.close()


def test_an_attempt_that_was_noted_when_the_store_went_away_counts_once(tmp_path: Path) -> None:
    """The store has it that a call is tried again, and could not say so: it is not noted again."""
    flow = retried(tmp_path)
    with store_at(tmp_path) as store:
        plan, came = submit(store, "r1", flow, {}), SimpleQueue[Any]()
        hosted = HostedRun(store, "one", plan, offers_of([flow]), jobs=1)
        shard = hosted.take(0, Heartbeats(store), came)
        assert shard is not None
        kept(shard)
        shard.take(came.get(timeout=200))
        write_unheard(shard)
        hosted.set_adrift()
        shard = hosted.take(0, Heartbeats(store), came)
        assert shard is not None
        shard.take(came.get(timeout=200))
        first, failed, second, last = run_to_its_end(shard, came)
        assert (first.attempt, failed.is_last, second.attempt) == (1, False, 2)
        assert (last.attempts, shard.journal.value_of(last)) == (2, 2)
        hosted.close()


@pytest.mark.parametrize("is_noted", [True, False], ids=["noted", "waiting"])
def test_calls_that_were_not_made_when_the_store_went_away_keep_no_room(tmp_path: Path, *, is_noted: bool) -> None:
    """The disk was full just then, and none of them ever will be: who goes on makes as many as there are threads."""
    flow = workflow(*(Task(f"t{number}", "add", (Value(number),)) for number in range(3)))
    with store_at(tmp_path) as store:
        plan, came = submit(store, "r1", flow, {}, max_shards=1), SimpleQueue[Any]()
        hosted = HostedRun(store, "one", plan, offers_of([flow]), jobs=2)
        for _ in range(3):
            shard = hosted.take(0, Heartbeats(store), came)
            assert shard is not None
            shard.settle()
            if is_noted:
                hosted.admit()
            hosted.set_adrift()
        shard = hosted.take(0, Heartbeats(store), came)
        assert shard is not None
        assert (hosted.admit(), len(shard.calls.waiting)) == ({shard}, 1)
        hosted.close()
