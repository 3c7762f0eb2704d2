"""What must be true of all nodes together while inertia is announced.

The functions look at the detectors of all nodes and at facts about the computation that no single node knows: who is
really active, how many counted messages are really under way, whether news from outside is on its way to the initiator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.protocols.inertia.detector import DetectorState


def what_is_announced_is_true(
    detectors: Sequence[DetectorState | None],
    active: Sequence[int],
    *,
    under_way: int,
    is_outdated: bool,
) -> str | None:
    """Say what is wrong with an announcement that the initiator holds to: nothing if all is inert.

    `active` are the nodes that are; `is_outdated` says that the initiator is being told of something from outside.
    """
    lead = next((one for one in detectors if one is not None and one.lead is not None), None)
    if lead is None or lead.inert is None or is_outdated:
        return None
    if active:
        return f"inertia is announced, and these nodes are active: {', '.join(map(str, active))}"
    return f"inertia is announced, and so many messages are under way: {under_way}" if under_way else None


def no_active_node_believes_in_inertia(detectors: Sequence[DetectorState | None]) -> bool:
    """A node that knows itself to be active holds to no announcement."""
    return not any(one is not None and one.is_active and one.inert is not None for one in detectors)


__all__ = ["no_active_node_believes_in_inertia", "what_is_announced_is_true"]
