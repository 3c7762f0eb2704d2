"""Models of the detection of inertia: any computation, messages in flight, calls out, lost and doubled probes, a crash.

`what is announced is true` is the property: while the initiator holds to its announcement, no node is active and no
counted message is under way, unless something from outside has just happened and the initiator is being told. The
goal, to be reachable from every state, is an announcement that all nodes have confirmed.

A timer fires when all else has come to rest, and besides at any moment as often as a model allows: rounds overlap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.inertia.detector import Detector, DetectorState, DetectorStep
from solvent.protocols.inertia.invariants import no_active_node_believes_in_inertia, what_is_announced_is_true
from solvent.protocols.inertia.messages import Awake, Probe, Sent
from solvent.protocols.machine import Event, NodeId, Requested, Send
from solvent_lab.checker.model import Asking, Model, Network, Order, Timers
from solvent_lab.models.inertia_node import (
    CALL,
    CRASH,
    DOUBLE,
    EARLY,
    FINISH,
    LOSE,
    ROUSE,
    WORK,
    BusyNode,
    BusyState,
    BusyStep,
    Counted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from solvent_lab.checker.world import World


def model(
    fuels: tuple[int, ...],
    *,
    requests: tuple[tuple[int, str], ...] = (),
    calls: bool = False,
    at_rest: tuple[int, ...] = (),
    recipients: tuple[int, ...] | None = None,
    detector: type[Detector] = Detector,
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
            node(detector(name, names), fuel, at_rest=name in at_rest) for name, fuel in zip(names, fuels, strict=True)
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


# ------------------------------------------------------------------------------------------------------ sound ones


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


# ----------------------------------------------------------------------------------------------------- broken ones


class NeverBlack(Detector):
    """A node that does not remember having sent anything."""

    def step(self, state: DetectorState, event: Event) -> DetectorStep:
        """Ignore what the node sends."""
        return (state, ()) if event == Requested(Sent()) else super().step(state, event)


class WhitenedByAnyRound(Detector):
    """A node that is white again after any round, also one that was late."""

    def _let_go(self, state: DetectorState, probe: Probe) -> DetectorStep:
        after = probe.after if state.since is None else max(probe.after, state.since)
        state, effects = super()._let_go(state, replace(probe, after=after))
        return state, tuple(
            replace(effect, message=replace(effect.message, after=probe.after))
            if isinstance(effect, Send) and isinstance(effect.message, Probe)
            else effect
            for effect in effects
        )


class GoesOnAfterRestart(Detector):
    """An initiator that relies on rounds of before when a node has come back."""

    def _new_epoch(self, state: DetectorState) -> DetectorStep:
        return self._resume(state)


class TellsOnlyTheInitiator(BusyNode):
    """A restarted node that does not wait until all have heard of its new life."""

    def _counted(self, state: BusyState, to: NodeId, news: Awake | None) -> BusyStep:
        if news is None or to == self.detector.initiator:
            return super()._counted(state, to, news)
        return state, ()


class PassiveTooEarly(BusyNode):
    """A node that counts as passive while its messages are under way."""

    def is_active(self, state: BusyState) -> bool:
        """Look at work and calls alone."""
        return state.is_working or state.is_calling


class PassiveWhileCalling(BusyNode):
    """A node that counts as passive while a call of it is out."""

    def is_active(self, state: BusyState) -> bool:
        """Look at work and messages alone."""
        return state.is_working or any(state.out)


BROKEN: Mapping[str, Callable[[], Model]] = {
    "never black": lambda: model((0, 0, 1), requests=((0, EARLY),), detector=NeverBlack),
    "whitened by any round": lambda: model((1, 0, 1), requests=((0, EARLY), (0, EARLY)), detector=WhitenedByAnyRound),
    "passive while messages are under way": lambda: model(
        (1, 1), requests=((0, EARLY), (0, EARLY)), node=PassiveTooEarly
    ),
    "passive while a call is out": lambda: model((1, 1), requests=((0, EARLY),), calls=True, node=PassiveWhileCalling),
    "rounds go on after a restart": lambda: model((0, 0, 1), requests=((1, CRASH),), detector=GoesOnAfterRestart),
    "a restart is told to one": lambda: model(
        (0, 1, 0, 0),
        requests=((0, EARLY), (0, EARLY), (1, CRASH)),
        at_rest=(0, 2, 3),
        recipients=(3,),
        node=TellsOnlyTheInitiator,
    ),
}

__all__ = ["BROKEN", "MODELS", "model"]
