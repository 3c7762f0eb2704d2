"""What must be true of the paper's capture at every moment, beside what must be true of any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.protocols.capture.invariants import (
    Scene,
    a_molecule_is_at_one_node_at_most,
    a_molecule_is_consumed_at_most_once,
    what_is_nowhere,
)
from solvent_lab.papers.capture.messages import RespMolecule
from solvent_lab.papers.capture.state import Fetching, Reacting

if TYPE_CHECKING:
    from solvent.protocols.capture.vocabulary import MoleculeId


def no_molecule_is_lost(scene: Scene) -> str | None:
    """What has not been consumed is somewhere: at a node, in the hands of a requester, or under way."""
    here: set[MoleculeId] = {molecule for _, molecule in _in_hand(scene)}
    for state in scene.states:
        here.update(state.molecules)
    here.update(message.molecule for _, _, message in scene.messages if isinstance(message, RespMolecule))
    return what_is_nowhere(scene, here)


def what_is_consumed_is_not_free(scene: Scene) -> str | None:
    """A consumed molecule that its holder still knows of is lent, so no other node can get it."""
    for node, state in enumerate(scene.states):
        for molecule, holding in state.molecules.items():
            if scene.consumed.get(molecule) and (holding.hold is None or not holding.hold.is_lent):
                return f"node {node} would give molecule {molecule} away, which has been consumed"
    return None


def what_is_lent_is_lent_once(scene: Scene) -> str | None:
    """At most one requester has a molecule in its hands."""
    hands: dict[MoleculeId, int] = {}
    for node, molecule in _in_hand(scene):
        if molecule in hands:
            return f"nodes {hands[molecule]} and {node} both have molecule {molecule} in hand"
        hands[molecule] = node
    return None


def _in_hand(scene: Scene) -> list[tuple[int, MoleculeId]]:
    return [
        (node, molecule)
        for node, state in enumerate(scene.states)
        if isinstance(state.phase, Fetching | Reacting)
        for molecule, _ in state.phase.got
    ]


SAFETY = (
    a_molecule_is_consumed_at_most_once,
    a_molecule_is_at_one_node_at_most,
    no_molecule_is_lost,
    what_is_consumed_is_not_free,
    what_is_lent_is_lent_once,
)


def is_released(scene: Scene) -> bool:
    """Decide whether nothing is promised, lent, claimed or under way: every promise was kept or withdrawn."""
    return not scene.messages and not any(
        holding.hold or holding.queue or holding.waiting
        for state in scene.states
        for holding in state.molecules.values()
    )
