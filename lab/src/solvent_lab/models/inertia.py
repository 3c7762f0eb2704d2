"""Models of the detection of inertia: any computation, messages in flight, calls out, lost and doubled probes, a crash.

`what is announced is true` is the property: while the initiator holds to its announcement, no node is active and no
counted message is under way, unless something from outside has just happened and the initiator is being told. The
goal, to be reachable from every state, is an announcement that all nodes have confirmed.

A timer fires when all else has come to rest, and besides at any moment as often as a model allows: rounds overlap.

`BusyNode` computes something, no matter what, around a detector. A node that works may at any time finish, call
somebody outside, or send a counted message that makes its recipient work; `fuel` says how often. A small link stands
for the real one: counted messages are acknowledged when taken, frames name the lives of both sides, and those of a
former life or for one are dropped. Faults are requests, so that a model says how many there may be, and they come at
any time. One loses the next cheap message that a node gets, or keeps a copy that arrives later once more. A crash
makes a node forget everything and continue in its next life at once, while what its former life sent is still under
way and may arrive for as long as its recipient has not heard of the new life.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from msgspec.structs import replace

from solvent.protocols.inertia.detector import DetectorState, detector_node
from solvent.protocols.inertia.invariants import no_active_node_believes_in_inertia, what_is_announced_is_true
from solvent.protocols.inertia.messages import Active, Awake, Passive, Roused, Sent
from solvent.protocols.machine import (
    Answered,
    Ask,
    Chosen,
    Effect,
    Effects,
    Event,
    Message,
    NodeId,
    PeerRestarted,
    Received,
    Requested,
    Send,
    Step,
    TimerFired,
    Value,
)
from solvent_lab.checker.model import Asking, Model, Network, Order, Timers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from solvent.protocols.inertia import Detector
    from solvent_lab.checker.world import World

WORK, CALL = "work", "call"
FINISH = "finish"
ROUSE, CRASH, EARLY = "rouse", "crash", "timer fires early"
LOSE, DOUBLE = "lose the next cheap message", "double the next cheap message"


class Counted(Message, frozen=True, gc=False):
    """A counted message: work, or news for the detector."""

    life: int
    to: int
    news: Awake | None = None


class Taken(Message, frozen=True, gc=False):
    """A counted message was taken."""

    life: int
    to: int


class Light(Message, frozen=True, gc=False):
    """A cheap message."""

    life: int
    to: int
    message: Any


class Again(Message, frozen=True, gc=False):
    """A cheap message that has been taken and arrives once more; it waits at its recipient."""

    sender: NodeId
    light: Light


class BusyState(Value, frozen=True, gc=False):
    """One node of the computation."""

    detector: DetectorState
    #: The lives of all nodes, as known here; its own among them.
    lives: tuple[int, ...]
    #: Counted messages under way, by recipient.
    out: tuple[int, ...]
    fuel: int
    is_working: bool = False
    is_calling: bool = False
    #: The question that the world has not answered yet. It outlives a crash: the world may be slow.
    asked: str = ""
    #: What becomes of the next cheap message.
    fate: str = ""

    @property
    def is_active(self) -> bool:
        """Whether the node is active in truth."""
        return self.is_working or self.is_calling or any(self.out)


BusyStep: TypeAlias = Step[BusyState]


class BusyNode:
    """One node that computes; it may send or call `fuel` times, and begins at work unless it is `at_rest`."""

    def __init__(self, detector: Detector, fuel: int, *, at_rest: bool = False) -> None:
        self.detector = detector
        self.node = detector.config.node
        self.nodes_count = len(detector.config.others) + 1
        self.fuel = fuel
        self.at_rest = at_rest

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> BusyStep:
        """Begin."""
        detector, effects = self.detector.start(saved, life)
        nobody = (0,) * self.nodes_count
        state = BusyState(detector, nobody, nobody, self.fuel, is_working=not self.at_rest)
        return self._settled(*self._carried(state, effects))

    def step(self, state: BusyState, event: Event) -> BusyStep:
        """Take one event, and tell the detector what it means."""
        match event:
            case Received(_, Again(sender, light)):
                state, effects = self._on_light(state, sender, light)
            case Received(sender, Light() as light):
                state, effects = self._on_landing(state, sender, light)
            case Received(sender, message):
                state, effects = self._on_frame(state, sender, message)
            case Answered(answer):
                state, effects = self._on_answer(state, answer)
            case Requested(request):
                state, effects = self._on_request(state, request)
            case TimerFired() | PeerRestarted() | Chosen():
                state, effects = self._told(state, event)
            case _:
                assert_never(event)
        return self._settled(state, effects)

    # --------------------------------------------------------------------------------------------- the detector

    def is_active(self, state: BusyState) -> bool:
        """Return whether the node is active, for its detector."""
        return state.is_active

    def _told(self, state: BusyState, event: Event) -> BusyStep:
        detector, effects = self.detector.step(state.detector, event)
        return self._carried(replace(state, detector=detector), effects)

    def _carried(self, state: BusyState, effects: Effects) -> BusyStep:
        """Put what a detector sends into frames."""
        carried: list[Effect] = []
        for effect in effects:
            if type(effect) is not Send:
                carried.append(effect)
            elif type(effect.message) is Awake:
                state, more = self._counted(state, effect.to, effect.message)
                carried += more
            else:
                light = Light(state.lives[self.node], state.lives[effect.to], effect.message)
                carried.append(Send(effect.to, light))
        return state, tuple(carried)

    def _settled(self, state: BusyState, effects: Effects) -> BusyStep:
        """Report to the detector whether the node is active, and ask the world if work continues."""
        more: Effects = ()
        if self.is_active(state) != state.detector.is_active:
            is_active = not state.detector.is_active
            state, more = self._told(state, Requested(Active() if is_active else Passive()))
        question = CALL if state.is_calling else WORK if state.is_working else ""
        if question and not state.asked:
            return replace(state, asked=question), (*effects, *more, Ask(question))
        return state, effects + more

    # --------------------------------------------------------------------------------------------- the computation

    def _on_answer(self, state: BusyState, answer: Any) -> BusyStep:
        asked = state.asked
        state = replace(state, asked="")
        if asked == CALL:
            # The call's answer is something to work on; unless a crash has made the node forget the call.
            return replace(state, is_working=state.is_working or state.is_calling, is_calling=False), ()
        if answer == CALL:
            return replace(state, is_working=False, is_calling=True, fuel=state.fuel - 1), ()
        if answer == FINISH:
            return replace(state, is_working=False), ()
        state, effects = self._counted(replace(state, fuel=state.fuel - 1), NodeId(answer), None)
        state, more = self._told(state, Requested(Sent()))
        return state, effects + more

    def _counted(self, state: BusyState, to: NodeId, news: Awake | None) -> BusyStep:
        out = tuple(count + (node == to) for node, count in enumerate(state.out))
        return replace(state, out=out), (Send(to, Counted(state.lives[self.node], state.lives[to], news)),)

    def _on_request(self, state: BusyState, request: Any) -> BusyStep:
        if request == EARLY:
            return self._told(state, TimerFired(EARLY))
        if request == CRASH:
            return self._crashed(state)
        if request in (LOSE, DOUBLE):
            return replace(state, fate=request), ()
        is_passive = not state.is_active
        state = replace(state, is_working=True)
        return self._told(state, Requested(Roused())) if is_passive else (state, ())

    def _crashed(self, state: BusyState) -> BusyStep:
        life = state.lives[self.node] + 1
        detector, effects = self.detector.start((), life)
        # The link saves whose lives it has heard of.
        lives = tuple(life if node == self.node else one for node, one in enumerate(state.lives))
        state = replace(
            state, detector=detector, lives=lives, out=(0,) * self.nodes_count, is_working=True, is_calling=False
        )
        return self._carried(state, effects)

    # --------------------------------------------------------------------------------------------- the small link

    def _on_frame(self, state: BusyState, sender: NodeId, frame: Any) -> BusyStep:
        state, is_for_me = self._addressed(state, sender, frame)
        if not is_for_me:
            return state, ()
        if isinstance(frame, Taken):
            return replace(state, out=_less(state.out, sender)), ()
        taken = (Send(sender, Taken(state.lives[self.node], state.lives[sender])),)
        if frame.news is None:
            return replace(state, is_working=True), taken
        state, effects = self._told(state, Received(sender, frame.news))
        return state, effects + taken

    def _addressed(self, state: BusyState, sender: NodeId, frame: Any) -> tuple[BusyState, bool]:
        """Take note of the sender's life, and say whether the frame is of this session."""
        known = state.lives[sender]
        if frame.life > known:
            lives = tuple(frame.life if node == sender else one for node, one in enumerate(state.lives))
            state = replace(state, lives=lives, out=tuple(0 if n == sender else o for n, o in enumerate(state.out)))
        return state, frame.life >= known and frame.to == state.lives[self.node]

    def _on_landing(self, state: BusyState, sender: NodeId, light: Light) -> BusyStep:
        fate, state = state.fate, replace(state, fate="")
        if fate == LOSE:
            return state, ()
        state, effects = self._on_light(state, sender, light)
        return state, (*effects, Send(self.node, Again(sender, light))) if fate == DOUBLE else effects

    def _on_light(self, state: BusyState, sender: NodeId, light: Light) -> BusyStep:
        state, is_for_me = self._addressed(state, sender, light)
        return self._told(state, Received(sender, light.message)) if is_for_me else (state, ())


