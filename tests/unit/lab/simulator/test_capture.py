"""Simulated capture: the world around the machines, setups and outcomes."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from solvent.errors import Misuse
from solvent.protocols.capture.vocabulary import (
    Reacted,
)
from solvent.protocols.machine import Received, Send
from solvent_lab.papers.capture import capture_node
from solvent_lab.papers.capture.messages import Fetch, Query, RespMolecule, RespTaken
from solvent_lab.papers.capture.state import CaptureConfig
from solvent_lab.simulator.capture import (
    NearWorld,
    Pile,
    RuleOfTypes,
    Setup,
    World,
    simulate,
)

PAIRS = (RuleOfTypes((0, 0)),)


def world_of(program: tuple[RuleOfTypes, ...], *shares: list[int], near: bool = False) -> World:
    """Make a world in which node n holds molecules of the types `shares[n]`, numbered from 0."""
    number = iter(range(1_000))
    kind = NearWorld if near else World
    return kind(program, [[(next(number), one) for one in share] for share in shares])


def test_a_pile_gives_each_pair_alike_often() -> None:
    """Two drawn from a pile are different, and every pair comes up, about equally often."""
    pile, chance = Pile(), Random(1)
    for item in "abcd":
        pile.add(item)
    seen = Counter(tuple(pile.draw(2, chance)) for _ in range(12_000))
    assert len(seen) == 12
    assert all(800 < count < 1_200 for count in seen.values())
    assert sorted(pile.draw(4, chance)) == ["a", "b", "c", "d"]


def test_nothing_is_consumed_twice() -> None:
    """The world is the judge: a molecule that is consumed again ends the run."""
    world = world_of(PAIRS, [0, 0, 0])
    world.told(0, Reacted(0, 1, (0, 1), ()), 1)
    with pytest.raises(AssertionError, match="molecule 1 is consumed twice"):
        world.told(0, Reacted(0, 2, (1, 2), ()), 2)


SMALL = {"nodes": 20, "molecules": (401,)}
THREE = (RuleOfTypes((0, 0), (1,)), RuleOfTypes((1, 1), (2,)), RuleOfTypes((2, 2)))


@pytest.mark.parametrize("protocol", ["adaptive", "pessimistic", "better"])
def test_all_but_the_odd_molecule_react(protocol: str) -> None:
    """A run ends when fewer than two molecules are left, after half as many reactions as there were molecules."""
    outcome = simulate(Setup(**SMALL, protocol=protocol), 1)
    assert outcome.is_finished
    assert len(outcome.happened) == 200
    assert outcome.steps == outcome.happened[-1].at
    assert outcome.messages >= 2 * 200


def test_setup_and_seed_say_everything() -> None:
    """The same seed gives the same run, another one another."""
    setup = Setup(**SMALL, dormant=True)
    one, again, other = (simulate(setup, seed)._replace(seconds=0.0) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_a_run_without_end_is_given_up() -> None:
    """Optimists alone run to the limit, and that is how many steps they count."""
    outcome = simulate(Setup(**SMALL, protocol="optimistic", max_steps=33), 1)
    assert not outcome.is_finished
    assert outcome.steps == 33


@pytest.mark.parametrize("molecules", [0, 1])
def test_what_is_inert_ends_at_once(molecules: int) -> None:
    """Where nothing can react, no step is taken and no message sent."""
    outcome = simulate(Setup(nodes=3, molecules=(molecules,)), 1)
    assert (outcome.is_finished, outcome.steps, outcome.messages) == (True, 0, 0)


def test_the_optimum_is_the_papers() -> None:
    """The ideal system needs 2 m / (n r) steps; a run is given up after ten times as many, but not before 600."""
    assert Setup().optimum == 60
    assert Setup().limit == 600
    assert Setup(nodes=100).limit == 1_500
    assert Setup(nodes=100, max_steps=7).limit == 7


def test_messages_are_useful_or_not() -> None:
    """Counting sorts every message sent, and changes nothing about the run."""
    setup = Setup(**SMALL)
    counted, plain = simulate(setup, 3, counts_messages=True), simulate(setup, 3)
    assert counted.messages == plain.messages == sum(counted.useful) + sum(counted.useless)
    # A reaction of an optimist takes three messages for each of its two molecules, one of a pessimist six.
    assert 6 * len(counted.happened) <= sum(counted.useful) <= 12 * len(counted.happened)
    assert (plain.useful, plain.useless) == ([], [])


def test_messages_of_pessimists_that_react() -> None:
    """A single pessimist is never refused: all its messages are useful, twelve for a reaction."""
    outcome = simulate(Setup(nodes=1, molecules=(20,), protocol="pessimistic"), 1, counts_messages=True)
    assert sum(outcome.useful) == 12 * 10
    # What it asks for when nothing is left any more leads to nothing.
    assert outcome.messages - sum(outcome.useful) == sum(outcome.useless) <= 2


def test_keepers_keep_their_rules_and_others_begin_anywhere() -> None:
    """With several rules, all of them are begun with, and keepers never change."""
    setup = Setup(nodes=30, molecules=(200, 200, 200), program=THREE, dormant=True)
    outcome = simulate(setup, 5)
    assert outcome.is_finished
    assert {*outcome.rules} == {0, 1, 2}
    changed = {(turn.node, turn.rule) for turn in outcome.turned}
    keepers = {node for node, rule in enumerate(outcome.rules) if all(r == rule for n, r in changed if n == node)}
    assert len(keepers) >= 3
    assert any(rule != outcome.rules[node] for node, rule in changed)


def test_every_reaction_of_several_rules_happens() -> None:
    """What rules make is consumed by other rules until nothing can react."""
    outcome = simulate(Setup(nodes=30, molecules=(800,), program=THREE, dormant=True), 5)
    done = [sum(one.rule == rule for one in outcome.happened) for rule in range(3)]
    assert done == [400, 200, 100]


@pytest.mark.parametrize("wrong, said", [
    ({"protocol": "bettr"}, "there is no protocol `bettr`"),
    ({"nodes": 2, "program": THREE}, "2 nodes cannot keep 3 rules"),
    ({"threshold": 1.5}, "the threshold is 1.5"),
    ({"protocol": "better", "program": THREE}, "`better` is simulated with one rule"),
])  # fmt: skip
def test_setups_that_mean_nothing_are_refused(wrong: dict[str, object], said: str) -> None:
    """A setup says what is wrong with it."""
    with pytest.raises(Misuse, match=said):
        Setup(**wrong)


@pytest.mark.parametrize("favours_optimists, reply", [(False, RespTaken), (True, RespMolecule)])
def test_who_comes_first_where_a_pessimist_has_asked(favours_optimists: bool, reply: type) -> None:  # noqa: FBT001
    """A pessimist that has only asked keeps optimists away, unless they are favoured."""
    node = capture_node(CaptureConfig(0, molecules=((7, "x"),), favours_optimists=favours_optimists))
    state, _ = node.start()
    state, _ = node.step(state, Received(1, Query(7, 1, 0, 20, 0)))
    _, effects = node.step(state, Received(2, Fetch(7, 1, 0, 20, True)))
    assert [type(effect.message) for effect in effects if isinstance(effect, Send)] == [reply]
