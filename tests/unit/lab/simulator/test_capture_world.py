"""The world around simulated capture: what exists, what is proposed, when it is over."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from solvent.protocols.capture.vocabulary import (
    Abandoned,
    Arrived,
    Combination,
    Discover,
    Gone,
    Products,
    React,
    Reacted,
    Switched,
)
from solvent_lab.simulator.capture_world import NearWorld, Pile, RuleOfTypes, Turned, World, dealt

PAIRS = (RuleOfTypes((0, 0)),)
MIXED = (RuleOfTypes((0, 0), (1,)), RuleOfTypes((1, 2), (0,)), RuleOfTypes((2, 2, 2)))


def world_of(program: tuple[RuleOfTypes, ...], *shares: list[int], near: bool = False) -> World:
    """Make a world in which node n holds molecules of the types `shares[n]`, numbered from 0."""
    number = iter(range(1_000))
    kind = NearWorld if near else World
    return kind(program, [[(next(number), one) for one in share] for share in shares])


def proposed(world: World, node: int = 0, rule: int = 0, seed: int = 1) -> tuple[tuple[int, int], ...]:
    """Ask for a combination and give its places."""
    answer = world.answer(node, Discover(rule), Random(seed))
    assert isinstance(answer, Combination)
    assert answer.rule == rule
    return answer.places


def test_a_pile_gives_each_pair_alike_often() -> None:
    """Two drawn from a pile are different, and every pair comes up, about equally often."""
    pile, chance = Pile(), Random(1)
    for item in "abcd":
        pile.add(item)
    seen = Counter(tuple(pile.draw(2, chance)) for _ in range(12_000))
    assert len(seen) == 12
    assert all(800 < count < 1_200 for count in seen.values())
    assert sorted(pile.draw(4, chance)) == ["a", "b", "c", "d"]


def test_a_pile_forgets_what_is_removed() -> None:
    """What has been taken out is not drawn any more, and the rest is."""
    pile = Pile()
    for item in range(5):
        pile.add(item)
    for item in (4, 0, 2):
        pile.remove(item)
    assert len(pile) == 2
    assert 2 not in pile
    assert {pile.draw(1, Random(seed))[0] for seed in range(20)} == {1, 3}


def test_proposals_are_pairs_of_what_exists() -> None:
    """Two different molecules are proposed, each with its holder, and every pair may be."""
    world = world_of(PAIRS, [0, 0], [0])
    seen = {proposed(world, seed=seed) for seed in range(60)}
    assert {frozenset(places) for places in seen} == {
        frozenset({(0, 0), (1, 0)}),
        frozenset({(0, 0), (2, 1)}),
        frozenset({(1, 0), (2, 1)}),
    }


def test_nothing_is_proposed_where_a_type_is_missing() -> None:
    """A rule that does not find all its types finds nothing."""
    world = world_of(MIXED, [0, 0], [1])
    assert len(proposed(world, rule=0)) == 2
    assert proposed(world, rule=1) == ()
    assert proposed(world, rule=2) == ()


def test_a_rule_of_several_types_takes_one_of_each() -> None:
    """The molecules proposed are of the types the rule takes, in that order."""
    world = world_of(MIXED, [1, 0], [2, 2, 2])
    assert [world.kinds[item] for item, _ in proposed(world, rule=1)] == [1, 2]
    assert sorted(item for item, _ in proposed(world, rule=2)) == [2, 3, 4]


def test_products_are_those_of_the_rule() -> None:
    """A reaction gives the types its rule makes."""
    assert world_of(MIXED, [0, 0]).answer(0, React(0, ()), Random(1)) == Products((1,))


def test_reactions_change_what_there_is() -> None:
    """What is consumed is gone, what is made lies at the node that made it, and the run is over when nothing reacts."""
    world = world_of(MIXED, [0, 0], [2])
    assert not world.is_over()
    world.told(1, Reacted(0, 5, (0, 1), ((50, 1),)), 7)
    assert (world.holders, world.kinds) == ({2: 1, 50: 1}, {2: 2, 50: 1})
    assert not world.is_over()
    world.told(0, Reacted(1, 6, (50, 2), ((60, 0),)), 9)
    assert world.is_over()
    assert [(one.at, one.rule, one.node, one.attempt) for one in world.happened] == [(7, 0, 1, 5), (9, 1, 0, 6)]
    assert (world.reactions, world.steps_of_last) == (2, 9)


def test_nothing_is_consumed_twice() -> None:
    """The world is the judge: a molecule that is consumed again ends the run."""
    world = world_of(PAIRS, [0, 0, 0])
    world.told(0, Reacted(0, 1, (0, 1), ()), 1)
    with pytest.raises(AssertionError, match="molecule 1 is consumed twice"):
        world.told(0, Reacted(0, 2, (1, 2), ()), 2)


def test_switches_are_kept_and_failures_are_not() -> None:
    """What nodes report about how they go on is kept for figures."""
    world = world_of(PAIRS, [0, 0])
    world.told(0, Abandoned(0, 1), 3)
    world.told(0, Switched("pessimistic", 0), 3)
    assert world.turned == [Turned(3, 0, "pessimistic", 0)]


def test_near_means_own_then_rich_then_one_of_each() -> None:
    """A node is proposed two of its own, else two of another's, else one of each."""
    world = world_of(PAIRS, [0, 0, 0], [0], [], near=True)
    assert proposed(world, node=0) == ((0, 0), (1, 0))
    assert sorted(proposed(world, node=1)) == [(1, 0), (2, 0)]
    world.told(2, Reacted(0, 1, (0, 1), ()), 1)
    assert proposed(world, node=1) == ((3, 1), (2, 0))
    # Who has none leaves the last ones to those that have them.
    assert proposed(world, node=2) == ()


def test_near_follows_molecules_that_move() -> None:
    """What has left a node is not proposed there any more, and is where it has arrived."""
    world = world_of(PAIRS, [0, 0], [0], near=True)
    world.told(0, Gone(0), 1)
    assert proposed(world, node=0) == ((1, 0), (2, 1))
    world.told(1, Arrived(0, 0), 2)
    assert sorted(proposed(world, node=1)) == [(0, 1), (2, 1)]
    world.told(1, Reacted(0, 1, (0, 2), ()), 3)
    assert world.is_over()
    # That a molecule left is said again when it has been consumed on the way: no harm.
    world.told(1, Gone(2), 3)
    assert world.holders == {1: 0}


def test_proposals_for_moving_name_the_values() -> None:
    """Values are known, so a holder may give an equal molecule."""
    answer = world_of(PAIRS, [0, 0], near=True).answer(0, Discover(0), Random(1))
    assert answer.values == (0, 0)


def test_all_molecules_are_dealt_once() -> None:
    """Every molecule is at one node, with its type, and no node is left out when there are many."""
    shares = dealt([0] * 60 + [1] * 40, 5, Random(1))
    assert sorted(one for share in shares for one in share) == [(n, 0) for n in range(60)] + [
        (n, 1) for n in range(60, 100)
    ]
    assert all(shares)