def _less(out: tuple[int, ...], peer: NodeId) -> tuple[int, ...]:
    return tuple(count - (node == peer) for node, count in enumerate(out))


# --------------------------------------------------------------------------------------------------------- models


def model(
    fuels: tuple[int, ...],
    *,
    requests: tuple[tuple[int, str], ...] = (),
    calls: bool = False,
    at_rest: tuple[int, ...] = (),
    recipients: tuple[int, ...] | None = None,
    node: type[BusyNode] = BusyNode,
    title: str = "",
) -> Model:
    """Build a world of as many nodes as there are fuels; `requests` are what may come from outside, and faults."""
    names = tuple(map(NodeId, range(len(fuels))))

    def answers(world: World, asker: NodeId, question: Any) -> Iterable[Any]:
        if question != WORK:
            return ("answered",)
        if not world.nodes[asker].state.fuel:
            return (FINISH,)
        others = tuple(name for name in (names if recipients is None else recipients) if name != asker)
        return (FINISH, *others, CALL) if calls else (FINISH, *others)

    return Model(
        machines=tuple(
            node(detector_node(name, names), fuel, at_rest=name in at_rest)
            for name, fuel in zip(names, fuels, strict=True)
        ),
        title=title,
        answers=answers,
        asking=Asking.MEANWHILE,
        requests=requests,
        network=Network(order=Order.ANY),
        timers=Timers.WHEN_QUIET,
        invariants=(_what_is_announced_is_true, _no_active_node_believes_in_inertia),
        goal=_is_settled,
        has_no_livelock=True,
    )


