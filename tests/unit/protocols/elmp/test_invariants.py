"""What must hold is seen not to hold where it does not; the checker's broken models show the rest."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from solvent.protocols.elmp.invariants import (
    SAFETY,
    Scene,
    at_rest_sizes_are_known,
    the_data_is_where_it_is_said_to_be,
    the_queue_is_a_doubly_linked_list,
    the_root_knows_the_last,
    the_tree_hangs_together,
    the_tree_is_whole,
    there_is_one_root,
    there_is_one_token,
    who_is_asked_takes_part,
    who_waits_is_in_the_queue,
)
from solvent.protocols.elmp.messages import Done, Given, Token
from solvent.protocols.elmp.state import ElmpConfig, ElmpState, Place, Requesting, Use
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Data
from solvent.protocols.machine import NodeId
from tests.unit.protocols.elmp.acting import A, B, C, Company

SOUND = Scene(tuple(Company(3).states), (), ElmpConfig())


def changed(node: int, **fields: object) -> Scene:
    """Give the sound scene with one process changed."""
    states = list(SOUND.states)
    states[node] = replace(states[node], **fields)
    return dataclasses.replace(SOUND, states=tuple(states))


def reseated(node: int, **fields: object) -> Scene:
    """Give the sound scene with one seat changed."""
    state: ElmpState = SOUND.states[node]
    return changed(node, seat=replace(state.seat, **fields))


def test_sound_scene_is_sound() -> None:
    """Where all is well, no invariant complains."""
    assert [check(SOUND) for check in SAFETY] == [None] * len(SAFETY)


def test_two_tokens_and_none_are_seen() -> None:
    """One token under way beside one that rests is one too many."""
    assert there_is_one_token(dataclasses.replace(SOUND, messages=((A, B, Token(2)),)))
    assert there_is_one_token(changed(0, places=()))


def test_places_out_of_reach_are_seen() -> None:
    """A place to which no place leads waits for ever."""
    assert who_waits_is_in_the_queue(changed(1, places=(Place(5, 0, predecessor=(A, 1)),)))
    torn = (Place(1, None, has_token=True, next=(B, 2)),)
    assert who_waits_is_in_the_queue(changed(0, places=torn))


def test_wrong_predecessor_is_seen() -> None:
    """Neighbours in the queue know each other."""
    scene = changed(0, places=(Place(1, 0, has_token=True, next=(B, 2)),))
    states = (scene.states[0], replace(scene.states[1], places=(Place(2, 0, predecessor=(C, 1)),)), scene.states[2])
    assert the_queue_is_a_doubly_linked_list(dataclasses.replace(scene, states=states))


def test_wrong_end_is_seen() -> None:
    """The root must know the last place."""
    assert the_root_knows_the_last(reseated(0, tail=(C, 1)))


def test_two_roots_and_none_are_seen() -> None:
    """One process gives ranks and turns."""
    assert there_is_one_root(reseated(1, ranks=3))
    assert there_is_one_root(reseated(0, ranks=0))


def test_torn_tree_is_seen() -> None:
    """Who is nobody's child, or a circle's, is not in the tree."""
    assert the_tree_is_whole(reseated(0, children=((B, 0, 1),)))
    assert the_tree_is_whole(reseated(1, parent=C))
    lost = reseated(0, children=((B, 0, 1),))
    states = (lost.states[0], lost.states[1], replace(lost.states[2], seat=replace(lost.states[2].seat, parent=None)))
    assert the_tree_hangs_together(dataclasses.replace(lost, states=states))


def test_wrong_sizes_are_seen() -> None:
    """A parent that knows a wrong weight would send newcomers to the wrong place."""
    assert at_rest_sizes_are_known(reseated(0, children=((B, 0, 2), (C, 0, 1))))


def test_lost_data_is_seen() -> None:
    """The token must not name a process that takes no part."""
    assert the_data_is_where_it_is_said_to_be(
        changed(0, places=(Place(1, None, has_token=True, data=Data(1, NodeId(9))),))
    )


def test_claims_of_those_who_have_left_are_seen() -> None:
    """Nobody waits for an answer from who takes no part, unless it is on its way; nor will anybody."""
    gone = NodeId(9)
    waiting = changed(1, uses=(Use(1, 0, WHOLE, 2, awaits=((gone, 4),)),))
    assert who_is_asked_takes_part(waiting)
    assert not who_is_asked_takes_part(
        dataclasses.replace(waiting, messages=((gone, B, Done(1, gone, (4,), is_changed=False)),))
    )
    active = ((gone, 4, Claim(is_shared=True)),)
    assert who_is_asked_takes_part(changed(0, places=(Place(1, None, has_token=True, active=active),)))
    assert who_is_asked_takes_part(dataclasses.replace(SOUND, messages=((A, B, Token(2, None, active)),)))


def test_place_that_was_not_told_counts() -> None:
    """The root knows for a process what that has not heard; what it knows must be right."""
    root = replace(SOUND.states[0].seat, turns=2, tail=(B, 2), untold=(Given(B, 1, (B,), 2, (A, 1)),))
    resting = (Place(1, 0, has_token=True, next=(B, 2)),)
    states = (
        replace(SOUND.states[0], seat=root, places=resting),
        replace(SOUND.states[1], phase=Requesting(1, can_wait=True), asks=1, places=(Place(0, 0),)),
        SOUND.states[2],
    )
    assert [check(dataclasses.replace(SOUND, states=states)) for check in SAFETY] == [None] * len(SAFETY)
    wrong = replace(states[0], seat=replace(root, untold=(Given(B, 1, (B,), 2, (C, 1)),)))
    assert the_queue_is_a_doubly_linked_list(dataclasses.replace(SOUND, states=(wrong, *states[1:])))
