"""The detection of inertia as it must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from msgspec.structs import replace

from solvent.protocols.inertia.detector import Detector, DetectorState, DetectorStep
from solvent.protocols.inertia.messages import Awake, Probe, Sent
from solvent.protocols.machine import Event, NodeId, Requested, Send
from solvent_lab.checker.registry import Variants
from solvent_lab.models.inertia import CRASH, EARLY, BusyNode, BusyState, BusyStep, model

BROKEN = Variants()


@BROKEN.add(model, (0, 0, 1), name="never black", into="detector", requests=((0, EARLY),))
class NeverBlack(Detector):
    """A node that does not remember having sent anything."""

    def step(self, state: DetectorState, event: Event) -> DetectorStep:
        return (state, ()) if event == Requested(Sent()) else super().step(state, event)


@BROKEN.add(model, (1, 0, 1), name="whitened by any round", into="detector", requests=((0, EARLY), (0, EARLY)))
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


@BROKEN.add(model, (0, 0, 1), name="rounds go on after a restart", into="detector", requests=((1, CRASH),))
class GoesOnAfterRestart(Detector):
    """An initiator that relies on earlier rounds after a node has restarted."""

    def _new_epoch(self, state: DetectorState) -> DetectorStep:
        return self._resume(state)


@BROKEN.add(
    model,
    (0, 1, 0, 0),
    name="a restart is told to one",
    into="node",
    requests=((0, EARLY), (0, EARLY), (1, CRASH)),
    at_rest=(0, 2, 3),
    recipients=(3,),
)
class TellsOnlyTheInitiator(BusyNode):
    """A restarted node that does not wait until all have heard of its new life."""

    def _counted(self, state: BusyState, to: NodeId, news: Awake | None) -> BusyStep:
        if news is None or to == self.detector.initiator:
            return super()._counted(state, to, news)
        return state, ()


@BROKEN.add(model, (1, 1), name="passive while messages are under way", into="node", requests=((0, EARLY), (0, EARLY)))
class PassiveTooEarly(BusyNode):
    """A node that counts as passive while its messages are under way."""

    def is_active(self, state: BusyState) -> bool:
        return state.is_working or state.is_calling


@BROKEN.add(model, (1, 1), name="passive while a call is out", into="node", requests=((0, EARLY),), calls=True)
class PassiveWhileCalling(BusyNode):
    """A node that counts as passive while one of its calls is out."""

    def is_active(self, state: BusyState) -> bool:
        return state.is_working or any(state.out)


__all__ = ["BROKEN"]
