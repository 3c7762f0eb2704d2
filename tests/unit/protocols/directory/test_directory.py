"""One node of the directory, event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.errors import Misuse
from solvent.protocols.capture.vocabulary import MoleculeId
from solvent.protocols.directory import (
    Directory,
    DirectoryState,
    Entry,
    Find,
    Found,
    Publish,
    Ring,
    Seen,
    Unwatch,
    Watch,
    bounds,
    entry,
)
from solvent.protocols.directory.messages import Changes, Matches
from solvent.protocols.directory.slot import MAX_PAGE
from solvent.protocols.machine import NodeId, PeerRestarted, Received, Report, Requested, Send

if TYPE_CHECKING:
    from solvent.protocols.machine import Effects, Event

NODES = (NodeId(0), NodeId(1), NodeId(2))
A, B, C = NODES
RING = Ring(NODES)
directory = Directory(A, RING)


def kept_at(slot: NodeId, holder: NodeId, molecule: int = 1, *, above: int = 0) -> Entry:
    """Make an entry that belongs to a slot."""
    key = next(key for key in range(above, above + 1000) if RING.slot_of("number", key) == slot)
    return entry(MoleculeId(molecule), holder, "number", key)


def after(*events: Event) -> tuple[DirectoryState, Effects]:
    """Give node A these events, in order; and the effects of the last."""
    state, effects = directory.start()
    for event in events:
        state, effects = directory.step(state, event)
    return state, effects


def test_what_is_published_goes_to_its_slots_in_one_message_each() -> None:
    """What belongs to the node itself needs no message."""
    near, far = kept_at(A, A, 1), kept_at(B, A, 2)
    further = kept_at(B, A, 3, above=50)
    state, effects = after(Requested(Publish((near, far, further))))
    assert effects == (Send(B, Publish((far, further))),)
    assert set(state.slot.listed) == {near.place}


def test_what_is_withdrawn_is_taken_from_its_slot() -> None:
    """Only what was published is; nothing is said of the rest."""
    far = kept_at(B, A)
    published = Requested(Publish((far,)))
    assert after(published, published)[1] == ()
    assert after(published, Requested(Publish((), (far.molecule, MoleculeId(99)))))[1] == (
        Send(B, Publish((), (far.molecule,))),
    )
    assert after(Requested(Publish((), (far.molecule,))))[1] == ()


def test_a_holder_withdraws_only_its_own_entry() -> None:
    """A molecule that has moved stays listed at its new holder, whichever message comes first."""
    moved, former = kept_at(A, C, 5), kept_at(A, B, 5)
    state, _ = after(
        Received(B, Publish((former,))), Received(C, Publish((moved,))), Received(B, Publish((), (former.molecule,)))
    )
    assert set(state.slot.listed) == {moved.place}


def test_what_is_withdrawn_and_published_at_once_is_listed() -> None:
    """A molecule may come back in the same step."""
    one = kept_at(A, B)
    state, _ = after(Received(B, Publish((one,))), Received(B, Publish((one,), (one.molecule,))))
    assert set(state.slot.listed) == {one.place}


def test_nobody_publishes_for_another() -> None:
    """An entry whose holder is not its sender is dropped."""
    assert not after(Received(C, Publish((kept_at(A, B),))))[0].slot.listed


def test_a_search_for_one_key_asks_one_slot() -> None:
    """The slot follows from the shape and the key."""
    far = kept_at(C, C)
    find = Find(1, "number", bounds(far.order, far.order), limit=3)
    assert after(Requested(find))[1] == (Send(C, find),)
    assert after(Requested(find), Received(C, Matches(1, (far,))))[1] == (Report(Found(1, (far,))),)


def test_a_search_asks_slot_after_slot_until_it_has_enough() -> None:
    """It begins with the node's own, and asks the next only for what is missing."""
    near, far = kept_at(A, A), kept_at(B, B, 2)
    find = Find(1, "number", limit=2)
    published = Requested(Publish((near,)))
    assert after(published, Requested(find))[1] == (Send(B, Find(1, "number", limit=1)),)
    found = (Report(Found(1, (near, far))),)
    assert after(published, Requested(find), Received(B, Matches(1, (far,))))[1] == found
    asked = (published, Requested(find), Received(B, Matches(1, ())))
    assert after(*asked)[1] == (Send(C, Find(1, "number", limit=1)),)
    assert after(*asked, Received(C, Matches(1, ())))[1] == (Report(Found(1, (near,))),)


