"""Models of the directory: molecules come, go and move, nodes watch, search and crash; at rest every view is true.

A `Lister` is a node that has molecules and lists them. It saves which it has, as capture does, so that after a crash
it lists again what it has left; a molecule that moves is in a message between two listers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import MoleculeId, Place
from solvent.protocols.directory.directory import Directory, DirectoryState, directory_node
from solvent.protocols.directory.invariants import a_view_shows_what_there_is, slots_list_what_there_is
from solvent.protocols.directory.messages import Entry, Find, Publish, Seen, Watch, bounds, entry
from solvent.protocols.directory.ring import Ring
from solvent.protocols.machine import (
    Effect,
    Event,
    Message,
    NodeId,
    Received,
    Report,
    Requested,
    Save,
    Send,
    Step,
    Value,
)
from solvent_lab.checker.model import Asking, Crashes, Model, Network, Order

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.checker.world import World

SHAPE = "number"


class Put(Value, frozen=True, gc=False):
    """Requested: have this molecule."""

    molecule: MoleculeId
    key: int


class Remove(Value, frozen=True, gc=False):
    """Requested: have this molecule no longer, if you have it."""

    molecule: MoleculeId


class Move(Value, frozen=True, gc=False):
    """Requested: give this molecule to another node, if you have it."""

    molecule: MoleculeId
    to: NodeId


class Moved(Message, frozen=True, gc=False):
    """A molecule on its way."""

    molecule: MoleculeId
    key: int


class ListerState(Value, frozen=True, gc=False):
    """One node: its part of the directory, its molecules by number with their keys, what it sees."""

    directory: DirectoryState
    molecules: tuple[tuple[MoleculeId, int], ...] = ()
    view: frozenset[Place] = frozenset()


ListerStep: TypeAlias = Step[ListerState]


class Lister:
    """One node that lists its molecules, and sees those of others if it has a watch."""

    def __init__(
        self, directory: Directory, molecules: tuple[tuple[MoleculeId, int], ...], watch: Watch | None
    ) -> None:
        self.directory = directory
        self.node = directory.config.node
        self.molecules = molecules
        self.watch = watch

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> ListerStep:
        """List what there is, and watch."""
        inner, _ = self.directory.start((), life)
        molecules = saved[-1] if saved else self.molecules
        state, effects = self._told(ListerState(inner, molecules), Requested(Publish(self.entries(molecules))))
        if self.watch is None:
            return state, effects
        state, more = self._told(state, Requested(self.watch))
        return state, effects + more

    def step(self, state: ListerState, event: Event) -> ListerStep:
        """Take one event."""
        match event:
            case Received(_, Moved(molecule, key)) | Requested(Put(molecule, key)):
                return self._has(state, (*state.molecules, (molecule, key)))
            case Requested(Remove(molecule)):
                return self._has(state, tuple(one for one in state.molecules if one[0] != molecule))
            case Requested(Move(molecule, to)):
                moved = [Send(to, Moved(*one)) for one in state.molecules if one[0] == molecule]
                state, effects = self._has(state, tuple(one for one in state.molecules if one[0] != molecule))
                return state, (*effects, *moved)
            case _:
                return self._told(state, event)

    def entries(self, molecules: tuple[tuple[MoleculeId, int], ...]) -> tuple[Entry, ...]:
        """Return the entries of molecules at this node."""
        return tuple(entry(molecule, self.node, SHAPE, key) for molecule, key in molecules)

    def _has(self, state: ListerState, molecules: tuple[tuple[MoleculeId, int], ...]) -> ListerStep:
        added = self.entries(tuple(one for one in molecules if one not in state.molecules))
        gone = tuple(one[0] for one in state.molecules if one not in molecules)
        state, effects = self._told(replace(state, molecules=molecules), Requested(Publish(added, gone)))
        return state, (Save(molecules), *effects)

    def _told(self, state: ListerState, event: Event) -> ListerStep:
        inner, effects = self.directory.step(state.directory, event)
        state = replace(state, directory=inner)
        passed: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Report) and isinstance(effect.outcome, Seen):
                seen = effect.outcome
                view = state.view.difference(seen.removed).union(one.place for one in seen.added)
                state = replace(state, view=view)
            elif not isinstance(effect, Report):
                passed.append(effect)
        return state, tuple(passed)


# ---------------------------------------------------------------------------------------------------------- models


def key_at(ring: Ring, slot: int, number: int = 0) -> int:
    """Return the `number`-th key that belongs to a slot."""
    return [key for key in range(1000) if ring.slot_of(SHAPE, key) == slot][number]


def model(
    nodes_count: int,
    places: tuple[tuple[int, int], ...],
    *,
    watchers: tuple[int, ...] = (0,),
    requests: Callable[[Ring], tuple[tuple[int, Any], ...]] = lambda _ring: (),
    crashes: Crashes | None = None,
    is_bounded: bool = False,
    title: str = "",
) -> Model:
    """Build a world in which molecule n begins at the n-th holder, with a key that belongs to the n-th slot."""
    nodes = tuple(map(NodeId, range(nodes_count)))
    ring = Ring(nodes, points=4)
    within = bounds(0, key_at(ring, 1)) if is_bounded else bounds()
    watch = Watch(1, SHAPE, within)
    listers = []
    for node in nodes:
        molecules = tuple(
            (MoleculeId(number), key_at(ring, slot)) for number, (holder, slot) in enumerate(places) if holder == node
        )
        listers.append(Lister(directory_node(node, ring), molecules, watch if node in watchers else None))

    def at_rest_the_directory_shows_what_there_is(world: World) -> str | None:
        if not world.is_quiet or not all(node.is_up for node in world.nodes):
            return None
        states: tuple[ListerState, ...] = world.states
        entries = [
            one for lister, state in zip(listers, states, strict=True) for one in lister.entries(state.molecules)
        ]
        wrong = slots_list_what_there_is([state.directory for state in states], entries)
        for watcher in watchers:
            wrong = wrong or a_view_shows_what_there_is(watch, states[watcher].view, entries)
        is_seeking = any(state.directory.findings for state in states)
        return wrong or ("a search never ends" if is_seeking else None)

    return Model(
        machines=tuple(listers),
        title=title,
        asking=Asking.AT_ONCE,
        requests=requests(ring),
        network=Network(order=Order.FIFO),
        crashes=crashes or Crashes(),
        invariants=(at_rest_the_directory_shows_what_there_is,),
        goal=lambda world: world.is_quiet,
    )


FIRST, SECOND, _NEW = MoleculeId(0), MoleculeId(1), MoleculeId(7)

MODELS: Mapping[str, Callable[[], Model]] = {
    "coming and going": lambda: model(
        2,
        ((0, 1), (1, 0)),
        watchers=(0, 1),
        requests=lambda ring: (
            (0, Remove(FIRST)),
            (1, Put(_NEW, key_at(ring, 0))),
            (1, Remove(_NEW)),
            (0, Find(5, SHAPE, limit=2)),
        ),
        title="molecules come and go, two nodes watch, one searches",
    ),
    "moving": lambda: model(
        3,
        ((1, 0), (2, 2)),
        watchers=(0, 2),
        requests=lambda _ring: ((1, Move(FIRST, NodeId(2))), (2, Move(FIRST, NodeId(1)))),
        title="a molecule moves to another node and back",
    ),
    "moving, a crash": lambda: model(
        3,
        ((1, 0),),
        requests=lambda _ring: ((1, Move(FIRST, NodeId(2))),),
        crashes=Crashes(count=1),
        title="a molecule moves, and a node crashes",
    ),
    "within bounds": lambda: model(
        2,
        ((0, 1), (1, 0)),
        is_bounded=True,
        requests=lambda ring: ((1, Put(_NEW, key_at(ring, 1, 5))), (0, Remove(FIRST))),
        title="a watcher sees what is within its bounds",
    ),
    "a crash": lambda: model(
        2,
        ((0, 1), (1, 0)),
        watchers=(0, 1),
        requests=lambda ring: ((0, Remove(FIRST)), (1, Put(_NEW, key_at(ring, 1)))),
        crashes=Crashes(count=1),
        title="two nodes, either crashes",
    ),
    "two crashes": lambda: model(
        2, ((0, 1), (1, 0)), crashes=Crashes(count=2), title="two nodes, each may crash, or one twice"
    ),
    "three nodes, a crash": lambda: model(
        3,
        ((1, 2), (2, 1)),
        requests=lambda _ring: ((1, Remove(FIRST)), (0, Find(5, SHAPE, limit=2))),
        crashes=Crashes(count=1),
        title="three nodes: one lists, one keeps, one watches; one crashes",
    ),
}

__all__ = ["FIRST", "MODELS", "SECOND", "Lister", "Move", "Remove", "model"]
