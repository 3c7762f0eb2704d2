"""The detection of inertia as it must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.inertia import detector
from solvent.protocols.inertia.messages import Awake, InertiaRequest, Probe, Sent
from solvent.protocols.machine import NodeId, Send
from solvent_lab.checker.registry import Variants
from solvent_lab.models.inertia import CRASH, EARLY, BusyNode, BusyState, BusyStep, model
from solvent_lab.variants import variant

if TYPE_CHECKING:
    from solvent.protocols.inertia.detector import Now

BROKEN = Variants()


@BROKEN.add(model, (0, 0, 1), name="never black", requests=((0, EARLY),))
@variant(detector, "on_request")
def never_black(on_request: Any, now: Now, request: InertiaRequest) -> None:
    """A node that does not remember having sent anything."""
    if request != Sent():
        on_request(now, request)


@BROKEN.add(model, (1, 0, 1), name="whitened by any round", requests=((0, EARLY), (0, EARLY)))
@variant(detector, "let_go")
def whitened_by_any_round(let_go: Any, now: Now, probe: Probe) -> None:
    """A node that is white again after any round, also one that was late."""
    since = now.state.since
    let_go(now, replace(probe, after=probe.after if since is None else max(probe.after, since)))
    now.effects[:] = [
        replace(effect, message=replace(effect.message, after=probe.after))
        if isinstance(effect, Send) and isinstance(effect.message, Probe)
        else effect
        for effect in now.effects
    ]


@BROKEN.add(model, (0, 0, 1), name="rounds go on after a restart", requests=((1, CRASH),))
@variant(detector, "begin_epoch")
def goes_on_after_restart(_begin_epoch: Any, now: Now) -> None:
    """An initiator that relies on earlier rounds after a node has restarted."""
    detector.resume(now)


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
        if news is None or to == self.detector.config.initiator:
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
