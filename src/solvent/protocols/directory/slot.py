"""A slot: the part of the directory that one node keeps, and whom it tells of changes.

Entries are known by molecule and holder: while a molecule moves, its old holder's withdrawal and its new holder's
publication may come in either order, and neither may undo the other. Within one shape entries stand in the order of
their keys. Whoever watches is told of every change once, in the order in which it happened here.
"""

from __future__ import annotations

from itertools import islice
from typing import TypeAlias

from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import Place
from solvent.protocols.directory.keys import Rank, key_from_text, rank
from solvent.protocols.directory.messages import Changes, Entry, Find, Matches, Publish, Watch
from solvent.protocols.directory.shelf import Shelf
from solvent.protocols.machine import NodeId, Send, Value
from solvent.protocols.maps import Map

MAX_PAGE = 512
"""Entries in one message to a watcher."""
_SPREAD = 0x9E3779B97F4A7C15
"""An odd number far from every simple fraction of 2 ** 64: multiples of it spread evenly."""

Listed: TypeAlias = tuple[Rank, Entry]


class Watcher(Value, frozen=True, gc=False):
    """Who wants to be told of which entries: those between two ranks."""

    node: NodeId
    query: int
    lower: Rank
    upper: Rank


class SlotState(Value, frozen=True, gc=False):
    """What one node keeps of the directory."""

    shelves: Map[str, Shelf] = Map()
    listed: Map[Place, Listed] = Map()
    watchers: Map[str, tuple[Watcher, ...]] = Map()


SlotStep: TypeAlias = tuple[SlotState, tuple[Send, ...]]


def published(state: SlotState, holder: NodeId, publish: Publish) -> SlotStep:
    """Take what a holder says of its molecules."""
    listed = state.listed
    removed = [listed[place] for molecule in publish.withdrawn if (place := (molecule, holder)) in listed]
    gone = {entry.place for _, entry in removed}
    added = [
        (rank(key_from_text(entry.key)), entry)
        for entry in publish.added
        if entry.holder == holder and (entry.place not in listed or entry.place in gone)
    ]
    return _changed(state, added, removed)


def forgotten(state: SlotState, peer: NodeId) -> SlotStep:
    """Forget everything about a node that restarted: its new life says itself what it has and what it wants to see."""
    watchers = Map(
        (shape, kept)
        for shape, them in state.watchers.items()
        if (kept := tuple(one for one in them if one.node != peer))
    )
    removed = [row for place, row in state.listed.items() if place[1] == peer]
    # The order of a hash table is no part of a state; messages must be the same whenever the state is.
    removed.sort(key=lambda row: (row[1].shape, row[0], row[1].molecule))
    return _changed(replace(state, watchers=watchers), [], removed)


def found(state: SlotState, asker: NodeId, find: Find) -> Matches:
    """Give some entries; different askers begin at different ones, so that they do not all want the same."""
    shelf = state.shelves.get(find.shape)
    if shelf is None:
        return Matches(find.query, ())
    excluded = frozenset(find.exclude)
    turn = ((asker + 1) * _SPREAD + find.query * 7919) >> 7
    entries = (entry for entry in shelf.between_from(find.bounds, turn) if entry.molecule not in excluded)
    return Matches(find.query, tuple(islice(entries, max(0, find.limit))))


def watched(state: SlotState, node: NodeId, watch: Watch) -> SlotStep:
    """Show a new watcher all there is, in pages."""
    watcher = Watcher(node, watch.query, *watch.bounds.ranks())
    them = (*state.watchers.get(watch.shape, ()), watcher)
    state = replace(state, watchers=state.watchers.set(watch.shape, them))
    shelf = state.shelves.get(watch.shape)
    entries = tuple(shelf.between(watch.bounds)) if shelf is not None else ()
    return state, _pages(watcher, entries, ())


def unwatched(state: SlotState, node: NodeId, query: int) -> SlotState:
    """Tell a watcher no more."""
    watchers = state.watchers
    for shape, them in state.watchers.items():
        kept = tuple(one for one in them if (one.node, one.query) != (node, query))
        if len(kept) != len(them):
            watchers = watchers.set(shape, kept) if kept else watchers.delete(shape)
    return replace(state, watchers=watchers)


def _changed(state: SlotState, added: list[Listed], removed: list[Listed]) -> SlotStep:
    """Take entries away, put others in, and tell the watchers of their shapes."""
    shelves, listed = state.shelves, state.listed
    for at, entry in removed:
        shelf = shelves[entry.shape].without_entry(at, entry)
        shelves = shelves.set(entry.shape, shelf) if shelf.blocks else shelves.delete(entry.shape)
        listed = listed.delete(entry.place)
    for at, entry in added:
        shelves = shelves.set(entry.shape, shelves.get(entry.shape, _EMPTY).with_entry(at, entry))
        listed = listed.set(entry.place, (at, entry))
    state = replace(state, shelves=shelves, listed=listed)
    sends: list[Send] = []
    for shape in dict.fromkeys(entry.shape for _, entry in (*removed, *added)):
        for watcher in state.watchers.get(shape, ()):
            gone = tuple(entry.place for entry in _shown(watcher, shape, removed))
            sends += _pages(watcher, _shown(watcher, shape, added), gone)
    return state, tuple(sends)


def _shown(watcher: Watcher, shape: str, rows: list[Listed]) -> tuple[Entry, ...]:
    lower, upper = watcher.lower, watcher.upper
    return tuple(entry for at, entry in rows if entry.shape == shape and lower <= (at, 0) < upper)


def _pages(watcher: Watcher, added: tuple[Entry, ...], removed: tuple[Place, ...]) -> tuple[Send, ...]:
    """Tell a watcher what went and came, in messages of no more than a page: first all that went."""
    return tuple(
        Send(watcher.node, Changes(watcher.query, added[start : start + MAX_PAGE], removed if start == 0 else ()))
        for start in range(0, max(len(added), 1 if removed else 0), MAX_PAGE)
    )


_EMPTY = Shelf()

__all__ = ["MAX_PAGE", "SlotState", "Watcher", "forgotten", "found", "published", "unwatched", "watched"]
