"""The reactions enabled in a state: found at once where no solution stands inside, one by one elsewhere."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import assume, given

import solvent
from solvent.engine.explore import explore
from solvent.engine.successors import Opener, replay, successors
from solvent.engine.trace import Recorder
from tests.property.amounts import examples
from tests.property.strategies import programs


def after(text: str) -> list[tuple[str, str]]:
    """Give the rules that can react in a program's first state, each with the state after."""
    found = successors(solvent.hocl.parse(text).solution())
    return sorted((str(rule.name), solvent.hocl.show(state)) for rule, state in found)


def test_state_is_left_as_it_was() -> None:
    """Looking at what may happen changes nothing."""
    state = solvent.hocl.parse("let add = replace x::int, y::int by x + y in <1, 2, 4, add>").solution()
    opened = Opener().open(state)
    assert len(opened.reactions()) == len(opened.reactions()) == 6
    assert solvent.hocl.show(state) == "<1, 2, 4, add>"


def test_product_that_cannot_be_computed_stops_with_the_rule() -> None:
    """An error in a product names the rule and what it had taken."""
    with pytest.raises(solvent.ReactionFailed, match="division by zero") as caught:
        after("let bad = replace x::int by x / 0 in <1, bad>")
    assert (caught.value.rule, caught.value.reactants) == ("bad", ("1",))


@pytest.mark.parametrize("text", ["<1>", "<1, <2>>"])
def test_function_that_raises_in_a_condition_stops(text: str) -> None:
    """So does an exception in the condition of a rule that is only asked whether it fits."""
    functions = solvent.hocl.Functions()

    def fail(_: int) -> bool:
        raise ValueError("no")

    functions.register(fail, "fail")
    asked = solvent.hocl.rule("replace x::int by if fail(x)", functions=functions)
    with pytest.raises(solvent.ReactionFailed, match="a function raised ValueError: no"):
        Opener().open(solvent.hocl.parse(text).solution()).fits(asked)


def test_states_with_ever_new_rules_are_opened() -> None:
    """A program that makes a new rule at each step does not run out of places to lay its states out."""
    text = "<N:0, (grow = replace N:n by N:(n + 1), (replace STOP by n) if n < 100)>"
    found = explore(solvent.hocl.parse(text).solution())
    assert (len(found.states), found.is_complete) == (101, True)


@examples(60)
@given(programs())
def test_state_after_is_what_the_reaction_makes(text: str) -> None:
    """Whichever way a state after was found, it is what the reaction makes of a copy."""
    try:
        found = explore(solvent.hocl.parse(text).solution(), max_states=8)
    except solvent.ReactionFailed:
        assume(condition=False)
        return
    for state in found.states:
        for rule, reached in successors(state):
            recorder = Recorder(state.copied())
            replay(state, rule, reached, recorder)
            assert recorder.solution == reached


@pytest.mark.parametrize(
    "text, final",
    [
        ("let double = replace A:n by B:n, B:n in <A:1, A:2, C, double>", "<C, B:1, B:1, B:2, B:2, double>"),
        ("let add = replace N:m, N:n by N:(m + n) in <N:1, N:2, N:3, N:4, add>", "<N:10, add>"),
        ("let mark = replace K, A:n by K, B:n in <K, A:1, A:2, mark>", "<K, B:1, B:2, mark>"),
        ("let once = replace-one A by B in <A, A, once>", "<A, B>"),
        ("let nest = replace A by <B> in <A, nest>", "<<B>, nest>"),
        ("let wrap = replace-one ?w by <w> in <1, 2, wrap>", "<<1, 2>>"),
    ],
)
def test_solution_runs_to_inertia(text: str, final: str) -> None:
    """Whether it can be laid out or not, a solution reacts until nothing more can, and the one given stays."""
    solution = solvent.hocl.parse(text).solution()
    before = solvent.hocl.show(solution)
    assert solvent.hocl.show(Opener().run(solution, 100)) == final
    assert solvent.hocl.show(solution) == before


def test_run_has_its_limit() -> None:
    """A solution that goes on for ever is stopped."""
    with pytest.raises(solvent.LimitReached, match="still reacting after 10 reactions"):
        Opener().run(solvent.hocl.parse("let up = replace N:n by N:(n + 1) in <N:0, up>").solution(), 10)


@pytest.mark.parametrize(
    "text",
    [
        f"<{', '.join(map(str, range(60)))}, replace x::int, y::int by x - y>",
        f"<{', '.join(f'<{number}>' for number in range(30))}, replace <x>, <y> by <x - y>>",
        f"<{', '.join(f'<A, {number}>' for number in range(600))}>",
    ],
    ids=["numbers", "solutions", "settling"],
)
def test_exploration_stops_amid_the_reactions_of_one_state(text: str) -> None:
    """A large state has so many reactions that whoever waits for the next one waits long."""
    asked = count()
    found = explore(solvent.hocl.parse(text).solution(), should_stop=lambda: next(asked) >= 5)
    assert (len(found.states), found.is_complete, found.finals) == (1, False, [])
