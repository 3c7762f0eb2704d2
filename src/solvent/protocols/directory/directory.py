"""A directory of molecules, spread over the nodes: each node keeps a slot, lists its own molecules, seeks and watches.

An entry lives at the slot that consistent hashing gives its shape and key. So a query for one key asks one slot. Any
other `Find` visits the slots one after the other, beginning at the asker's own, until it has enough; a `Watch` asks all
of them at once, and they tell of every change until `Unwatch`.

The directory is a hint: an entry may be out of date when it is used, and capture finds that out. But it must not stay
so. In peace that follows from the link, which loses nothing and keeps the order. Nothing is saved, because everybody
can say again what is lost in a crash:

- *A slot crashes.* Every holder lists its molecules of that slot again and every watcher watches again, when each hears
  of it. What the slot had shown is out of view until then.
- *A holder or a watcher crashes.* Every slot forgets what it said. Its new life lists what it has left.

For this every node must hear of every restart (`PeerRestarted`), before anything the new life says; a link that
announces each new life to all gives that. Queries are numbered by the program, each number once in a life.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, assert_never

from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import MoleculeId, Place
from solvent.protocols.directory.messages import (
    Bounds,
    Changes,
    DirectoryMessage,
    Entry,
    Find,
    Found,
    Matches,
    Publish,
    Seen,
    Unwatch,
    Watch,
)
from solvent.protocols.directory.slot import SlotState, SlotStep, forgotten, found, published, unwatched, watched
from solvent.protocols.machine import (
    Answered,
    Chosen,
    Configured,
    Draft,
    Event,
    NodeId,
    NodeState,
    PeerRestarted,
    Received,
    Requested,
    Step,
    TimerFired,
    Value,
)
from solvent.protocols.maps import Map

if TYPE_CHECKING:
    from solvent.protocols.directory.ring import Ring


class Finding(Value, frozen=True, gc=False):
    """A `Find` under way: what is still wanted, from whom, what came so far."""

    find: Find
    #: The slots to ask; the first has been asked.
    slots: tuple[NodeId, ...]
    entries: tuple[Entry, ...] = ()


class View(Value, frozen=True, gc=False):
    """What a `Watch` shows, and which slot showed it."""

    watch: Watch
    shown: Map[Place, NodeId] = Map()


class DirectoryState(NodeState, gc=False):
    """One node's part of the directory."""

    slot: SlotState = SlotState()
    #: What this node lists, and which slot keeps it.
    mine: Map[MoleculeId, tuple[NodeId, Entry]] = Map()
    findings: Map[int, Finding] = Map()
    views: Map[int, View] = Map()


class Part(NamedTuple):
    """Which node it is, and where slots are."""

    node: NodeId
    ring: Ring


Now: TypeAlias = Draft[Part, DirectoryState]
Directory: TypeAlias = Configured[Part, DirectoryState]


def directory_node(node: NodeId, ring: Ring) -> Directory:
    """Make the machine of a node."""
    return Configured(start, step, Part(node, ring))


def start(_part: Part, _saved: tuple[Any, ...] = (), _life: int = 0) -> Step[DirectoryState]:
    """Begin with nothing."""
    return DirectoryState(), ()


def step(part: Part, state: DirectoryState, event: Event) -> Step[DirectoryState]:
    """Take one event."""
    now = Draft(part, replace(state))
    match event:
        case Received(sender, message):
            on_message(now, sender, message)
        case Requested(request):
            on_request(now, request)
        case PeerRestarted(peer):
            on_peer_restarted(now, peer)
        case TimerFired() | Answered() | Chosen():
            pass
        case _:
            assert_never(event)
    return now.state, tuple(now.effects)


def on_message(now: Now, sender: NodeId, message: DirectoryMessage) -> None:
    """Take a message: the first four are to this node's slot, the others from slots."""
    state = now.state
    match message:
        case Publish():
            change_slot(now, published(state.slot, sender, message))
        case Find():
            send(now, sender, found(state.slot, sender, message))
        case Watch():
            change_slot(now, watched(state.slot, sender, message))
        case Unwatch(query):
            state.slot = unwatched(state.slot, sender, query)
        case Matches():
            on_matches(now, sender, message)
        case Changes():
            on_changes(now, sender, message)
        case _:
            assert_never(message)


