"""One node: what goes to which part, what is listed, what the program hears, when it is active."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.capture.moving import Moving
from solvent.protocols.capture.moving_state import IDLE, Given, Kept, MovingConfig, Refused, Take
from solvent.protocols.capture.vocabulary import (
    Arrived,
    AttemptId,
    Combination,
    Discover,
    Gone,
    MoleculeId,
    Products,
    React,
    Reacted,
    Rewrite,
    RuleId,
    Wake,
)
from solvent.protocols.directory import Directory, Publish, Ring, Seen, Watch, entry
from solvent.protocols.directory.messages import Changes
from solvent.protocols.inertia import Detector
from solvent.protocols.inertia.messages import NEVER, Awake, Probe
from solvent.protocols.link import AllTaken, Cheap
from solvent.protocols.machine import (
    Answered,
    Ask,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Save,
    Send,
)
from solvent.protocols.nodes import Idle, Node, NodeState, Offer, Told, Working, packed
from solvent.protocols.nodes.node import LIFE_SHIFT

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


def node_with(*molecules: tuple[int, Offer]) -> Node:
    """Build node B with these molecules."""
    first = tuple((MoleculeId(number), packed(offer)) for number, offer in molecules)
    return Node(
        Moving(MovingConfig(B, first, confirm=True)),
        Directory(B, RING),
        Detector(B, NODES),
        is_busy=lambda state: state.phase != IDLE,
        molecules=first,
    )


def after(node: Node, *events: Event, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[NodeState, Effects]:
    """Give a node these events, in order; and the effects of the last."""
    state, effects = node.start(saved, life)
    for event in events:
        state, effects = node.step(state, event)
    return state, effects


def test_first_molecules_are_listed_and_told() -> None:
    """A node begins by saying what it has: to slots in one message each, and to its program."""
    _, effects = node_with((1, FAR), (2, NEAR)).start()
    assert effects == (
        Report(Told(0)),
        Report(Arrived(FIRST, FAR)),
        Report(Arrived(MoleculeId(2), NEAR)),
        Send(A, Publish((entry(FIRST, B, "number", FAR.key, FAR.value),))),
        Report(Told(1)),
        Ask(Discover(ADD)),
    )


def test_what_nobody_should_find_is_not_listed() -> None:
    """An offer without a shape is known to its program alone."""
    _, effects = node_with((1, Offer("result"))).start()
    assert not any(isinstance(effect, Send) for effect in effects)
    assert Report(Arrived(FIRST, Offer("result"))) in effects


def test_a_restarted_node_lists_what_it_saved() -> None:
    """It tells everybody of its new life too, and its program's numbers are greater than before."""
    saved = (Kept((), ((FIRST, packed(FAR)),), 1),)
    _, effects = after(node_with(), saved=saved, life=2)
    assert Send(A, Awake()) in effects
    assert Send(A, Publish((entry(FIRST, B, "number", FAR.key, FAR.value),))) in effects
    assert Report(Told((2 << LIFE_SHIFT) + 1)) in effects


def test_a_program_rewrites_in_its_own_words() -> None:
    """Offers are packed for capture, and one message tells a slot what came and what went."""
    node = node_with((1, FAR))
    state, effects = after(node, NOTHING, Requested(Rewrite((FIRST,), (FAR, NEAR))))
    (made, _), (other, _) = sorted(state.capture.molecules.items())
    listed = entry(made, B, "number", FAR.key, FAR.value)
    assert effects == (
        Save(Kept((FIRST,), ((made, packed(FAR)), (other, packed(NEAR))), 1)),
        Report(Gone(FIRST)),
        Report(Arrived(made, FAR)),
        Report(Arrived(other, NEAR)),
        Send(A, Publish((listed,), (FIRST,))),
        Report(Told(2)),
        Ask(Discover(ADD)),
    )


