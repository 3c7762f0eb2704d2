"""What `why_not` says of random programs agrees with what the engine does with them."""

from __future__ import annotations

from hypothesis import assume, given, note

import solvent
from solvent.engine.explain import why_not
from solvent.lang.molecule import sub_solutions
from solvent.lang.rule import Rule
from tests.property.amounts import examples
from tests.property.strategies import programs

MAX_REACTIONS = 30


def rules_inside(solution: solvent.hocl.Solution) -> list[tuple[solvent.hocl.Solution, Rule]]:
    """Give every rule of a solution and the solutions inside it, with where it is."""
    found = [(solution, one) for one in solution if type(one) is Rule]
    return found + [pair for one in solution for sub in sub_solutions(one) for pair in rules_inside(sub)]


@examples(80)
@given(programs())
def test_no_rule_of_an_inert_solution_can_react(text: str) -> None:
    """Every rule of an inert solution is stopped by something, and each misfit is told in a sentence."""
    note(text)
    solution = solvent.hocl.parse(text).solution()
    try:
        solvent.hocl.react(solution, max_reactions=MAX_REACTIONS)
    except solvent.SolventError:
        assume(condition=False)
    for place, rule in rules_inside(solution):
        report = why_not(place, rule)
        assert not report.can_react
        assert report.verdict != "nothing stops it"
        assert all(misfit.sentence() for pattern in report.patterns for misfit in pattern.misfits)