def on_request(now: Now, request: Publish | Find | Watch | Unwatch) -> None:
    """Take what the program wants."""
    state = now.state
    match request:
        case Publish(added, withdrawn):
            publish(now, added, withdrawn)
        case Find():
            assert request.query not in state.findings, "a program gives each query a number of its own"
            slots = slots_of(now, request.shape, request.bounds)
            state.findings = state.findings.set(request.query, Finding(request, slots))
            send(now, slots[0], request)
        case Watch():
            # Else the view began anew, and what the first one showed would never go out of sight.
            assert request.query not in state.views, "a program gives each query a number of its own"
            state.views = state.views.set(request.query, View(request))
            for slot in slots_of(now, request.shape, request.bounds):
                send(now, slot, request)
        case Unwatch(query):
            view = state.views.get(query)
            if view is not None:
                state.views = state.views.delete(query)
                for slot in slots_of(now, view.watch.shape, view.watch.bounds):
                    send(now, slot, request)
        case _:
            assert_never(request)


def slots_of(now: Now, shape: str, bounds: Bounds) -> tuple[NodeId, ...]:
    """Return the slots where entries of a shape within bounds may be, nearest first."""
    part, only = now.config, bounds.only
    return part.ring.from_node(part.node) if only is None else (part.ring.slot_of(shape, only),)


def send(now: Now, to: NodeId, message: DirectoryMessage) -> None:
    """Send a message; one to oneself is taken at once."""
    if to == now.config.node:
        on_message(now, to, message)
    else:
        now.send(to, message)


def change_slot(now: Now, change: SlotStep) -> None:
    """Change this node's slot, and tell its watchers."""
    now.state.slot, sends = change
    for one in sends:
        send(now, one.to, one.message)


# ----------------------------------------------------------------------------------------------------------- holder


def publish(now: Now, added: tuple[Entry, ...], withdrawn: tuple[MoleculeId, ...]) -> None:
    """Inform each slot at once of all that changes there."""
    mine = now.state.mine
    batches: dict[NodeId, tuple[list[Entry], list[MoleculeId]]] = {}
    for molecule in withdrawn:
        known = mine.get(molecule)
        if known is not None:
            mine = mine.delete(molecule)
            batches.setdefault(known[0], ([], []))[1].append(molecule)
    for entry in added:
        assert entry.holder == now.config.node, "a node lists its own molecules"
        if entry.molecule not in mine:
            slot = now.config.ring.slot_of(entry.shape, entry.order)
            mine = mine.set(entry.molecule, (slot, entry))
            batches.setdefault(slot, ([], []))[0].append(entry)
    now.state.mine = mine
    for to, (come, gone) in batches.items():
        send(now, to, Publish(tuple(come), tuple(gone)))


# ----------------------------------------------------------------------------------------------- seeker and watcher


def on_matches(now: Now, slot: NodeId, matches: Matches) -> None:
    """Add what a slot has found."""
    finding = now.state.findings.get(matches.query)
    if finding is not None and finding.slots[0] == slot:
        go_on(now, replace(finding, entries=finding.entries + matches.entries))


def go_on(now: Now, finding: Finding) -> None:
    """Ask the next slot, or be content."""
    state, find = now.state, finding.find
    slots = finding.slots[1:]
    limit = find.limit - len(finding.entries)
    if limit <= 0 or not slots:
        state.findings = state.findings.delete(find.query)
        now.report(Found(find.query, finding.entries))
    else:
        state.findings = state.findings.set(find.query, replace(finding, slots=slots))
        send(now, slots[0], replace(find, limit=limit))


def on_changes(now: Now, slot: NodeId, changes: Changes) -> None:
    """Change a view; one that the slot has not yet heard is watched no more is gone."""
    view = now.state.views.get(changes.query)
    if view is None:
        return
    shown = view.shown
    for place in changes.removed:
        if place in shown:
            shown = shown.delete(place)
    for entry in changes.added:
        shown = shown.set(entry.place, slot)
    now.state.views = now.state.views.set(changes.query, replace(view, shown=shown))
    now.report(Seen(changes.query, changes.added, changes.removed))


# ---------------------------------------------------------------------------------------------------------- restart


def on_peer_restarted(now: Now, peer: NodeId) -> None:
    """Forget what the peer said, and say again what it must know."""
    state = now.state
    change_slot(now, forgotten(state.slot, peer))
    mine = sorted((entry for slot, entry in state.mine.values() if slot == peer), key=lambda entry: entry.molecule)
    if mine:
        now.send(peer, Publish(tuple(mine)))
    for query, view in sorted(state.views.items()):
        if peer not in slots_of(now, view.watch.shape, view.watch.bounds):
            continue
        now.send(peer, view.watch)
        gone = tuple(sorted(place for place, slot in view.shown.items() if slot == peer))
        if gone:
            shown = view.shown
            for place in gone:
                shown = shown.delete(place)
            state.views = state.views.set(query, replace(view, shown=shown))
            now.report(Seen(query, (), gone))
    for _, finding in sorted(state.findings.items()):
        if finding.slots[0] == peer:
            # What the slot had is gone for now; another one may have enough.
            go_on(now, finding)


__all__ = ["Directory", "DirectoryState", "Finding", "View", "directory_node"]
