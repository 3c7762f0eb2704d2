"""Possible reactions are found without being made to happen, and none with a molecule of one's own is missed."""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import solvent
from solvent.engine.compile import code_of
from solvent.engine.matches import LOOSE, Match, Matches
from solvent.engine.reactor import Reactor
from solvent.errors import LimitReached, ReactionFailed
from solvent.lang.molecule import Endless, sub_solutions
from solvent.lang.rule import Rule
from solvent.lang.syntax import RestPattern
from tests.property import oracle
from tests.property.amounts import examples
from tests.property.strategies import programs

if TYPE_CHECKING:
    from solvent.lang.molecule import Molecule


def rule(text: str) -> Rule:
    """Read one rule."""
    (found,) = solvent.hocl.molecules(f"({text})")
    assert isinstance(found, Rule)
    return found


def filled(text: str, own: list[Molecule], others: list[Molecule], *, seed: int | None = None) -> Matches:
    """Give one's own and others' molecules under a rule of the program, each named by what it is."""
    matches = Matches(chance=None if seed is None else random.Random(seed))
    matches.add_rule(rule(text), 0)
    for molecules, is_own in ((own, True), (others, False)):
        for molecule in molecules:
            matches.add(molecule, molecule, is_own=is_own)
    return matches


def names(match: Match | None) -> list[Any]:
    """Give the names of what a match needs, in order."""
    return [] if match is None else sorted(held.name for held in match.reactants)


def test_what_was_tried_in_vain_waits_for_something_new() -> None:
    """After a search in vain only what comes later is tried, and it finds what was there before."""
    matches = filled("replace A : x, B : x by x", solvent.hocl.molecules("A:1, A:2"), [])
    assert matches.find() is None
    assert matches.find() is None
    (partner,) = solvent.hocl.molecules("B:2")
    matches.add(partner, partner, is_own=False)
    found = matches.find()
    assert found is not None
    assert [held.molecule for held in found.reactants] == solvent.hocl.molecules("A:2, B:2")


def test_kept_molecules_are_needed_but_not_consumed() -> None:
    """What a rule only looks at is part of the match and stays."""
    match = filled("replace x::int, y::int by x if x > y", [2], [1]).find()
    assert match is not None
    assert [held.name for held in match.consumed] == [1]
    assert match.react() == []


def test_a_rule_among_the_molecules_is_needed_too() -> None:
    """A reaction by a rule that is a molecule needs the rule; a one-shot rule is consumed."""
    matches = Matches()
    matches.add(rule("replace-one x::int by x + 1"), "rule", is_own=False)
    matches.add(1, "one", is_own=True)
    match = matches.find()
    assert match is not None
    assert match.number == LOOSE
    assert [held.name for held in match.reactants] == ["rule", "one"]
    assert [held.name for held in match.consumed] == ["rule", "one"]


def test_endless_molecules_of_the_program_are_at_hand_everywhere() -> None:
    """Of what there are always more, nobody asks for any."""
    matches = Matches()
    matches.add_rule(rule("replace A, x::int by x - 1 if x > 0"), 0)
    matches.add_endless(Endless(solvent.hocl.Symbol("A")))
    matches.add(1, "one", is_own=True)
    match = matches.find_own()
    assert match is not None
    assert [held.name for held in match.reactants] == ["one"]


def test_a_reaction_among_given_molecules_uses_all_of_them() -> None:
    """A reaction that leaves one of the molecules out is not meant, even if it is possible."""
    matches = Matches()
    matches.add_rule(rule("replace x::int, y::int by x : y"), 0)
    matches.add_endless(Endless(7))
    both = [matches.add(one, one, is_own=True) for one in (1, 2)]
    match = matches.find_among(both)
    assert match is not None
    assert names(match) == [1, 2]


