"""The directory against a plain sorted list, and its ring against arithmetic."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from solvent.protocols.capture.vocabulary import MoleculeId
from solvent.protocols.directory import (
    Bounds,
    Entry,
    Find,
    Found,
    Publish,
    Ring,
    Seen,
    Watch,
    bounds,
    directory_node,
    entry,
)
from solvent.protocols.directory.keys import Key, digest, key_from_text, rank, text_from_key
from solvent.protocols.machine import NodeId, PeerRestarted, Received, Report, Requested, Send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.protocols.machine import Effects, Event

numbers = st.integers() | st.floats(allow_nan=False) | st.booleans()
plain_keys = st.recursive(
    numbers | st.floats() | st.text(st.characters(codec=None)),
    lambda keys: st.lists(keys, max_size=3).map(tuple),
    max_leaves=5,
)
few_keys = st.integers(0, 9) | st.sampled_from([1.0, 2.5, "a", "b", (1, "a"), (1, 2)])
SHAPES = ("number", "pair")


# ---------------------------------------------------------------------------------------------------------- keys


@given(plain_keys)
def test_a_key_survives_being_written(key: Key) -> None:
    """Reading what was written gives a key of the same rank and type."""
    again = key_from_text(text_from_key(key))
    assert rank(again) == rank(key)
    assert type(again) is type(key)
    assert text_from_key(key).isascii()


@given(st.lists(plain_keys, max_size=6))
def test_all_keys_have_one_order(keys: list[Key]) -> None:
    """Any keys can be sorted, and sorting does not depend on where they were before."""
    ranks = sorted(map(rank, keys))
    assert sorted(map(rank, reversed(keys))) == ranks


@given(numbers, numbers)
def test_numbers_are_ordered_by_size(one: float, other: float) -> None:
    """Where Python compares numbers, ranks compare the same."""
    assert (rank(one) < rank(other)) == (one < other)
    assert (rank(one) == rank(other)) == (one == other)


@given(st.lists(numbers, max_size=3).map(tuple))
def test_keys_of_one_rank_have_one_slot(key: tuple[float, ...]) -> None:
    """`1`, `1.0` and `True` are looked for in the same place."""
    as_floats = tuple(float(part) if float_equals(part) else part for part in key)
    assert digest("pair", as_floats) == digest("pair", key)


def float_equals(number: float) -> bool:
    """Say whether a number has a float that equals it."""
    try:
        return float(number) == number
    except OverflowError:
        return False


# ---------------------------------------------------------------------------------------------------------- ring


@given(st.sets(st.integers(0, 1000), min_size=2, max_size=16), st.data())
def test_only_what_a_leaving_node_had_moves(names: set[int], data: st.DataObject) -> None:
    """Every number keeps its node unless that node leaves."""
    nodes = tuple(map(NodeId, sorted(names)))
    leaver = data.draw(st.sampled_from(nodes))
    before, after = Ring(nodes), Ring(tuple(node for node in nodes if node != leaver))
    moved = 0
    for number in range(500):
        slot = before.slot_of("number", number)
        if slot == leaver:
            moved += 1
        else:
            assert after.slot_of("number", number) == slot
    # About a share of one in n: the points spread by chance, so a share may be twice the mean, not more.
    assert moved <= 2 * 500 / len(nodes) + 25


# -------------------------------------------------------------------------------------------------------- oracle


class Nodes:
    """Directories of a few nodes whose messages are carried at once, and a plain list of what is true."""

    def __init__(self, count: int) -> None:
        names = tuple(map(NodeId, range(count)))
        ring = Ring(names, points=8)
        self.machines = [directory_node(node, ring) for node in names]
        self.states = [machine.start()[0] for machine in self.machines]
        self.listed: dict[MoleculeId, Entry] = {}
        self.views: dict[tuple[int, int], tuple[Watch, dict[Any, Entry]]] = {}
        self.found: Found | None = None

    def take(self, node: int, event: Event) -> None:
        """Let a node take an event, and carry messages until none is left."""
        waiting: deque[tuple[int, Event]] = deque([(node, event)])
        while waiting:
            to, event = waiting.popleft()
            self.states[to], effects = self.machines[to].step(self.states[to], event)
            self._carry(to, effects, waiting)

    def _carry(self, node: int, effects: Effects, waiting: deque[tuple[int, Event]]) -> None:
        for effect in effects:
            match effect:
                case Send(to, message):
                    waiting.append((to, Received(NodeId(node), message)))
                case Report(Seen(query, added, removed)):
                    _, view = self.views[node, query]
                    for place in removed:
                        del view[place]
                    view.update((one.place, one) for one in added)
                case Report(Found() as found):
                    self.found = found

    def publish(self, node: int, added: Iterable[Entry], withdrawn: Iterable[MoleculeId]) -> None:
        """List molecules, and list others no longer."""
        withdrawn = tuple(one for one in withdrawn if one in self.listed and self.listed[one].holder == node)
        added = tuple(added)
        for molecule in withdrawn:
            del self.listed[molecule]
        self.listed.update((one.molecule, one) for one in added)
        self.take(node, Requested(Publish(added, withdrawn)))

    def crash(self, node: int) -> None:
        """Let a node forget everything, and list and watch again what it needs."""
        self.states[node], _ = self.machines[node].start((), 1)
        mine = tuple(one for one in self.listed.values() if one.holder == node)
        watches = [watch for (watcher, _), (watch, _) in self.views.items() if watcher == node]
        for other in range(len(self.machines)):
            if other != node:
                self.take(other, PeerRestarted(NodeId(node)))
        for watch in watches:
            self.views[node, watch.query] = (watch, {})
            self.take(node, Requested(watch))
        self.take(node, Requested(Publish(mine)))

    def matching(self, shape: str, within: Bounds) -> list[Entry]:
        """Give what the plain list has."""
        return [one for one in self.listed.values() if one.shape == shape and rank(one.order) in within]

    def agree(self) -> None:
        """Compare all views with the plain list."""
        for watch, view in self.views.values():
            assert sorted(view.values(), key=number) == sorted(self.matching(watch.shape, watch.bounds), key=number)


number: Callable[[Entry], int] = lambda one: one.molecule  # noqa: E731 - a key with a name

any_bounds = st.builds(
    bounds,
    st.none() | few_keys,
    st.none() | few_keys,
    is_lower_open=st.booleans(),
    is_upper_open=st.booleans(),
)


@given(st.integers(1, 4), st.data())
def test_views_and_findings_are_those_of_a_plain_list(count: int, data: st.DataObject) -> None:
    """Whatever is published, withdrawn, watched, and whoever crashes: at rest the directory shows what is true."""
    nodes = Nodes(count)
    some_node = st.integers(0, count - 1)
    for turn in range(data.draw(st.integers(1, 12))):
        node = data.draw(some_node)
        match data.draw(st.sampled_from(["publish", "publish", "publish", "watch", "find", "crash"])):
            case "publish":
                keys = data.draw(st.lists(st.tuples(st.sampled_from(SHAPES), few_keys), max_size=4))
                added = [
                    entry(MoleculeId(turn * 10 + index), NodeId(node), shape, key, index)
                    for index, (shape, key) in enumerate(keys)
                ]
                gone = data.draw(st.lists(st.sampled_from(sorted(nodes.listed)), unique=True)) if nodes.listed else []
                nodes.publish(node, added, gone)
            case "watch":
                watch = Watch(turn, data.draw(st.sampled_from(SHAPES)), data.draw(any_bounds))
                nodes.views[node, turn] = (watch, {})
                nodes.take(node, Requested(watch))
            case "find":
                check_find(nodes, node, turn, data)
            case "crash":
                nodes.crash(node)
        nodes.agree()


def check_find(nodes: Nodes, node: int, query: int, data: st.DataObject) -> None:
    """Compare what a search finds with the plain list."""
    shape, within = data.draw(st.sampled_from(SHAPES)), data.draw(any_bounds)
    limit, exclude = data.draw(st.integers(1, 5)), data.draw(st.lists(st.integers(0, 30), max_size=3))
    excluded = tuple(map(MoleculeId, exclude))
    nodes.take(node, Requested(Find(query, shape, within, limit, excluded)))
    expected = [one for one in nodes.matching(shape, within) if one.molecule not in excluded]
    assert nodes.found is not None
    entries = nodes.found.entries
    assert len(entries) == min(limit, len(expected))
    assert len(set(entries)) == len(entries)
    assert set(entries) <= set(expected)
