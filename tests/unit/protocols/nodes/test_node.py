"""One node: what goes to which part, when it is active, and all that nodes say as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent.protocols.capture.moving import IDLE, MovingConfig, moving_node
from solvent.protocols.capture.vocabulary import (
    Arrived,
    Combination,
    MoleculeId,
    Rewrite,
    RuleId,
    Wake,
)
from solvent.protocols.directory import Ring, directory_node
from solvent.protocols.inertia import detector_node
from solvent.protocols.inertia.messages import NEVER, Awake, Probe
from solvent.protocols.link import AllTaken
from solvent.protocols.machine import (
    Answered,
    Cheap,
    Machine,
    NodeId,
    Received,
    Report,
    Requested,
    Send,
)
from solvent.protocols.nodes import Idle, Offer, Parts, PartsState, Working, offered, packed, unpacked, whole_node
from solvent.protocols.nodes.offers import listing

if TYPE_CHECKING:
    from solvent.protocols.machine import Effects, Event


A, B = NODES = (NodeId(0), NodeId(1))
RING = Ring(NODES)
ADD = RuleId(0)
NOTHING = Answered(Combination(ADD, ()))
PROBE = Probe((0, 0, 1), NEVER, is_black=False)


def offer_kept_at(slot: NodeId) -> Offer:
    """Make an offer that is listed at a slot."""
    key = next(key for key in range(1000) if RING.slot_of("number", key) == slot)
    return Offer(key, "number", key)


FAR, NEAR = offer_kept_at(A), offer_kept_at(B)
FIRST = MoleculeId(1)


def node_with(*molecules: tuple[int, Offer]) -> Machine[PartsState]:
    """Build node B with these molecules."""
    first = tuple((MoleculeId(number), packed(offer)) for number, offer in molecules)
    return whole_node(
        Parts(
            moving_node(MovingConfig(B, first, confirm=True)),
            directory_node(B, RING),
            detector_node(B, NODES),
            is_busy=lambda state: state.phase != IDLE,
            molecules=first,
        )
    )


def after(
    node: Machine[PartsState], *events: Event, saved: tuple[Any, ...] = (), life: int = 0
) -> tuple[PartsState, Effects]:
    """Give a node these events, in order; and the effects of the last."""
    state, effects = node.start(saved, life)
    for event in events:
        state, effects = node.step(state, event)
    return state, effects


def test_what_nobody_should_find_is_not_listed() -> None:
    """An offer without a shape is known to its program alone."""
    _, effects = node_with((1, Offer("result"))).start()
    assert not any(isinstance(effect, Send) for effect in effects)
    assert Report(Arrived(FIRST, Offer("result"))) in effects


QUIET = (NOTHING, Requested(Idle(1)), Requested(AllTaken()))
"""What brings a node with molecules to rest."""


def test_a_node_is_passive_when_nothing_can_come_from_it() -> None:
    """Capture rests, the program is idle, all that was sent is taken: each alone keeps the probe."""
    node = node_with((1, FAR))
    passed = Send(A, Cheap(PROBE))
    for missing in range(len(QUIET)):
        events = [event for number, event in enumerate(QUIET) if number != missing]
        state, effects = after(node, *events, Received(A, PROBE))
        assert (state.detector.is_active, effects) == (True, ())
        _, effects = node.step(state, QUIET[missing])
        assert [type(effect.message) for effect in effects if isinstance(effect, Send)] == [Cheap]
    assert after(node_with(), NOTHING, Requested(Idle(0)), Received(A, PROBE))[1] == (passed,)


def test_idle_counts_only_for_what_the_program_had_heard() -> None:
    """A program that was told something since is not idle."""
    node = node_with((1, FAR))
    state, _ = after(node, NOTHING, Requested(AllTaken()), Requested(Idle(0)))
    assert state.detector.is_active
    state, _ = node.step(state, Requested(Idle(1)))
    assert not state.detector.is_active


def test_what_comes_from_outside_is_told_to_the_initiator() -> None:
    """Whether the program begins to work by itself, looks again, or puts a molecule in."""
    node = node_with((1, FAR))
    for request in (Working(), Wake(), Rewrite((), (NEAR,))):
        state, effects = after(node, *QUIET, Requested(request))
        assert Send(A, Awake()) in effects
        assert (state.detector.is_active, state.is_out) == (True, True)


OFFERS = [
    Offer("5", "int", 5),
    Offer("x", "int", 10**5000),
    Offer("\ud800", "text", "\ud800"),
    Offer(7, "pair", (1, ("a", float("inf")))),
    Offer("alone"),
]


@pytest.mark.parametrize("offer", OFFERS, ids=range(len(OFFERS)))
def test_an_offer_survives_being_packed(offer: Offer) -> None:
    """Whatever its key, also such as no codec would carry."""
    text = packed(offer)
    assert unpacked(text) == offer
    assert text.isascii()
    entry = listing(MoleculeId(1), NodeId(0), text)
    assert entry is None if offer.shape is None else entry is not None and offered(entry) == offer


ENTRY = listing(MoleculeId(1), NodeId(0), packed(OFFERS[1]))
assert ENTRY is not None