def test_failures_name_the_rule() -> None:
    """A product that cannot be computed is the error of a run, and what it needs stays."""
    matches = filled("replace A : x, B : y by x / y", solvent.hocl.molecules("A:1"), solvent.hocl.molecules("B:0"))
    match = matches.find()
    assert match is not None
    with pytest.raises(ReactionFailed, match="division by zero"):
        match.react()
    assert len(matches) == 2


def test_partners_are_drawn_by_chance() -> None:
    """Nodes that all could take any of many molecules do not all want the same."""
    drawn = {tuple(names(filled("replace A:x, B:y by", solvent.hocl.molecules("A:1"), [], seed=0).find()))}
    for seed in range(20):
        matches = filled("replace x::int, y::int by", [0], list(range(1, 11)), seed=seed)
        drawn.add(tuple(names(matches.find())))
    assert len(drawn) > 4


def test_many_molecules_of_others_cost_little() -> None:
    """Three parts of a rule over thousands of molecules are found in one's own part, without going through all."""
    calls = 0

    def seen(_: int) -> bool:
        nonlocal calls
        calls += 1
        return True

    functions = solvent.hocl.Functions()
    functions.register(seen)
    (three,) = solvent.hocl.molecules("(replace x::int, y::int, z::int by if seen(x))", functions=functions)
    matches = Matches()
    matches.add_rule(three, 0)
    for number in range(2000):
        matches.add(number, number, is_own=False)
    assert matches.find() is None
    assert calls <= 2 * 2000
    matches.add(-1, -1, is_own=True)
    assert -1 in names(matches.find())


# --- Against the oracle.


def possible(molecules: list[Molecule], own: set[int]) -> set[frozenset[int]]:
    """Give the sets of places of all molecules that could react, rule included, with at least one's own among them."""
    naive = oracle._Oracle()
    found = set()
    for at, one in enumerate(molecules):
        if type(one) is not Rule:
            continue
        node = one.node
        # A rest that is left as it was needs nothing.
        patterns = [pattern for pattern in node.patterns if not isinstance(pattern, RestPattern)]
        others = [place for place in range(len(molecules)) if place != at]
        for places in combinations(others, len(patterns)):
            whole = frozenset({at, *places})
            if not whole & own:
                continue
            outer: dict[str, Any] = {name: Rule(inner) for name, inner in node.rules.items()}
            if node.is_recursive and node.name:
                outer[node.name] = one
            for names_found, left in naive._fill(patterns, [molecules[place] for place in places], {}):
                assert not left
                names_all = {**outer, **names_found}
                if node.condition is None or oracle._holds(node.condition, names_all):
                    found.add(whole)
    return found


@examples(60)
@given(programs(), st.integers(0, 10**6))
def test_a_reaction_is_found_exactly_if_there_is_one(text: str, seed: int) -> None:
    """What is found could react, and where nothing is found nothing could, as a naive oracle says."""
    note(text)
    chance = random.Random(seed)
    molecules = list(solvent.hocl.parse(text).solution())
    if any(type(one) is Endless or (type(one) is Rule and code_of(one.node).is_late) for one in molecules):
        return
    try:
        for molecule in molecules:
            for sub in sub_solutions(molecule):
                Reactor(max_reactions=50).run(sub)
    except (ReactionFailed, LimitReached):
        return
    own = {at for at in range(len(molecules)) if chance.random() < 0.5}
    matches = Matches(chance=chance)
    held = [matches.add(one, at, is_own=at in own) for at, one in enumerate(molecules)]
    while True:
        there = sorted(one.name for one in matches)
        expected = possible([molecules[at] for at in there], {there.index(at) for at in there if at in own})
        local = matches.find_own()
        match = matches.find()
        assert (match is not None) == bool(expected)
        assert (local is not None) == any(whole <= {there.index(at) for at in there if at in own} for whole in expected)
        if match is None:
            break
        assert frozenset(there.index(one.name) for one in match.reactants) in expected
        matches.remove(held[chance.choice([one.name for one in match.reactants])])
