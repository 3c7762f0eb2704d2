"""What must hold is seen not to hold where it does not; the checker's broken models show the rest."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from solvent.protocols.elmp.invariants import (
    SAFETY,
    Scene,
    the_queue_is_a_doubly_linked_list,
    the_tree_hangs_together,
    the_tree_is_whole,
)
from solvent.protocols.elmp.messages import Given
from solvent.protocols.elmp.state import ElmpConfig, Place, Requesting
from tests.unit.protocols.elmp.acting import A, B, C, Company

SOUND = Scene(tuple(Company(3).states), (), ElmpConfig())


def changed(node: int, **fields: object) -> Scene:
    """Give the sound scene with one process changed."""
    states = list(SOUND.states)
    states[node] = replace(states[node], **fields)
    return dataclasses.replace(SOUND, states=tuple(states))


def test_torn_tree_is_seen() -> None:
    """Who is nobody's child, or a circle's, is not in the tree."""
    assert the_tree_is_whole(changed(0, children=((B, 0, 1),)))
    assert the_tree_is_whole(changed(1, parent=C))
    lost = changed(0, children=((B, 0, 1),))
    states = (lost.states[0], lost.states[1], replace(lost.states[2], parent=None))
    assert the_tree_hangs_together(dataclasses.replace(lost, states=states))


def test_place_that_was_not_told_counts() -> None:
    """The root knows for a process what that has not heard; what it knows must be right."""
    untold = (Given(B, 1, (B,), 2, (A, 1)),)
    resting = (Place(1, 0, has_token=True, next=(B, 2)),)
    states = (
        replace(SOUND.states[0], turns=2, tail=(B, 2), untold=untold, places=resting),
        replace(SOUND.states[1], phase=Requesting(1, can_wait=True), asks=1, places=(Place(0, 0),)),
        SOUND.states[2],
    )
    assert [check(dataclasses.replace(SOUND, states=states)) for check in SAFETY] == [None] * len(SAFETY)
    wrong = replace(states[0], untold=(Given(B, 1, (B,), 2, (C, 1)),))
    assert the_queue_is_a_doubly_linked_list(dataclasses.replace(SOUND, states=(wrong, *states[1:])))