def _what_is_announced_is_true(world: World) -> str | None:
    states: tuple[BusyState, ...] = world.states
    under_way = [
        (to, frame)
        for sender, to, frame in world.messages()
        if isinstance(frame, Counted) and frame.life >= states[to].lives[sender] and frame.to == states[to].lives[to]
    ]
    return what_is_announced_is_true(
        [state.detector for state in states],
        [node for node, state in enumerate(states) if state.is_active],
        under_way=len(under_way),
        is_outdated=any(to == 0 and frame.news is not None for to, frame in under_way),
    )


def _no_active_node_believes_in_inertia(world: World) -> bool:
    return no_active_node_believes_in_inertia([state.detector for state in world.states])


def _is_settled(world: World) -> bool:
    lead: DetectorState = world.states[0].detector
    return lead.inert is not None and lead.lead is not None and not lead.lead.missing


MODELS: Mapping[str, Callable[[], Model]] = {
    "two nodes": lambda: model(
        (2, 2), requests=((0, EARLY), (0, EARLY)), calls=True, title="two nodes, each sends or calls twice"
    ),
    "two nodes, bad probes": lambda: model(
        (1, 1),
        requests=((0, EARLY), (0, EARLY), (0, DOUBLE), (1, LOSE)),
        title="two nodes, probes get lost and doubled",
    ),
    "three nodes": lambda: model(
        (1, 1, 1), requests=((0, EARLY), (0, EARLY)), title="three nodes, a message each, rounds overlap"
    ),
    "three nodes, bad probes": lambda: model(
        (0, 1, 1), requests=((0, EARLY), (1, DOUBLE), (2, LOSE)), title="three nodes, probes get lost and doubled"
    ),
    "four nodes": lambda: model((0, 1, 0, 1), requests=((0, EARLY),), title="four nodes, two messages"),
    "a user": lambda: model((0, 1, 0), requests=((0, EARLY), (1, ROUSE)), title="a user puts a molecule in, any time"),
    "a crash": lambda: model((0, 1), requests=((0, EARLY), (1, DOUBLE), (1, CRASH)), title="two nodes, one crashes"),
    "the initiator crashes": lambda: model(
        (1, 0), requests=((0, EARLY), (1, DOUBLE), (0, CRASH)), title="two nodes, the initiator crashes"
    ),
    "three nodes, a crash": lambda: model(
        (0, 0, 1), requests=((0, EARLY), (2, CRASH)), at_rest=(0, 1), recipients=(1,), title="three nodes, one crashes"
    ),
}

__all__ = ["CRASH", "EARLY", "MODELS", "BusyNode", "BusyState", "BusyStep", "model"]
