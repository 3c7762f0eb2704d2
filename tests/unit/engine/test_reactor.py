"""Runs: inertia, nested solutions, endless molecules, errors and limits; nothing is ever lost."""

from __future__ import annotations

import pytest

import solvent
from solvent.engine.reaction import Stopped
from solvent.engine.reactor import Reactor
from solvent.lang.functions import Functions
from solvent.lang.solution import Solution
from tests.unit.engine.soup import final, finals

SEEDS = (None, 1, 2)


def test_reactions_are_counted() -> None:
    """A run counts its reactions, also those in sub-solutions."""
    text = "<<1, 2, (replace x::int, y::int by x + y)>, 4, 5, (replace x::int, y::int by x)>"
    for seed in SEEDS:
        assert solvent.hocl.react(solvent.hocl.parse(text).solution(), seed=seed).reactions == 2


def test_variable_takes_only_inert_solutions() -> None:
    """A plain variable takes a solution, alone or inside a tuple or list, only when that is inert."""
    for shape in ("{}", "A : {}", "(1, {})"):
        molecule = shape.format("<1, 2, (sum = replace x::int, y::int by x + y)>")
        expected = shape.format("<3, sum>").replace(" : ", ":")
        assert finals(f"<{molecule}, replace-one x by Seen : x>") == {
            f"<Seen:({expected})>" if ":" in expected else f"<Seen:{expected}>"
        }


def test_solutions_nest_deeply() -> None:
    """Reactions in the innermost of a hundred solutions come out level by level."""
    text = "1, 2, (replace-one x::int, y::int by x + y)"
    for _ in range(100):
        text = f"<{text}>, (replace-one <x::int> by x)"
    assert final(text) == "<3>"


@pytest.mark.parametrize("seed", SEEDS)
def test_solutions_that_nest_without_end(seed: int | None) -> None:
    """A rule that nests solutions for ever meets a limit, not Python's."""
    text = "let rec deeper = replace-one x::int by <deeper, x> in <1, deeper>"
    with pytest.raises(solvent.LimitReached) as caught:
        solvent.hocl.react(solvent.hocl.parse(text).solution(), seed=seed, max_reactions=400)
    assert caught.value.code == "H503"


def test_run_goes_on_after_new_molecules() -> None:
    """An inert solution reacts with what is added later."""
    solution = solvent.hocl.parse("<3, 1, (max = replace x::int, y::int by x if (x >= y))>").solution()
    solvent.hocl.react(solution)
    solution.add(7)
    solvent.hocl.react(solution)
    assert solvent.hocl.show(solution) == "<7, max>"


def test_rule_added_later_meets_what_has_settled() -> None:
    """A rule that comes last still sees all that was there before."""
    solution = Solution([1, 2, 3])
    solvent.hocl.react(solution)
    solution.add(solvent.hocl.rule("replace x::int, y::int by x + y", name="sum"))
    solvent.hocl.react(solution)
    assert solvent.hocl.show(solution) == "<6, sum>"


# --- Rests of the rule's own solution.


@pytest.mark.parametrize(
    "text, expected",
    [
        ("<5, replace-one x::int, ?w by <w>>", "<<>>"),
        ("<5, A, B, replace-one x::int, ?w by x, <w>>", "<5, <A, B>>"),
        ("<5, A, <1>, replace-one x::int, ?w by x + 1, w>", "<6, A, <1>>"),
        ("<5, (r = replace-one x::int, +w by <w>)>", "<5, r>"),
        ("<5, A, (r = replace-one x::int, +w by <w>)>", "<<A>>"),
        ("<1, 2, A, (sum = replace x::int, y::int by x + y), replace-one A, ?w by <w>>", "<<3, sum>>"),
    ],
)
def test_late_rule_takes_the_rest_of_its_own_solution(text: str, expected: str) -> None:
    """A rest at the top of a rule takes everything beside the rule, other rules too, which go on where they are put."""
    assert finals(text) == {expected}


# --- Molecules that are put back with less in them.


@pytest.mark.parametrize("seed", SEEDS)
def test_a_molecule_hands_out_all_it_holds(seed: int | None) -> None:
    """A molecule that is put back with less in it reacts until it holds nothing more, however much it held."""
    held = ", ".join(map(str, range(150)))
    text = f"<T : <{held}>, (r = replace t : <x, ?w> by t : <w>, x)>"
    assert final(text, seed=seed, max_reactions=None) == f"<{held}, T:<>, r>"


