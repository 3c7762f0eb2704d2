"""The reactions enabled in a state: found at once where no solution stands inside, one by one elsewhere."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import assume, given

import solvent
from solvent.engine.explore import explore
from solvent.engine.replay import replay
from solvent.engine.successors import Successors, successors
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
    found = Successors()
    content = found.content(state)
    assert len(found.after(content)) == len(found.after(content)) == 6
    assert solvent.hocl.show(state) == "<1, 2, 4, add>"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("<A^inf, (r = replace-one A by B)>", {("r", "<A^inf, B>")}),
        ("<A, (r = replace-one A by B)^inf>", {("r", "<B, r^inf>")}),
        ("<T:<1, 2>, (r = replace T:<x, ?w> by x, U:<w>)>", {("r", "<1, U:<2>, r>"), ("r", "<2, U:<1>, r>")}),
        ("<T:<1, 2>, (r = replace T:<x, ?w> by T:<w> if x > 1)>", {("r", "<T:<1>, r>")}),
        ("<T:<1, (i = replace 1 by 2)>, (r = replace T:s by s)>", {("i", "<T:<2, i>, r>")}),
        ("<(<1, (i = replace-one 1 by 2)>, <1, (i = replace-one 1 by 2)>)>",
         {("i", "<(<1, i>, <2>)>"), ("i", "<(<2>, <1, i>)>")}),
        ("<1, <A, (i = replace-one A by B)>, (r = replace-one ?w by <w>)>", {("i", "<1, <B>, r>")}),
        ("<1, 2, (r = replace-one x::int, ?w by A, <w>)>", {("r", "<A, <2>>"), ("r", "<A, <1>>")}),
        ("<1, 2, (r = replace-one 1, ?w by w, 3)>", {("r", "<2, 3>")}),
        ("<1, <2>, (r = replace x::int, s::solution by s, s)>", {("r", "<<2>, <2>, r>")}),
        ("<3, 3^inf, (r = replace y, y by A)>", {("r", "<3^inf, A, r>"), ("r", "<3, 3^inf, A, r>")}),
        ("<T:<>^inf, (r = replace-one T:<> by U)>", {("r", "<U, (T:<>)^inf>")}),
    ],
)  # fmt: skip
def test_each_reaction_leads_to_its_state(text: str, expected: set[tuple[str, str]]) -> None:
    """Endless molecules stay, solutions inside react by themselves, and a rest is all that nothing else takes."""
    assert set(after(text)) == expected


def test_what_happens_inside_a_solution_is_found_out_once() -> None:
    """Equal solutions in many molecules and states share what can react in them."""
    asked: list[int] = []
    functions = solvent.hocl.Functions()

    @functions.register
    def ask(number: int) -> bool:
        asked.append(number)
        return True

    text = ", ".join(f"T{at}:<1, (i = replace-one x::int by A if ask(x))>" for at in range(5))
    found = explore(solvent.hocl.parse(f"<{text}>", functions=functions).solution())
    assert (len(found.states), asked) == (2**5, [1])


def test_states_are_independent_of_each_other() -> None:
    """A state may be changed without changing another that has the same solution inside."""
    found = explore(solvent.hocl.parse("<T:<1>, A, (r = replace-one A by B)>").solution())
    first, second = found.states
    next(one for one in first if type(one) is tuple)[1].add(7)
    assert [solvent.hocl.show(state) for state in (first, second)] == ["<A, T:<1, 7>, r>", "<B, T:<1>>"]
    assert found.states[-1] is second


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
    found = Successors()
    with pytest.raises(solvent.ReactionFailed, match="a function raised ValueError: no"):
        found.fits(asked, found.content(solvent.hocl.parse(text).solution()))


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
    found = Successors()
    assert solvent.hocl.show(found.interned.copy(found.run(found.content(solution), 100))) == final
    assert solvent.hocl.show(solution) == before


def test_run_has_its_limit() -> None:
    """A solution that goes on for ever is stopped."""
    found = Successors()
    begun = found.content(solvent.hocl.parse("let up = replace N:n by N:(n + 1) in <N:0, up>").solution())
    with pytest.raises(solvent.LimitReached, match="still reacting after 10 reactions"):
        found.run(begun, 10)


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
