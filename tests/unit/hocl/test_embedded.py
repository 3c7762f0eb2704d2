"""Runs in this process: limits, stopping, watching, stepping."""

from __future__ import annotations

import pytest

import solvent

UP = "<0, (up = replace x::int by x + 1)>"
DOWN = "<100, (down = replace x::int by x - 1 if (x > 0))>"
SUM = "(s = replace x::int, y::int by x + y)"


@pytest.fixture(params=(None, 1))
def seed(request: pytest.FixtureRequest) -> int | None:
    """Run in order, and with choices at random."""
    found: int | None = request.param
    return found


@pytest.mark.parametrize("max_reactions", [0, 1, 7, 1000])
def test_limit_of_reactions_is_exact(max_reactions: int, seed: int | None) -> None:
    """A run makes exactly as many reactions as it may."""
    solution = solvent.hocl.parse(UP).solution()
    with pytest.raises(solvent.LimitReached) as caught:
        solvent.hocl.react(solution, max_reactions=max_reactions, seed=seed)
    assert (caught.value.code, caught.value.exit_code) == ("H501", 3)
    assert solvent.hocl.show(solution) == f"<{max_reactions}, up>"
    assert not solution.inert


def test_limit_that_is_just_enough(seed: int | None) -> None:
    """A program that needs as many reactions as it may ends."""
    solution = solvent.hocl.parse(DOWN).solution()
    outcome = solvent.hocl.react(solution, max_reactions=100, seed=seed)
    assert (outcome.inert, outcome.reactions, solvent.hocl.show(solution)) == (True, 100, "<0, down>")


def test_run_goes_on_after_its_limit(seed: int | None) -> None:
    """A solution whose run was limited can be run on."""
    solution = solvent.hocl.parse(DOWN).solution()
    for left in (60, 20):
        with pytest.raises(solvent.LimitReached):
            solvent.hocl.react(solution, max_reactions=40, seed=seed)
        assert solvent.hocl.show(solution) == f"<{left}, down>"
    solvent.hocl.react(solution, seed=seed)
    assert solvent.hocl.show(solution) == "<0, down>"


@pytest.mark.parametrize(
    "text",
    [
        "<1, 2, 3, 4, 5, 6, (s = replace x::int, y::int by x + y)>",
        f"<<1, 2, 3, {SUM}>, A:<4, 5, {SUM}>, (r = replace <x::int, ?w>, A:<y::int, ?v> by x, y, <w, v>)>",
        "<1, 2, <3, 4>, B, replace-one B, ?w by <w>, (r = replace x::int, y::int by x)>",
        "<7^inf, A, B, C, (r = replace x::symbol, y::int by x : y)>",
    ],
)
def test_any_limit_loses_nothing(text: str, seed: int | None) -> None:
    """Stopped after every single reaction, a program ends as if never stopped, up to its choices."""
    solution = solvent.hocl.parse(text).solution()
    reactions = 0
    while True:
        try:
            reactions += solvent.hocl.react(solution, max_reactions=1, seed=seed).reactions
            break
        except solvent.LimitReached:
            reactions += 1
            assert not solution.inert
    whole = solvent.hocl.parse(text).solution()
    assert reactions == solvent.hocl.react(whole, seed=seed).reactions
    assert len(solvent.hocl.show(solution)) == len(solvent.hocl.show(whole))


def test_limit_of_time(seed: int | None) -> None:
    """A run that does not end stops when its time is over, with nothing lost."""
    solution = solvent.hocl.parse(UP).solution()
    with pytest.raises(solvent.LimitReached) as caught:
        solvent.hocl.react(solution, max_seconds=0.1, seed=seed)
    assert (caught.value.code, caught.value.message) == ("H502", "still reacting after 0.1 seconds")
    assert len(solution) == 2


