"""States by number: equal states, and only they, have the same key."""

from __future__ import annotations

import solvent
from solvent.engine.numbers import Numbers


def state(text: str) -> solvent.hocl.Solution:
    """Give the solution of a program."""
    return solvent.hocl.parse(text).solution()


def test_equal_states_have_equal_keys() -> None:
    """States are compared by the numbers of their molecules, in whatever order these stand."""
    numbers = Numbers()
    assert numbers.key(state("<1, A:<2, 3>, (4, 5)>")) == numbers.key(state("<(4, 5), 1, A:<3, 2>>"))
    assert numbers.key(state("<1, A:<2, 3>, (4, 5)>")) != numbers.key(state("<1, A:<2, 4>, (4, 5)>"))


def test_numbers_of_different_kinds_are_different() -> None:
    """To Python `1`, `1.0` and `true` are equal; here they have three numbers, and `1^inf` a fourth."""
    assert len(set(Numbers().key(state("<1, 1.0, true, 1^inf>")))) == 4


def test_shared_copy_is_independent() -> None:
    """A copy made of shared molecules has solutions of its own."""
    numbers = Numbers()
    first = state("<A:<1>, B:2>")
    copy = numbers.shared(first)
    next(one for one in copy if one[0].name == "A")[1].add(5)
    assert (solvent.hocl.show(first), solvent.hocl.show(copy)) == ("<A:<1>, B:2>", "<A:<1, 5>, B:2>")


def test_molecules_that_never_change_are_kept_once() -> None:
    """Of equal molecules without a solution inside, all copies hold the same one."""
    numbers = Numbers()
    one, other = (numbers.shared(state("<A:2>")) for _ in range(2))
    assert next(iter(one)) is next(iter(other))


def test_key_is_enough_for_a_state_without_solutions() -> None:
    """A state whose molecules never change can be made from its key."""
    numbers = Numbers()
    key = numbers.key(state("<1, 1, A:2, (3, 4)>"))
    assert numbers.solution(key) == state("<1, 1, A:2, (3, 4)>")


def test_rule_with_a_captured_solution_is_not_shared() -> None:
    """A rule that holds a solution is no molecule that never changes."""
    run = state("<S:<1>, (make = replace-one S:s by (replace X by s))>")
    solvent.hocl.react(run)
    numbers = Numbers()
    assert [numbers.first[number] for number in numbers.key(run)] == [None]