@pytest.mark.parametrize("seed", SEEDS)
def test_rules_that_came_before_see_that_a_molecule_holds_less(seed: int | None) -> None:
    """A molecule that holds less is tried by all rules again, also by those that did not want it before."""
    rules = "(last = replace t : <A> by DONE : t), (less = replace t : <B, ?w> by t : <w>, B)"
    text = f"<T : <A, B, B>, {rules}>"
    assert final(text, seed=seed, max_reactions=None) == "<B, B, DONE:T, last, less>"


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_rule_that_counts_the_rest_sees_that_it_is_less(seed: int | None, depth: int) -> None:
    """A solution from which something is taken goes on if a rule there asks something of all that is left."""
    inside = "1, 1, 1, (few = replace-one ?w by DONE if len(list(w)) == 2)"
    taken, left = ("DST : <1, ?w>", "DST : <w>") if depth else ("1, ?w", "w")
    held = f"DST : <{inside}>" if depth else inside
    text = f"<T : <{held}>, replace-one T : <{taken}> by T : <{left}>>"
    assert final(text, seed=seed, max_reactions=None) == ("<T:<DST:<DONE>>>" if depth else "<T:<DONE>>")


def test_an_endless_supply_in_a_molecule_keeps_nobody_from_reacting() -> None:
    """One molecule that hands out for ever leaves others their turn, and can be stopped."""
    looks = iter(range(1))
    text = "<T : <7^inf>, 1, 2, (replace t : <x, ?w> by t : <w>, A : x), replace x::int, y::int by x + y>"
    solution = solvent.hocl.parse(text).solution()
    with pytest.raises(Stopped):
        Reactor(should_stop=lambda: next(looks, None) is None).run(solution)
    assert 3 in solution


# --- Tuples whose first parts only some rules name.


def test_rules_that_name_no_first_part_find_tuples_that_others_name() -> None:
    """Also one that has settled while such tuples were asked for for the first time, however many came before."""
    others = ", ".join(f"D{number} : {number}" for number in range(120))
    rules = "(less = replace T : <A, ?w> by T : <w, 5>), (pair = replace t : u, t : <x, ?w> by t : <w>)"
    assert ", T:<>" in final(f"<{rules}, {others}, T : <A>, T : <1>>", max_reactions=None)


# --- Endless molecules.


@pytest.mark.parametrize(
    "text, expected",
    [
        ("<7^inf, A, B, (r = replace x::symbol, y::int by x : y)>", "<7^inf, A:7, B:7, r>"),
        ("<7^inf, replace-one x::int, y::int, z::int by x + y + z>", "<7^inf, 21>"),
        ("<1, 2, A, (r = replace-one x::int by B)^inf>", "<A, B, B, r^inf>"),
        ("<<1^inf, A>, replace-one <A, ?w> by w>", "<1^inf>"),
        ("<1^inf, replace-one x::int, ?w by x>", "<1>"),
        ("<1^inf, A, replace-one x::int, A, ?w by x, A>", "<1, A>"),
        (
            "<A, B, Go, (r = replace x::symbol, y::int by x : y if (x != Go)), replace-one Go by 7^inf>",
            "<7^inf, A:7, B:7, r>",
        ),
    ],
)
def test_endless_molecule_never_runs_out(text: str, expected: str) -> None:
    """Of an endless molecule or rule there is one more for every place, also in a rest and after others settled."""
    assert finals(text) == {expected}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "rule", ["replace x::int by A", "replace x::int, y::int by A", "replace 1 by 1", "replace x by"]
)
def test_endless_molecule_alone_feeds_a_rule_for_ever(rule: str, seed: int | None) -> None:
    """A rule that an endless molecule alone satisfies never ends, so a limit stops it."""
    solution = solvent.hocl.parse(f"<1^inf, (r = {rule})>").solution()
    with pytest.raises(solvent.LimitReached):
        solvent.hocl.react(solution, seed=seed, max_reactions=50)
    assert 1 in solution


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "taken, more",
    [("<?w>", "<w>"), ("<?w>", "<w, A>"), ("T : <?w>", "(T : <w>)"), ("<x, ?w>, y", "(x : y)"), ("(B, <?w>)", "<w>")],
)
def test_rule_that_puts_back_solutions_and_adds_to_them_goes_on(taken: str, more: str, seed: int | None) -> None:
    """A rule whose product has all that it takes, and more, reacts until a limit stops it."""
    text = f"<<1>, (T : <2>), (B, <3>), 4, (r = replace {taken} by {taken.replace('?', '')}, {more})>"
    solution = solvent.hocl.parse(text).solution()
    size = len(solution)
    with pytest.raises(solvent.LimitReached):
        solvent.hocl.react(solution, seed=seed, max_reactions=20)
    assert len(solution) == size + 20


