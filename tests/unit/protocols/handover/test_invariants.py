"""What must be true of a space is noticed when it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp.state import ElmpConfig
from solvent.protocols.elmp.vocabulary import Request
from solvent.protocols.handover.invariants import (
    Scene,
    the_founder_takes_part_in_all_resources,
    what_excludes_each_other_is_not_held_together,
)
from solvent.protocols.handover.vocabulary import In
from solvent.protocols.machine import NodeId
from tests.unit.protocols.handover.town import R, Town

if TYPE_CHECKING:
    from solvent.protocols.handover.state import SpaceState

A = NodeId(0)


def scene(*states: SpaceState) -> Scene:
    """Give processes by their places."""
    return Scene({NodeId(node): state for node, state in enumerate(states)}, (), ElmpConfig())


def test_two_holders_are_noticed() -> None:
    """Unless one of them does not count any more."""
    town = Town(2)
    town.want(0, In(R, Request()))
    holder, other = town.states
    both = replace(other, resources={R: holder.resources[R]})
    assert what_excludes_each_other_is_not_held_together(scene(holder, other)) is None
    assert what_excludes_each_other_is_not_held_together(scene(holder, both)) is not None
    later = replace(holder, epoch=(1, A), promised=(1, A), members={A: "a0"})
    assert what_excludes_each_other_is_not_held_together(scene(later, both)) is None


def test_resource_that_the_founder_does_not_know_is_noticed() -> None:
    """It might make it again."""
    founder, other = Town(2).states
    assert the_founder_takes_part_in_all_resources(scene(founder, other)) is None
    assert the_founder_takes_part_in_all_resources(scene(replace(founder, resources={}), other)) is not None
