"""What a place does when several things come at once is done again in the same way from its journal."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import StoreError
from solvent.lang.molecule import Symbol
from solvent.runs.agents.case import Case
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.agents.words import Letter, Writer, addressed, dealt
from solvent.runs.registry import messages_of
from solvent.store.leases import Heartbeats
from solvent.workflows.model import Alternative, Result, Task, Value
from solvent.workflows.rule_functions import molecule_of
from solvent.workflows.translate import task_symbol
from tests.unit.runs.agents.flows import store_at, workflow

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.runs.agents.place import Place
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


def said(store: Store, number: int, place: int, *molecule: Any) -> Record:
    """Say something to a task of a place, as the place of `first` does; give the letter as it is read."""
    letter = Letter(0, number, (Writer(store).said(molecule),))
    position = store.append(messages_of("r1"), addressed(place, letter))
    [record] = store.read(messages_of("r1"), position - 1, 1)
    [(_, found)] = dealt(record, [place])
    return found


def kept(place: Place) -> None:
    """End a turn: let the place react, keep what it noted, and make its calls."""
    place.settle()
    for key in list(place._held):
        place.admit(key)
    for one in place.appends():
        position = place.journal.store.append(one.log, one.data, expected=one.expected)
        if one.expected is not None:
            place.journal.kept(position)
    place.go()


def test_a_call_that_is_called_off_in_the_turn_that_led_to_it_is_so_again(tmp_path: Path) -> None:
    """An answer and a letter that takes back what it rests on come together: the journal can be opened by another."""
    second, first = task_symbol("second"), task_symbol("first")
    with store_at(tmp_path) as store:
        plan, came = submit(store, "r1", FLOW, {}, max_shards=8), SimpleQueue[Any]()
        cases = [Case(store, name, plan, offers_of([FLOW]), jobs=1) for name in ("one", "two")]
        number = cases[0]._where[second]
        assert cases[0]._where[first] != number
        place = cases[0].take(number, Heartbeats(store), came)
        assert place is not None
        place.listen([said(store, 1, number, Symbol("PASS"), second, first, 0, molecule_of(1))])
        kept(place)
        place.take(came.get(timeout=200)[1])
        place.listen([said(store, 2, number, Symbol("OFF"), second, first, 0)])
        kept(place)
        while not place.is_idle:
            place.take(came.get(timeout=200)[1])
            kept(place)
        cases[0].release(number)
        again = cases[1].take(number, Heartbeats(store), came)
        assert again is not None
        assert again.closed(store).states == place.closed(store).states
        for case in cases:
            case.close()


def test_who_goes_on_after_a_record_of_which_the_store_said_nothing_loses_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store took the record that opens the journal, and was away before it said so: it has it still."""
    flow = workflow(Task("t", "add", (Value(1),)))
    with store_at(tmp_path) as store:
        plan, came = submit(store, "r1", flow, {}), SimpleQueue[Any]()
        case = Case(store, "one", plan, offers_of([flow]), jobs=1)
        place = case.take(0, Heartbeats(store), came)
        assert place is not None
        kept(place)
        case.set_adrift()

        def unheard(*arguments: Any, **options: Any) -> int:
            append(*arguments, **options)
            raise StoreError("E402", "the connection is lost")

        append = store.append
        with monkeypatch.context() as patched:
            patched.setattr(store, "append", unheard)
            with pytest.raises(StoreError):
                case.take(0, Heartbeats(store), came)
        again = case.take(0, Heartbeats(store), came)
        assert again is not None
        assert (again.journal.is_resumed, again.ready, again.journal.losses.total()) == (True, 0, 0)
        case.close()


@pytest.mark.parametrize("is_noted", [True, False], ids=["noted", "waiting"])
def test_calls_that_were_not_made_when_the_store_went_away_keep_no_room(tmp_path: Path, *, is_noted: bool) -> None:
    """The disk was full just then, and none of them ever will be: who goes on makes as many as there are threads."""
    flow = workflow(*(Task(f"t{number}", "add", (Value(number),)) for number in range(3)))
    with store_at(tmp_path) as store:
        plan, came = submit(store, "r1", flow, {}, max_shards=1), SimpleQueue[Any]()
        case = Case(store, "one", plan, offers_of([flow]), jobs=2)
        for _ in range(3):
            place = case.take(0, Heartbeats(store), came)
            assert place is not None
            place.settle()
            if is_noted:
                case.admit()
            case.set_adrift()
        place = case.take(0, Heartbeats(store), came)
        assert place is not None
        assert (case.admit(), place.ready) == ({place}, 1)
        case.close()
