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

    parts = Parts(moving_node(config), directory_node(me, ring), detector_node(me, nodes), is_busy=is_busy)
    machine = Linked(whole_node(parts), me=me, peers=nodes, tells_all_taken=True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import Abandoned, Arrived, MoleculeId, Reacted
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
from solvent.protocols.inertia.detector import ROUND
from solvent.protocols.inertia.messages import Active, Announce, Awake, Confirm, Passive, Probe, Roused, Sent
from solvent.protocols.link.messages import AllTaken
from solvent.protocols.machine import (
    Answered,
    Ask,
    Cheap,
    Choose,
    Chosen,
    Configured,
    Draft,
    Effect,
    Effects,
    Event,
    Machine,
    NodeState,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Send,
    Step,
    TimerFired,
)
from solvent.protocols.maps import Map
from solvent.protocols.nodes.messages import Idle, Told, Working
from solvent.protocols.nodes.offers import listing
from solvent.protocols.nodes.words import followed, for_capture, for_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.protocols.directory.directory import Directory, DirectoryState
    from solvent.protocols.inertia.detector import Detector, DetectorState

LIFE_SHIFT = 32
"""What a program was told in a former life has smaller numbers."""

_DIRECTORY = frozenset({Publish, Find, Watch, Unwatch, Matches, Changes})
_INERTIA = frozenset({Probe, Announce, Confirm, Awake})
_SEEKING = frozenset({Find, Watch, Unwatch})
_ROUSING = frozenset({Arrived, Reacted, Abandoned, Seen, Found})
"""After such a report something may be possible that was not before."""


class PartsState(NodeState, gc=False):
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


class Parts:
    """The machines of one node.

    `is_busy` decides from a state of the capture machine whether it is after something. `molecules` are those it begins
    with, as packed offers; it reports them itself only after a crash.
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


Now: TypeAlias = Draft[Parts, PartsState]


def whole_node(parts: Parts) -> Configured[Parts, PartsState]:
    """Make the machine of a node."""
    return Configured(start, step, parts)


def start(parts: Parts, saved: tuple[Any, ...] = (), life: int = 0) -> Step[PartsState]:
    """Begin; after a crash with what capture saved."""
    directory, _ = parts.directory.start((), life)
    detector, alarm = parts.detector.start((), life)
    capture, effects = parts.capture.start(saved, life)
    told = life << LIFE_SHIFT
    now = Draft(parts, PartsState(capture, directory, detector, told=told, digested=told - 1))
    carry(now, alarm)
    now.report(Told(told))
    first = tuple(Report(Arrived(*one)) for one in parts.molecules) if not life else ()
    pass_on(now, first + effects)
    return settled(now, is_outside=False)


def step(parts: Parts, state: PartsState, event: Event) -> Step[PartsState]:
    """Take one event."""
    now = Draft(parts, replace(state))
    match event:
        case Received(_, message) if type(message) in _INERTIA:
            to_detector(now, event)
        case Received(_, message) if type(message) in _DIRECTORY:
            to_directory(now, event)
        case TimerFired(name) if name == ROUND:
            to_detector(now, event)
        case PeerRestarted():
            to_capture(now, event)
            to_directory(now, event)
        case Requested(request):
            on_request(now, event, request)
        case Answered(answer):
            now.state.questions -= 1
            to_capture(now, Answered(for_capture(answer)))
        case Chosen():
            now.state.questions -= 1
            to_capture(now, event)
        case Received() | TimerFired():
            to_capture(now, event)
        case _:
            assert_never(event)
    return settled(now, is_outside=type(event) is not Received and type(event) is not PeerRestarted)


def on_request(now: Now, event: Event, request: Any) -> None:
    """Take what the program or the link says."""
    state = now.state
    match request:
        case AllTaken():
            state.is_out = False
        case Idle(told):
            state.is_working, state.digested = False, max(state.digested, told)
        case Working():
            state.is_working = True
        case _ if type(request) in _SEEKING:
            to_directory(now, event)
        case _:
            to_capture(now, Requested(for_capture(request)))


# -------------------------------------------------------------------------------------------------------- the parts


def to_capture(now: Now, event: Event) -> None:
    """Let capture take an event."""
    now.state.capture, effects = now.config.capture.step(now.state.capture, event)
    pass_on(now, effects)


def to_directory(now: Now, event: Event) -> None:
    """Let the directory take an event."""
    now.state.directory, effects = now.config.directory.step(now.state.directory, event)
    now.effects += effects


def to_detector(now: Now, event: Event) -> None:
    """Let the detector take an event."""
    now.state.detector, effects = now.config.detector.step(now.state.detector, event)
    carry(now, effects)


def carry(now: Now, effects: Effects) -> None:
    """Let the link do nothing for what the detector sends, but for news from outside."""
    for effect in effects:
        is_cheap = type(effect) is Send and type(effect.message) is not Awake
        now.effects.append(Send(effect.to, Cheap(effect.message)) if is_cheap else effect)  # type: ignore[union-attr]


def pass_on(now: Now, effects: Effects) -> None:
    """Turn what capture says into the program's words, and list what is here and free."""
    state = now.state
    free: dict[MoleculeId, bool] = {}
    for effect in effects:
        if type(effect) is Ask:
            state.questions += 1
            now.effects.append(Ask(for_program(effect.question)))
        elif type(effect) is Report:
            state.here = followed(state.here, free, effect.outcome)
            now.report(for_program(effect.outcome))
        else:
            state.questions += type(effect) is Choose
            now.effects.append(effect)
    if free:
        node = now.config.node
        listed = [listing(molecule, node, state.here[molecule]) for molecule, is_free in free.items() if is_free]
        added = tuple([entry for entry in listed if entry is not None])
        gone = tuple([molecule for molecule, is_free in free.items() if not is_free])
        to_directory(now, Requested(Publish(added, gone)))


# --------------------------------------------------------------------------------------------------------- activity


def is_active(now: Now) -> bool:
    """Decide whether anything can come from this node without anything coming to it."""
    state = now.state
    return bool(
        state.is_working
        or state.questions
        or state.is_out
        or state.digested < state.told
        or now.config.is_busy(state.capture)
    )


def settled(now: Now, *, is_outside: bool) -> Step[PartsState]:
    """Number what the program was told, tell the detector what the step means for it, and return the step."""
    state, effects = now.state, now.effects
    if any(type(effect) is Report and type(effect.outcome) in _ROUSING for effect in effects):
        state.told += 1
        now.report(Told(state.told))
    if has_counted(effects):
        state.is_out = True
        to_detector(now, Requested(Sent()))
    active = is_active(now)
    if active != state.detector.is_active:
        before = len(effects)
        to_detector(now, Requested(Passive() if not active else Roused() if is_outside else Active()))
        state.is_out = state.is_out or has_counted(effects[before:])
    # The program is to hear everything before it is asked: it may be asked about what it is told in the same step.
    effects.sort(key=lambda effect: type(effect) is Ask or type(effect) is Choose)
    return state, tuple(effects)


def has_counted(effects: list[Effect]) -> bool:
    """Decide whether something is sent that the link carries without fail."""
    return any(type(effect) is Send and type(effect.message) is not Cheap for effect in effects)


__all__ = ["Parts", "PartsState", "whole_node"]