def test_a_reaction_is_asked_and_answered_in_the_program_s_words() -> None:
    """What was captured comes as offers, and what it becomes is listed in the place of what it was."""
    node = node_with((1, FAR), (2, NEAR))
    both = Answered(Combination(ADD, ((FIRST, B), (MoleculeId(2), B))))
    _, effects = after(node, both)
    assert effects == (Ask(React(ADD, ((FIRST, FAR), (MoleculeId(2), NEAR)))),)
    state, effects = after(node, both, Answered(Products((NEAR,))))
    (made,) = state.capture.molecules
    assert Report(Reacted(ADD, AttemptId(1), (FIRST, MoleculeId(2)), ((made, NEAR),))) in effects
    assert Send(A, Publish((), (FIRST,))) in effects
    assert {place[0] for place in state.directory.slot.listed} == {made}


def test_what_is_given_away_is_withdrawn() -> None:
    """The slot hears of it in the step in which the molecule leaves."""
    node = node_with((1, FAR))
    _, effects = after(node, NOTHING, Received(A, Take(AttemptId(5), (FIRST,), (), 0)))
    assert Send(A, Given(AttemptId(5), 1, ((FIRST, packed(FAR)),))) in effects
    assert effects[-1] == Send(A, Publish((), (FIRST,)))


def test_equal_molecules_are_named_by_their_offers() -> None:
    """A program that knows what it wants packs the same text as the one that offered it."""
    places = ((MoleculeId(9), A),)
    _, effects = after(node_with((1, NEAR)), Answered(Combination(ADD, places, (FAR,))))
    assert effects == (Send(A, Take(AttemptId(1), (MoleculeId(9),), (packed(FAR),), 0)),)


def test_a_watch_goes_to_the_directory_and_its_view_to_the_program() -> None:
    """What is seen is numbered, as everything that could make the program do something."""
    node = node_with()
    watch = Watch(3, "number")
    assert after(node, NOTHING, Requested(watch))[1] == (Send(A, watch),)
    seen = entry(MoleculeId(9), A, "number", 4)
    assert after(node, NOTHING, Requested(watch), Received(A, Changes(3, (seen,))))[1] == (
        Report(Seen(3, (seen,))),
        Report(Told(1)),
    )


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


def test_a_message_makes_a_node_active_without_ado() -> None:
    """Its sender was active, so nobody need be told."""
    node = node_with((1, FAR))
    state, effects = after(node, *QUIET, Received(A, Take(AttemptId(5), (FIRST,), (), 0)))
    assert state.detector.is_active
    assert Send(A, Awake()) not in effects


def test_what_comes_from_outside_is_told_to_the_initiator() -> None:
    """Whether the program begins to work by itself, looks again, or puts a molecule in."""
    node = node_with((1, FAR))
    for request in (Working(), Wake(), Rewrite((), (NEAR,))):
        state, effects = after(node, *QUIET, Requested(request))
        assert Send(A, Awake()) in effects
        assert (state.detector.is_active, state.is_out) == (True, True)


def test_the_work_of_a_program_ends_when_it_says_so() -> None:
    """Even if it was told nothing meanwhile."""
    node = node_with((1, FAR))
    events = (*QUIET, Requested(Working()), Requested(AllTaken()))
    assert after(node, *events)[0].detector.is_active
    assert not after(node, *events, Requested(Idle(1)))[0].detector.is_active


def test_a_restart_of_a_peer_is_told_to_capture_and_directory() -> None:
    """The attempt does not wait for it, and what it kept is listed again."""
    node = node_with((1, FAR))
    asked = Answered(Combination(ADD, ((FIRST, B), (MoleculeId(9), A))))
    _, effects = after(node, asked, PeerRestarted(A))
    assert Ask(Discover(ADD)) in effects
    assert Send(A, Publish((entry(FIRST, B, "number", FAR.key, FAR.value),))) in effects


def test_a_refused_attempt_searches_again() -> None:
    """Messages of capture reach capture."""
    node = node_with((1, FAR))
    asked = Answered(Combination(ADD, ((FIRST, B), (MoleculeId(9), A))))
    state, effects = after(node, asked, Received(A, Refused(AttemptId(1))))
    assert Ask(Discover(ADD)) in effects
    assert state.questions == 1
