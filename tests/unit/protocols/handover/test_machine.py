"""Processes of a space: they come, open resources, claim them, go, and die."""

from __future__ import annotations

import pytest

from solvent.protocols.elmp.state import Out
from solvent.protocols.elmp.vocabulary import Data, Dropped, Granted, Leave, Left, Release, Request
from solvent.protocols.handover.state import SpaceConfig
from solvent.protocols.handover.vocabulary import (
    Astray,
    Died,
    Enter,
    Entered,
    Expelled,
    Go,
    In,
    Of,
    Open,
    Opened,
    Stays,
)
from solvent.protocols.machine import NodeId, Requested
from tests.unit.protocols.handover.town import R, Town, is_sound, of

A, B, C, D = map(NodeId, range(4))


# -------------------------------------------------------------------------------------------------- coming and going


def test_who_turns_to_one_outside_is_sent_away() -> None:
    """It has to try another one."""
    town = Town(3, is_settled=False)
    assert (C, Astray(B)) in town.want(2, Enter(B))
    assert (C, Entered((0, A))) in town.want(2, Enter(A))


def test_who_turns_to_one_that_dies_is_told() -> None:
    """The host says that the contact is dead; to turn to it again is in vain."""
    town = Town(2, is_settled=False)
    town.dead.add(0)
    town.want(1, Enter(A))
    assert town.want(1, Died(A)) == [(B, Astray(A)), *town.told[-1:]]
    assert (B, Astray(A)) in town.want(1, Enter(A))


def test_resources_are_made_once() -> None:
    """Whoever opens one first: the founder makes it."""
    town = Town(3, is_settled=False)
    town.want(1, Enter(A))
    town.want(2, Enter(A))
    assert town.want(2, Open(R)) == [(C, Opened(R))]
    assert town.want(1, Open(R)) == [(B, Opened(R))]
    assert town.want(0, Open(R)) == [(A, Opened(R))]
    assert town.want(1, Open(R)) == [(B, Opened(R))]
    assert is_sound(town)


def test_founder_stays_in_all_resources() -> None:
    """It may give up its claims, but others count on it."""
    town = Town(2)
    town.want(0, In(R, Request()))
    assert town.want(0, In(R, Leave())) == [(A, Of(R, Dropped(0))), (A, Of(R, Stays()))]
    assert (B, Of(R, Left())) in town.want(1, In(R, Leave()))
    assert type(town.states[1].resources[R].phase) is Out
    assert (B, Opened(R)) in town.want(1, Open(R))


# ------------------------------------------------------------------------------------------------------------ deaths


def test_data_of_a_resource_that_nobody_else_knew_is_found() -> None:
    """A resource that only the dead one had is there again when somebody opens it."""
    town = Town(3)
    town.want(0, Open("other"))
    town.found[2] = {"other": Data(3, C)}
    town.kill(0)
    town.want(1, Open("other"))
    [(_, granted)] = of(town.want(1, In("other", Request())), Granted)
    assert (granted.data.version, granted.data.holder) == (3, C)


# -------------------------------------------------------------------------------------------------------- suspicions


def test_half_goes_on_with_the_founder_only() -> None:
    """Of two halves the one that has the founder goes on."""
    town = Town(2)
    town.cut.add(frozenset((0, 1)))
    town.want(1, Died(A, is_certain=False))
    town.want(0, Died(B, is_certain=False))
    assert [state.is_running for state in town.states] == [True, False]
    town.heal()
    assert of(town.told, Expelled) == [(B, Expelled())]


def test_without_majority_anybody_goes_on_if_so_configured() -> None:
    """For those who would rather have two spaces than none."""
    town = Town(2, config=SpaceConfig(needs_majority=False))
    town.dead.add(0)
    town.want(1, Died(A, is_certain=False))
    assert of(town.want(1, In(R, Request())), Granted) != []


# ---------------------------------------------------------------------------------------------------------- messages


@pytest.mark.parametrize("is_killed", [True, False])
def test_who_becomes_the_founder_while_it_leaves_a_resource_stays_in_it(*, is_killed: bool) -> None:
    """It would else be made a second time for whoever opens it next, with a second token."""
    town = Town(4)
    town.want(C, In(R, Request(7)))
    # It has to wait until somebody has been told of the place that it gives up.
    town.take(B, Requested(In(R, Leave())))
    if is_killed:
        town.kill(A)
    else:
        town.want(A, Go())
    assert town.states[B].founder == B
    assert type(town.states[B].resources[R].phase) is not Out
    assert of(town.want(D, In(R, Request(9))), Granted) == []
    assert is_sound(town)
    assert [node for node, _ in of(town.want(C, In(R, Release(7))), Granted)] == [D]


def test_turns_of_a_resource_that_is_made_again_are_greater_than_any_before() -> None:
    """All who had a resource may be gone, and their turns still be known to whoever guards its data."""
    town = Town(5, is_settled=False)
    for node in range(1, 5):
        town.want(node, Enter(NodeId(node - 1)))
    town.want(B, Open(R))
    first = [told.turn for _, told in of(town.want(B, In(R, Request())), Granted)]
    town.kill(A)
    town.kill(B)
    town.want(D, Open(R))
    later = [told.turn for _, told in of(town.want(D, In(R, Request())), Granted)]
    assert len(first) == len(later) == 1
    assert later[0] > first[0] + 1_000
