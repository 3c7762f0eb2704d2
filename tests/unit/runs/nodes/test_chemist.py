"""Chemists on several nodes end where one would."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

import solvent
from solvent.errors import Misuse
from tests.examples.test_hocl_examples import _assert_legal, _program
from tests.property.amounts import examples
from tests.property.oracle import TooMany, search, state_key
from tests.property.strategies import programs
from tests.unit.runs.nodes.town import Town, over_nodes

MAX_STATES = 120


@examples(60)
@given(programs(), st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_random_programs_end_where_the_oracle_can(text: str, nodes: int, seed: int, reacts_locally: bool) -> None:  # noqa: FBT001
    """Over any number of nodes a program ends in a final state of the oracle, or fails where the oracle can fail."""
    note(text)
    try:
        outcomes = search(solvent.hocl.parse(text).solution(), max_states=MAX_STATES)
    except TooMany:
        assume(condition=False)
        raise
    assume(outcomes.always_ends())
    try:
        town = Town(solvent.hocl.parse(text), nodes, seed, reacts_locally=reacts_locally)
        if town.deal.why_together:
            return
        solution = town.run()
    except solvent.ReactionFailed:
        assert outcomes.failures
    else:
        assert state_key(solution) in outcomes.finals, solvent.hocl.show(solution)


NAMES = [
    "bank", "closures", "convex-hull", "dutch-flag", "exchange-sort", "leader-election", "mailboxes", "merge-sort",
    "philosophers", "primes", "self-healing", "spanning-tree", "transitive-closure", "two-phase-commit", "word-count",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_examples_end_legally_over_nodes(name: str) -> None:
    """Examples end over nodes as they do in one process, whether own molecules react by themselves or not."""
    for reacts_locally in (True, False):
        solution = Town(_program(name), 3, 7, reacts_locally=reacts_locally).run()
        _assert_legal(name, solution)


def test_a_catalyst_that_stands_is_seen_everywhere() -> None:
    """A rule that stands may be looked at by others without being asked for."""
    assert over_nodes("let up = replace A : x by x in <A:1, 7, up, replace-one up = u, y::int by u, B:y>") in (
        "<1, 7, B:1, up>",
        "<1, B:7, up>",
        "<7, B:1, up>",
    )


def test_endless_molecules_serve_all_nodes() -> None:
    """Of a molecule without end every node has its own, and one is left in the end."""
    assert (
        over_nodes("let pair = replace A, x::int by B:x in <A^inf, 1, 2, 3, 4, pair>")
        == "<A^inf, B:1, B:2, B:3, B:4, pair>"
    )


def test_an_endless_molecule_that_is_made_later_is_found() -> None:
    """An endless molecule that a reaction makes at one node is used at others too."""
    text = (
        "let pair = replace A, x::int by B:x in let make = replace-one START by A^inf in <START, 1, 2, 3, make, pair>"
    )
    for seed in range(5):
        assert over_nodes(text, seed=seed) == "<A^inf, B:1, B:2, B:3, pair>"


def test_functions_are_called_once_for_each_reaction() -> None:
    """A product is computed only for a reaction that happens, however many nodes had it in mind."""
    calls: list[tuple[int, int]] = []

    def joined(one: int, other: int) -> int:
        calls.append((one, other))
        return one + other

    functions = solvent.hocl.Functions()
    functions.register(joined)
    text = f"let join = replace x::int, y::int by joined(x, y) in <{', '.join(map(str, range(1, 21)))}, join>"
    for reacts_locally in (True, False):
        calls.clear()
        shown = over_nodes(text, nodes=4, functions=functions, reacts_locally=reacts_locally)
        assert shown == "<210, join>"
        assert len(calls) == 19


def test_a_rule_out_of_nowhere_is_refused() -> None:
    """A rule that a function makes, and that could change what all nodes count on, is refused with a reason."""
    functions = solvent.hocl.Functions()
    functions.register(lambda: solvent.hocl.rule("replace-one r::rule by", name="eat"), "make")
    with pytest.raises(Misuse, match="a function has made the rule `eat`"):
        over_nodes("let a = replace x::int by make() in let b = replace A, B by in <1, a, b>", functions=functions)


def test_opaque_values_do_not_travel() -> None:
    """A Python value that HOCL has no form for is refused with a reason."""
    functions = solvent.hocl.Functions()
    functions.register(object, "thing")
    with pytest.raises(Misuse, match="cannot go from node to node") as caught:
        over_nodes("let make = replace x::int by thing() in <1, make>", functions=functions)
    assert caught.value.code == "H340"
