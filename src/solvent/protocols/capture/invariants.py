"""What must be true of capture at every moment, whatever happens: functions over all nodes and what is under way.

A `Scene` is what simulator, checker and tests put together: every node's state, or for a node that is down what its
records say; the messages under way; and how often each molecule has been consumed, which no node knows. Each function
gives None where all is well, or says what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.protocols.capture.moving import Given

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from solvent.protocols.capture.vocabulary import MoleculeId


class Scene(NamedTuple):
    """All nodes at one moment."""

    states: tuple[Any, ...]
    #: Sender, recipient, message.
    messages: tuple[tuple[int, int, Any], ...]
    #: How often each molecule has been consumed.
    consumed: Mapping[MoleculeId, int]
    #: Every molecule there ever was.
    known: Iterable[MoleculeId]


def a_molecule_is_consumed_at_most_once(scene: Scene) -> str | None:
    """The paper's safety."""
    for molecule, times in scene.consumed.items():
        if times > 1:
            return f"molecule {molecule} was consumed {times} times"
    return None


def a_molecule_is_at_one_node_at_most(scene: Scene) -> str | None:
    """Nobody has a copy of what another has."""
    seen: dict[MoleculeId, int] = {}
    for node, state in enumerate(scene.states):
        for molecule in state.molecules:
            if molecule in seen:
                return f"molecule {molecule} is at node {seen[molecule]} and at node {node}"
            seen[molecule] = node
    return None


def no_molecule_is_lost(scene: Scene) -> str | None:
    """What has not been consumed is somewhere: at a node, or under way."""
    here: set[MoleculeId] = set()
    for state in scene.states:
        here.update(state.molecules)
        here.update(item for _, items in state.gifts.values() for item, _ in items)
    for _, _, message in scene.messages:
        if isinstance(message, Given):
            here.update(item for item, _ in message.molecules)
    return what_is_nowhere(scene, here)


def what_is_nowhere(scene: Scene, here: set[MoleculeId]) -> str | None:
    """Compare what is somewhere with what there ever was."""
    for molecule in scene.known:
        if molecule not in here and not scene.consumed.get(molecule):
            return f"molecule {molecule} is nowhere"
    return None


def what_is_consumed_is_not_free(scene: Scene) -> str | None:
    """A consumed molecule is known to no node."""
    for node, state in enumerate(scene.states):
        for molecule in state.molecules:
            if scene.consumed.get(molecule):
                return f"node {node} would give molecule {molecule} away, which has been consumed"
    return None


SAFETY = (
    a_molecule_is_consumed_at_most_once,
    a_molecule_is_at_one_node_at_most,
    no_molecule_is_lost,
    what_is_consumed_is_not_free,
)


def is_released(scene: Scene) -> bool:
    """Decide whether nothing is under way."""
    return not scene.messages and not any(state.gifts for state in scene.states)