def test_a_slot_that_crashes_is_left_out_of_a_search() -> None:
    """Others may have enough."""
    find = Find(1, "number")
    assert after(Requested(find), PeerRestarted(B))[1] == (Send(C, find),)
    assert after(Requested(find), PeerRestarted(B), Received(B, Matches(1, ())))[1] == ()


def test_different_askers_are_offered_different_molecules() -> None:
    """Otherwise all would want the same one."""
    entries = tuple(entry(MoleculeId(number), B, "number", 7) for number in range(50))
    state, _ = after(Received(B, Publish(entries)))
    offered = set()
    for asker in range(20):
        _, (send,) = directory.step(state, Received(NodeId(asker + 1), Find(1, "number")))
        assert isinstance(send, Send)
        offered.add(send.message.entries)
    assert len(offered) > 10


def test_a_watcher_is_shown_all_there_is_in_pages_and_then_every_change() -> None:
    """A page has a limited number of entries; changes outside the bounds are not told."""
    entries = tuple(entry(MoleculeId(number), B, "number", number) for number in range(MAX_PAGE + 1))
    filled = Received(B, Publish(entries))
    watch = Received(C, Watch(4, "number", bounds(0, 1000)))
    assert after(filled, watch)[1] == (
        Send(C, Changes(4, entries[:MAX_PAGE])),
        Send(C, Changes(4, entries[MAX_PAGE:])),
    )
    new, beyond = (entry(MoleculeId(5000 + key), B, "number", key) for key in (999, 1001))
    change = Received(B, Publish((new, beyond), (entries[0].molecule,)))
    assert after(filled, watch, change)[1] == (Send(C, Changes(4, (new,), (entries[0].place,))),)
    assert after(filled, watch, Received(C, Unwatch(4)), change)[1] == ()


def test_a_watch_asks_every_slot_and_reports_what_each_shows() -> None:
    """The node's own slot answers at once; after `Unwatch` nothing is reported any more."""
    near, far = kept_at(A, A), kept_at(B, C, 2)
    watch = Watch(1, "number")
    published = Requested(Publish((near,)))
    asked = (Report(Seen(1, (near,))), Send(B, watch), Send(C, watch))
    assert after(published, Requested(watch))[1] == asked
    shown = Received(B, Changes(1, (far,)))
    assert after(Requested(watch), shown)[1] == (Report(Seen(1, (far,))),)
    assert after(Requested(watch), Requested(Unwatch(1)))[1] == (Send(B, Unwatch(1)), Send(C, Unwatch(1)))
    assert after(Requested(watch), Requested(Unwatch(1)), shown)[1] == ()
    assert after(Requested(Unwatch(1)))[1] == ()


def test_what_a_crashed_slot_kept_is_said_again() -> None:
    """Holders publish again, watchers watch again, and what it had shown is out of view until it is shown anew."""
    mine, theirs, elsewhere = kept_at(B, A, 1), kept_at(B, C, 2), kept_at(C, A, 3)
    watch = Watch(1, "number")
    events = (Requested(Publish((mine, elsewhere))), Requested(watch), Received(B, Changes(1, (theirs,))))
    assert after(*events, PeerRestarted(B))[1] == (
        Send(B, Publish((mine,))),
        Send(B, watch),
        Report(Seen(1, (), (theirs.place,))),
    )


def test_a_slot_forgets_what_a_crashed_node_said() -> None:
    """Its entries are withdrawn, which is told to who watches, and it watches no more."""
    theirs, other = kept_at(A, B, 2), kept_at(A, C, 3)
    watches = (Received(B, Watch(1, "number")), Received(C, Watch(1, "number")))
    events = (*watches, Received(B, Publish((theirs,))), Received(C, Publish((other,))))
    state, effects = after(*events, PeerRestarted(B))
    assert effects == (Send(C, Changes(1, (), (theirs.place,))),)
    assert set(state.slot.listed) == {other.place}
    assert [one.node for one in state.slot.watchers["number"]] == [C]


def test_a_ring_without_nodes_is_refused() -> None:
    """Nobody could keep anything."""
    with pytest.raises(Misuse):
        Ring(())