def test_run_can_be_asked_to_stop(seed: int | None) -> None:
    """A run stops when it is asked to, and its solution can be run on."""
    solution = solvent.hocl.parse(DOWN).solution()
    with pytest.raises(solvent.LimitReached) as caught:
        solvent.hocl.react(solution, should_stop=lambda: True, seed=seed)
    assert caught.value.code == "H504"
    solvent.hocl.react(solution, seed=seed)
    assert solvent.hocl.show(solution) == "<0, down>"


def test_reactions_are_observed(seed: int | None) -> None:
    """An observer sees rule, reactants and products of each reaction, in order."""
    seen: list[solvent.hocl.Reaction] = []
    solution = solvent.hocl.parse("<2, (down = replace x::int by x - 1, A if (x > 0))>").solution()
    solvent.hocl.react(solution, observe=seen.append, seed=seed)
    assert [(one.rule.name, one.reactants, one.products[:1]) for one in seen] == [
        ("down", [2], [1]),
        ("down", [1], [0]),
    ]


def test_kept_reactants_are_observed_apart() -> None:
    """What a reaction needs and leaves is reported as kept."""
    seen: list[solvent.hocl.Reaction] = []
    solution = solvent.hocl.parse("<2, 9, (max = replace x::int, y::int by x if (x >= y))>").solution()
    solvent.hocl.react(solution, observe=seen.append)
    (one,) = seen
    assert sorted(one.reactants + one.kept) == [2, 9]


def test_steps_make_one_reaction_each(seed: int | None) -> None:
    """A step makes one reaction and gives it; an inert solution has none."""
    solution = solvent.hocl.parse("<2, (down = replace x::int by x - 1 if (x > 0))>").solution()
    first = solvent.hocl.step(solution, seed=seed)
    assert first is not None
    assert (first.rule.name, first.reactants, first.products) == ("down", [2], [1])
    assert solvent.hocl.step(solution, seed=seed) is not None
    assert solvent.hocl.step(solution, seed=seed) is None
    assert solvent.hocl.show(solution) == "<0, down>"


def test_steps_reach_into_solutions(seed: int | None) -> None:
    """Steps go on through sub-solutions to the rules around them."""
    text = "<<1, 2, (s = replace x::int, y::int by x + y)>, replace-one <x::int, ?w> by x>"
    solution = solvent.hocl.parse(text).solution()
    count = 0
    while solvent.hocl.step(solution, seed=seed) is not None:
        count += 1
    assert (count, solvent.hocl.show(solution)) == (2, "<3>")


def test_step_and_run_can_take_turns() -> None:
    """A solution can be stepped, run and stepped again."""
    solution = solvent.hocl.parse(DOWN).solution()
    solvent.hocl.step(solution)
    with pytest.raises(solvent.LimitReached):
        solvent.hocl.react(solution, max_reactions=9)
    solvent.hocl.step(solution, seed=3)
    assert solvent.hocl.show(solution) == "<89, down>"
    solvent.hocl.react(solution, seed=1)
    assert solvent.hocl.show(solution) == "<0, down>"


def test_running_a_program_is_misuse() -> None:
    """A program is told to give its solution."""
    with pytest.raises(solvent.Misuse) as caught:
        solvent.hocl.react(solvent.hocl.parse("<1>"))
    assert caught.value.code == "H306"


def test_same_seed_same_run() -> None:
    """A seed fixes every choice."""
    text = "<1, 2, 3, 4, 5, 6, (p = replace x::int, y::int by x : y)>"
    shown = set()
    for _ in range(3):
        solution = solvent.hocl.parse(text).solution()
        solvent.hocl.react(solution, seed=5)
        shown.add(solvent.hocl.show(solution))
    assert len(shown) == 1


def test_seeds_choose_among_all_reactions() -> None:
    """Over many seeds every pair of a small program is met."""
    shown = set()
    for seed in range(60):
        solution = solvent.hocl.parse("<1, 2, 3, replace-one x::int, y::int by x : y>").solution()
        solvent.hocl.react(solution, seed=seed)
        shown.add(solvent.hocl.show(solution))
    assert len(shown) == 6
