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

from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import MoleculeId, Place
from solvent.protocols.directory.messages import (
    Bounds,
    Changes,
    Entry,
    Find,
    Found,
    Matches,
    Publish,
    Seen,
    Unwatch,
    Watch,
)
from solvent.protocols.directory.slot import SlotState, forgotten, found, published, unwatched, watched
from solvent.protocols.machine import (
    Answered,
    Chosen,
    Effect,
    Event,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Send,
    Step,
    TimerFired,
    Value,
)

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


class DirectoryState(Value, frozen=True, gc=False):
    """One node's part of the directory."""

    slot: SlotState = SlotState()
    #: What this node lists, and which slot keeps it.
    mine: Map[MoleculeId, tuple[NodeId, Entry]] = Map()
    findings: Map[int, Finding] = Map()
    views: Map[int, View] = Map()


DirectoryStep: TypeAlias = Step[DirectoryState]


class Directory:
    """One node of the directory."""

    def __init__(self, node: NodeId, ring: Ring) -> None:
        self.node = node
        self.ring = ring

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> DirectoryStep:
        """Begin with nothing."""
        del saved, life
        return DirectoryState(), ()

    def step(self, state: DirectoryState, event: Event) -> DirectoryStep:
        """Take one event."""
        match event:
            case Received(sender, message):
                return self._on_message(state, sender, message)
            case Requested(request):
                return self._on_request(state, request)
            case PeerRestarted(peer):
                return self._on_peer_restarted(state, peer)
            case TimerFired() | Answered() | Chosen():
                return state, ()
            case _:
                assert_never(event)

    def _on_message(self, state: DirectoryState, sender: NodeId, message: Any) -> DirectoryStep:
        match message:
            case Publish():
                return self._on_slot(state, published(state.slot, sender, message))
            case Find():
                return self._sent(state, (Send(sender, found(state.slot, sender, message)),))
            case Watch():
                return self._on_slot(state, watched(state.slot, sender, message))
            case Unwatch(query):
                return replace(state, slot=unwatched(state.slot, sender, query)), ()
            case Matches():
                return self._on_matches(state, sender, message)
            case Changes():
                return self._on_changes(state, sender, message)
            case _:
                return state, ()

    def _on_request(self, state: DirectoryState, request: Any) -> DirectoryStep:
        match request:
            case Publish(added, withdrawn):
                return self._publish(state, added, withdrawn)
            case Find():
                assert request.query not in state.findings, "a program gives each query a number of its own"
                slots = self._slots(request.shape, request.bounds)
                finding = Finding(request, slots)
                state = replace(state, findings=state.findings.set(request.query, finding))
                return self._sent(state, (Send(slots[0], request),))
            case Watch():
                # Else the view began anew, and what the first one showed would never go out of sight.
                assert request.query not in state.views, "a program gives each query a number of its own"
                state = replace(state, views=state.views.set(request.query, View(request)))
                return self._sent(state, [Send(slot, request) for slot in self._slots(request.shape, request.bounds)])
            case Unwatch(query):
                return self._unwatch(state, query)
            case _:
                return state, ()

    def _slots(self, shape: str, bounds: Bounds) -> tuple[NodeId, ...]:
        """Give the slots where entries of a shape within bounds may be, nearest first."""
        only = bounds.only
        return self.ring.from_node(self.node) if only is None else (self.ring.slot_of(shape, only),)

    def _sent(self, state: DirectoryState, sends: tuple[Send, ...] | list[Send]) -> DirectoryStep:
        """Send messages; those to oneself are taken at once."""
        effects: list[Effect] = []
        for send in sends:
            if send.to == self.node:
                state, more = self._on_message(state, self.node, send.message)
                effects += more
            else:
                effects.append(send)
        return state, tuple(effects)

    def _on_slot(self, state: DirectoryState, step: tuple[SlotState, tuple[Send, ...]]) -> DirectoryStep:
        slot, sends = step
        return self._sent(replace(state, slot=slot), sends)

    # ------------------------------------------------------------------------------------------------ holder

    def _publish(
        self, state: DirectoryState, added: tuple[Entry, ...], withdrawn: tuple[MoleculeId, ...]
    ) -> DirectoryStep:
        """Tell each slot at once all that changes there."""
        mine = state.mine
        batches: dict[NodeId, tuple[list[Entry], list[MoleculeId]]] = {}
        for molecule in withdrawn:
            known = mine.get(molecule)
            if known is not None:
                mine = mine.delete(molecule)
                batches.setdefault(known[0], ([], []))[1].append(molecule)
        for entry in added:
            assert entry.holder == self.node, "a node lists its own molecules"
            if entry.molecule not in mine:
                slot = self.ring.slot_of(entry.shape, entry.order)
                mine = mine.set(entry.molecule, (slot, entry))
                batches.setdefault(slot, ([], []))[0].append(entry)
        sends = [Send(to, Publish(tuple(come), tuple(gone))) for to, (come, gone) in batches.items()]
        return self._sent(replace(state, mine=mine), sends)

    # ------------------------------------------------------------------------------------- seeker and watcher

    def _on_matches(self, state: DirectoryState, slot: NodeId, matches: Matches) -> DirectoryStep:
        finding = state.findings.get(matches.query)
        if finding is None or finding.slots[0] != slot:
            return state, ()
        return self._go_on(state, replace(finding, entries=finding.entries + matches.entries))

    def _go_on(self, state: DirectoryState, finding: Finding) -> DirectoryStep:
        """Ask the next slot, or be content."""
        find = finding.find
        slots = finding.slots[1:]
        limit = find.limit - len(finding.entries)
        if limit <= 0 or not slots:
            state = replace(state, findings=state.findings.delete(find.query))
            return state, (Report(Found(find.query, finding.entries)),)
        state = replace(state, findings=state.findings.set(find.query, replace(finding, slots=slots)))
        return self._sent(state, (Send(slots[0], replace(find, limit=limit)),))

    def _on_changes(self, state: DirectoryState, slot: NodeId, changes: Changes) -> DirectoryStep:
        view = state.views.get(changes.query)
        if view is None:
            # Sent before the slot heard that nobody watches any more.
            return state, ()
        shown = view.shown
        for place in changes.removed:
            if place in shown:
                shown = shown.delete(place)
        for entry in changes.added:
            shown = shown.set(entry.place, slot)
        state = replace(state, views=state.views.set(changes.query, replace(view, shown=shown)))
        return state, (Report(Seen(changes.query, changes.added, changes.removed)),)

    def _unwatch(self, state: DirectoryState, query: int) -> DirectoryStep:
        view = state.views.get(query)
        if view is None:
            return state, ()
        state = replace(state, views=state.views.delete(query))
        slots = self._slots(view.watch.shape, view.watch.bounds)
        return self._sent(state, [Send(slot, Unwatch(query)) for slot in slots])

    # ------------------------------------------------------------------------------------------------ restart

    def _on_peer_restarted(self, state: DirectoryState, peer: NodeId) -> DirectoryStep:
        """Forget what the peer said, and say again what it must know."""
        state, effects = self._on_slot(state, forgotten(state.slot, peer))
        lost: list[Effect] = []
        mine = [entry for slot, entry in state.mine.values() if slot == peer]
        mine.sort(key=lambda entry: entry.molecule)
        if mine:
            lost.append(Send(peer, Publish(tuple(mine))))
        for query, view in sorted(state.views.items()):
            if peer not in self._slots(view.watch.shape, view.watch.bounds):
                continue
            lost.append(Send(peer, view.watch))
            gone = tuple(sorted(place for place, slot in view.shown.items() if slot == peer))
            if gone:
                shown = view.shown
                for place in gone:
                    shown = shown.delete(place)
                state = replace(state, views=state.views.set(query, replace(view, shown=shown)))
                lost.append(Report(Seen(query, (), gone)))
        for _, finding in sorted(state.findings.items()):
            if finding.slots[0] == peer:
                # What the slot had is gone for now; another one may have enough.
                state, more = self._go_on(state, finding)
                lost += more
        return state, (*effects, *lost)


__all__ = ["Directory", "DirectoryState", "DirectoryStep", "Finding", "View"]
