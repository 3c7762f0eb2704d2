"""Solutions as multisets, before and after they have run."""

from __future__ import annotations

import pytest

import solvent
from solvent.lang.solution import Solution


def settled() -> Solution:
    """Give a solution that has run, with one molecule added since."""
    solution = Solution([1, 2, 2, ("a", 1)])
    solvent.hocl.react(solution)
    solution.add(3)
    return solution


def test_solution_is_one_multiset_before_and_after_a_run() -> None:
    """Iteration, length, membership and equality see what has settled and what is fresh."""
    solution = settled()
    assert sorted(map(str, solution)) == ["('a', 1)", "1", "2", "2", "3"]
    assert len(solution) == 5
    assert 2 in solution
    assert 3 in solution
    assert 4 not in solution
    assert solution == Solution([3, 2, 1, ("a", 1), 2])


def test_membership_is_by_kind() -> None:
    """`1.0` is not in a solution of `1`."""
    assert 1.0 not in Solution([1])
    assert True not in Solution([1])


@pytest.mark.parametrize("molecule", [2, 3, ("a", 1)])
def test_remove(molecule: object) -> None:
    """One molecule is removed, settled or fresh."""
    solution = settled()
    assert solution.remove(molecule)
    assert len(solution) == 4


def test_remove_what_is_not_there() -> None:
    """Removing what is not there says so and changes nothing."""
    solution = settled()
    assert not solution.remove(9)
    assert len(solution) == 5


def test_remove_rule_stops_it() -> None:
    """A rule that is removed after a run reacts no more."""
    rule = solvent.hocl.rule("replace x::int by 0 if x > 0")
    solution = Solution([rule, 1])
    solvent.hocl.react(solution)
    assert solution.remove(rule)
    solution.add(5)
    solvent.hocl.react(solution)
    assert solution == Solution([0, 5])


def test_add_several() -> None:
    """A molecule can be added several times; the copies share nothing."""
    solution = Solution()
    solution.add(Solution([1]), 2)
    one, other = solution
    one.add(2)
    assert other == Solution([1])


def test_new_molecules_make_a_solution_active() -> None:
    """An inert solution is inert no more when something is put in."""
    solution = settled()
    assert not solution.inert
    solvent.hocl.react(solution)
    assert solution.inert
    solution.extend([4])
    assert not solution.inert
