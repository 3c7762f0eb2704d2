"""One node: capture, directory and detection of inertia as one machine, to be put into a reliable link.

Messages go to the part they belong to, and requests and answers of the program likewise. Beyond that the node makes
three things out of what its parts say:

- *Listing.* A molecule that capture reports to be here and free is listed in the directory; one that is consumed
  or gone is not. All changes of one step go out together, one message for each slot.
- *Offers.* The program speaks of molecules as `Offer`s. Capture sees text (see `offers`), and whatever it asks or
  reports is turned back. Questions come last in a step, so the program has heard all when it answers.
- *Activity.* The node is active while capture is busy, a question is unanswered, the program has not said `Idle` to
  all it was told, or something it sent was not taken (`AllTaken` of the link says when). The detector hears of every
  change, of every counted message, and whether it came from outside: whatever makes a passive node active without a
  message did. So a timer by which capture looks again and again must not be used here; that the program may look again
  (`Wake`) follows from what it is told.

What the detector sends is cheap, but for `Awake`; all else is counted. Only capture saves anything. After a crash it
reports what molecules are left, and the program watches and asks anew.

    node = Node(moving_node(config), directory_node(me, ring), detector_node(me, nodes), is_busy=is_busy)
    machine = Linked(node, me=me, peers=nodes, tells_all_taken=True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import Abandoned, Arrived, MoleculeId, Reacted
from solvent.protocols.directory.directory import Directory, DirectoryState
from solvent.protocols.directory.messages import (
    Changes,
    Find,
    Found,
    Matches,
    Publish,
    Seen,
    Unwatch,
    Watch,
)
from solvent.protocols.inertia.detector import ROUND, Detector, DetectorState
from solvent.protocols.inertia.messages import Active, Announce, Awake, Confirm, Passive, Probe, Roused, Sent
from solvent.protocols.link.messages import AllTaken, Cheap
from solvent.protocols.machine import (
    Answered,
    Ask,
    Choose,
    Chosen,
    Effect,
    Effects,
    Event,
    Machine,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Send,
    Step,
    TimerFired,
    Value,
)
from solvent.protocols.nodes.messages import Idle, Told, Working
from solvent.protocols.nodes.offers import listing
from solvent.protocols.nodes.words import followed, for_capture, for_program

if TYPE_CHECKING:
    from collections.abc import Callable

LIFE_SHIFT = 32
"""What a program was told in a former life has smaller numbers."""

_DIRECTORY = frozenset({Publish, Find, Watch, Unwatch, Matches, Changes})
_INERTIA = frozenset({Probe, Announce, Confirm, Awake})
_SEEKING = frozenset({Find, Watch, Unwatch})
_ROUSING = frozenset({Arrived, Reacted, Abandoned, Seen, Found})
"""After such a report something may be possible that was not before."""


class NodeState(Value, frozen=True, gc=False):
    """The states of the parts, and what the node knows of its own activity."""

    capture: Any
    directory: DirectoryState
    detector: DetectorState
    #: The molecules here, as packed offers.
    here: Map[MoleculeId, str] = Map()
    told: int = 0
    digested: int = -1
    is_working: bool = False
    #: Questions, also to chance, that have no answer yet.
    questions: int = 0
    #: Whether something that was sent has not been taken yet.
    is_out: bool = False


NodeStep: TypeAlias = Step[NodeState]


class Node:
    """One node around a capture machine.

    `is_busy` says of a state of that machine whether it is after something. `molecules` are those it begins with, as
    packed offers; it reports them itself only after a crash.
    """

    def __init__(
        self,
        capture: Machine[Any],
        directory: Directory,
        detector: Detector,
        *,
        is_busy: Callable[[Any], bool],
        molecules: tuple[tuple[MoleculeId, str], ...] = (),
    ) -> None:
        self.capture = capture
        self.directory = directory
        self.detector = detector
        self.node = directory.config.node
        self.is_busy = is_busy
        self.molecules = molecules

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> NodeStep:
        """Begin; after a crash with what capture saved."""
        directory, _ = self.directory.start((), life)
        detector, alarm = self.detector.start((), life)
        capture, effects = self.capture.start(saved, life)
        told = life << LIFE_SHIFT
        state = NodeState(capture, directory, detector, told=told, digested=told - 1)
        first = tuple(Report(Arrived(*one)) for one in self.molecules) if not life else ()
        state, effects = self._made(state, first + effects)
        return self._settled(state, (*self._carried(alarm), Report(Told(told)), *effects), is_outside=False)

    def step(self, state: NodeState, event: Event) -> NodeStep:
        """Take one event."""
        after, effects = self._dispatched(state, event)
        is_outside = type(event) is not Received and type(event) is not PeerRestarted
        return self._settled(after, effects, is_outside=is_outside)

    def is_active(self, state: NodeState) -> bool:
        """Say whether anything can come from this node without anything coming to it."""
        return bool(
            state.is_working
            or state.questions
            or state.is_out
            or state.digested < state.told
            or self.is_busy(state.capture)
        )

    # --------------------------------------------------------------------------------------------- to the parts

    def _dispatched(self, state: NodeState, event: Event) -> NodeStep:
        match event:
            case Received(_, message) if type(message) in _INERTIA:
                return self._to_detector(state, event)
            case Received(_, message) if type(message) in _DIRECTORY:
                return self._to_directory(state, event)
            case TimerFired(name) if name == ROUND:
                return self._to_detector(state, event)
            case PeerRestarted():
                state, effects = self._to_capture(state, event)
                state, more = self._to_directory(state, event)
                return state, effects + more
            case Requested(request):
                return self._on_request(state, event, request)
            case Answered(answer):
                return self._to_capture(replace(state, questions=state.questions - 1), Answered(for_capture(answer)))
            case Chosen():
                return self._to_capture(replace(state, questions=state.questions - 1), event)
            case _:
                return self._to_capture(state, event)

    def _on_request(self, state: NodeState, event: Event, request: Any) -> NodeStep:
        match request:
            case AllTaken():
                return replace(state, is_out=False), ()
            case Idle(told):
                return replace(state, is_working=False, digested=max(state.digested, told)), ()
            case Working():
                return replace(state, is_working=True), ()
            case _ if type(request) in _SEEKING:
                return self._to_directory(state, event)
            case _:
                return self._to_capture(state, Requested(for_capture(request)))

    def _to_capture(self, state: NodeState, event: Event) -> NodeStep:
        capture, effects = self.capture.step(state.capture, event)
        return self._made(replace(state, capture=capture), effects)

    def _to_directory(self, state: NodeState, event: Event) -> NodeStep:
        directory, effects = self.directory.step(state.directory, event)
        return replace(state, directory=directory), effects

    def _to_detector(self, state: NodeState, event: Event) -> NodeStep:
        detector, effects = self.detector.step(state.detector, event)
        return replace(state, detector=detector), self._carried(effects)

    def _carried(self, effects: Effects) -> Effects:
        """Let the link do nothing for what the detector sends, but for news from outside."""
        return tuple(
            Send(effect.to, Cheap(effect.message))
            if type(effect) is Send and type(effect.message) is not Awake
            else effect
            for effect in effects
        )

    # ------------------------------------------------------------------------------------------ of what they say

    def _made(self, state: NodeState, effects: Effects) -> NodeStep:
        """Turn what capture says into the program's words, and list what is here and free."""
        here, questions = state.here, state.questions
        free: dict[MoleculeId, bool] = {}
        passed: list[Effect] = []
        for effect in effects:
            if type(effect) is Ask:
                questions += 1
                passed.append(Ask(for_program(effect.question)))
            elif type(effect) is Report:
                here = followed(here, free, effect.outcome)
                passed.append(Report(for_program(effect.outcome)))
            else:
                questions += type(effect) is Choose
                passed.append(effect)
        state = replace(state, here=here, questions=questions)
        if not free:
            return state, tuple(passed)
        listed = [listing(molecule, self.node, here[molecule]) for molecule, is_free in free.items() if is_free]
        publish = Publish(
            tuple(entry for entry in listed if entry is not None),
            tuple(molecule for molecule, is_free in free.items() if not is_free),
        )
        state, more = self._to_directory(state, Requested(publish))
        return state, (*passed, *more)

    def _settled(self, state: NodeState, effects: Effects, *, is_outside: bool) -> NodeStep:
        """Number what the program was told, and tell the detector what the step means for it."""
        if _is_rousing(effects):
            state = replace(state, told=state.told + 1)
            effects = (*effects, Report(Told(state.told)))
        if _has_counted(effects):
            state, _ = self._to_detector(replace(state, is_out=True), Requested(Sent()))
        is_active = self.is_active(state)
        if is_active != state.detector.is_active:
            change = Passive() if not is_active else Roused() if is_outside else Active()
            state, more = self._to_detector(state, Requested(change))
            effects += more
            if _has_counted(more):
                state = replace(state, is_out=True)
        return state, _questions_last(effects)


def _has_counted(effects: Effects) -> bool:
    return any(type(effect) is Send and type(effect.message) is not Cheap for effect in effects)


def _questions_last(effects: Effects) -> Effects:
    """Let the program hear everything before it is asked: it may be asked about what it is told in the same step."""
    questions = tuple(effect for effect in effects if type(effect) is Ask or type(effect) is Choose)
    if not questions:
        return effects
    return tuple(effect for effect in effects if type(effect) is not Ask and type(effect) is not Choose) + questions


def _is_rousing(effects: Effects) -> bool:
    return any(type(effect) is Report and type(effect.outcome) in _ROUSING for effect in effects)


__all__ = ["Node", "NodeState", "NodeStep"]