# --- Reactions that fail.


def halves(seed: int | None) -> tuple[Solution, solvent.ReactionFailed]:
    """Run a program whose product divides by zero once."""
    solution = solvent.hocl.parse("<(half = replace-one N:x::int by 10 / x), N:0, A>", name="h.hocl").solution()
    with pytest.raises(solvent.ReactionFailed) as caught:
        solvent.hocl.react(solution, seed=seed)
    return solution, caught.value


@pytest.mark.parametrize("seed", SEEDS)
def test_failed_reaction_names_everything(seed: int | None) -> None:
    """A division by zero in a product names rule, place and reactants."""
    _, error = halves(seed)
    assert (error.code, error.message, error.rule, error.reactants) == (
        "H401",
        "division by zero",
        "half",
        ("N:0",),
    )
    assert error.place == "h.hocl:1:34"
    assert error.exit_code == 1


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", [3, 300])
def test_failed_reaction_among_many_names_its_own_rule(count: int, seed: int | None) -> None:
    """Of several rules that look at a tuple the one that failed is named, also where one text tries them all."""
    rules = "(zero = replace P:x:0 by Z:x), (less = replace P:x:y by R:(x - y)), (two = replace P:x:2 by T:x)"
    tuples = ", ".join(f"P:{number}:{number % 2}" for number in range(count))
    solution = solvent.hocl.parse(f"<{rules}, {tuples}, P:true:7>").solution()
    with pytest.raises(solvent.ReactionFailed) as caught:
        solvent.hocl.react(solution, seed=seed)
    assert (caught.value.rule, caught.value.reactants) == ("less", ("P:true:7",))


@pytest.mark.parametrize("seed", SEEDS)
def test_run_can_go_on_after_a_failure(seed: int | None) -> None:
    """When the cause is gone, the same solution runs to its end."""
    solution, _ = halves(seed)
    with pytest.raises(solvent.ReactionFailed):
        solvent.hocl.react(solution, seed=seed)
    assert solution.remove((solvent.hocl.Symbol("N"), 0))
    solution.add((solvent.hocl.Symbol("N"), 5))
    solvent.hocl.react(solution, seed=seed)
    assert solvent.hocl.show(solution) == "<2, A>"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "text",
    [
        "<1, 2, 3, (r = replace x::int, y::int by x / (y - y))>",
        "<A:<1, B>, 5, (r = replace A:<x::int, ?w>, y::int by A:<x / 0, w>, y)>",
        "<<1, (r = replace x::int by x / 0)>, 5, B:<2>>",
        "<1, (r = replace-one x::int, ?w by <w>, x / 0), A, <3>>",
        "<1, 2, (r = replace x::int, y::int by x, y / 0)>",
        "<1, inject 1 / 0>",
        "<7^inf, A, (r = replace x::int, y by x / 0)>",
        "<<<1, 2, (r = replace x::int, y::int by x / 0)>, 3>, 4>",
    ],
)
def test_any_failed_reaction_leaves_the_solution_as_it_was(text: str, seed: int | None) -> None:
    """Wherever a product fails, every molecule is where it was, also after trying again."""
    solution = solvent.hocl.parse(text).solution()
    before = solvent.hocl.show(solution)
    for _ in range(3):
        with pytest.raises(solvent.ReactionFailed):
            solvent.hocl.react(solution, seed=seed)
        assert solvent.hocl.show(solution) == before
        assert not solution.inert


@pytest.mark.parametrize("seed", SEEDS)
def test_function_that_raises(seed: int | None) -> None:
    """A function that raises fails its reaction, with the cause and nothing lost."""
    functions = Functions()
    functions.register(lambda value: {}[value], "broken")
    solution = solvent.hocl.parse("<1, (r = replace x::int by A, broken(x))>", functions=functions).solution()
    with pytest.raises(solvent.ReactionFailed) as caught:
        solvent.hocl.react(solution, seed=seed)
    assert (caught.value.code, caught.value.message) == ("H402", "a function raised KeyError: 1")
    assert isinstance(caught.value.__cause__, KeyError)
    assert solvent.hocl.show(solution) == "<1, r>"
