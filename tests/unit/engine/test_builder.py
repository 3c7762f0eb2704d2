"""Products: what reactions put in, and that nothing is shared that should not be."""

from __future__ import annotations

import pytest

import solvent
from solvent.lang.functions import Functions
from solvent.lang.molecule import Opaque
from solvent.lang.solution import Solution
from tests.unit.engine.soup import final, finals


@pytest.mark.parametrize(
    "product, expected",
    [
        ("", "<>"),
        ("x, x", "<1, 1>"),
        ("x + 1", "<2>"),
        ("x : x : A", "<1:1:A>"),
        ("(x, x)", "<(1, 1)>"),
        ("list(x)", "<list(1)>"),
        ("()", "<()>"),
        ("<x, <x>>", "<<1, <1>>>"),
        ("x^3", "<1, 1, 1>"),
        ("x^0", "<>"),
        ("(x : A)^(x + 1)", "<1:A, 1:A>"),
        ("x^inf", "<1^inf>"),
        ("<x^2>", "<<1, 1>>"),
        ("(x < 2)", "<true>"),
        ("!(x < 2), -x", "<false, -1>"),
        ('"a" + x, 2.5 * x', '<2.5, "a1">'),
        ("max(x, 5), x.equals(1)", "<true, 5>"),
        ("let r = replace-one A by x in <r, A>", "<<1>>"),
        ("(r = replace-one A by x), A", "<1>"),
    ],
)
def test_products(product: str, expected: str) -> None:
    """Every form of molecule can be produced."""
    assert finals(f"<1, replace-one x::int by {product}>", seeds=2) == {expected}


@pytest.mark.parametrize(
    "text, expected",
    [
        # Of an endless molecule in a sub-solution a pattern may take several, and more are left.
        ("<A:<1^inf>, (r = replace-one A:<x, y, ?w> by x + y)>", "<2>"),
        ("<A:<1^inf>, (r = replace-one A:<x, +w> by x + 1)>", "<2>"),
        # `inject` adds once and takes nothing else, also of its catalyst.
        ("<1, <2>, inject A, B>", "<1, A, B, <2>>"),
        ("<5, 1, A:<2, 3>, inject x : y with x::int, A:<y::int, ?w> if (x > y && y > 2)>", "<1, 5, 5:3, A:<2, 3>>"),
        ("<1, (i = inject A with x::string)>", "<1, i>"),
        # A one-shot `let rec` rule that names itself in its product is there again.
        ("let rec max = replace-one x::int, y::int by x, max if x >= y in <5, 9, 3, 9, max>", "<9, max>"),
        # `one` is short for `replace-one`.
        ("<1, one x::int by A>", "<A>"),
        # The rest of a list spreads in a product, a list or a solution.
        ("<(1, 2, 3), replace-one (x, ?r) by r, (r, x), <r>>", "<2, 3, (2, 3, 1), <2, 3>>"),
    ],
)
def test_products_of_programs(text: str, expected: str) -> None:
    """Endless molecules, injections, rules that name themselves and rests go where the product says."""
    assert finals(text) == {expected}


@pytest.mark.parametrize(
    "text, expected",
    [
        # A rest.
        ("<<1, 2>, replace-one <?w> by (replace-one A by w, <w>), A>", "<1, 2, <1, 2>>"),
        # Values of its own, for each of two rules made from one text.
        (
            "<1, 2, K:1:A, K:2:B, (r = replace x::int by (replace-one K:x:y by x:y:x))>",
            "<1:A:1, 2:B:2, r>",
        ),
        # The variables of all rules around it.
        (
            "<1, replace-one x::int by A, (replace-one y::symbol by 2.5, (replace-one z::float by x : y : z))>",
            "<1:A:2.5>",
        ),
        # By a `let` inside a product.
        ("<4, replace-one x::int by let r = replace-one y::symbol by y : x in <r, A>, <r, B>>", "<<A:4>, <B:4>>"),
        # Another rule.
        ("let up = replace-one x::int by x + 1 in <<up>, replace-one <up = u> by (replace-one A by u, 1), A>", "<2>"),
    ],
)
def test_rules_capture_what_is_around_them(text: str, expected: str) -> None:
    """A rule that a reaction makes closes over the variables around it."""
    assert finals(text) == {expected}


@pytest.mark.parametrize(
    "text, expected",
    [
        # Put back unchanged and used once more.
        (
            (
                "<A:<<1>, 2>, (r = replace-one A:<x::solution, ?w> by A:<x, w>, B:x),"
                " (s = replace-one B:<?v> by B:<9, v>)>"
            ),
            "<A:<2, <1>>, B:<1, 9>>",
        ),
        # Taken from the catalyst of an injection.
        ("<A:<1>, (inject <x, (replace-one y::solution by y, Seen)> with A:x)>", "<A:<1>, <Seen, <1>>>"),
        # Put in twice.
        (
            (
                "<Data:<1, 2>, (replace-one Data:x by One:x, Two:x),"
                " (replace-one One:<a::int, b::int, ?w> by One:<a + b, w>)>"
            ),
            "<One:<3>, Two:<1, 2>>",
        ),
        # In a rest that is put in twice.
        (
            "<A:<<1>>, (replace-one A:<?w> by B:<w>, C:<w>), (replace-one B:<<x::int, ?v>, ?w> by B:<<x + 1, v>, w>)>",
            "<B:<<2>>, C:<<1>>>",
        ),
        # Captured by a rule that reacts twice.
        (
            "<A:<1>, Go, Go, (replace-one A:x by (give = replace Go by x)), (replace-one <y::int, ?w> by <y + 1, w>)>",
            "<<1>, <2>, give>",
        ),
    ],
)
def test_rules_change_one_copy_only(text: str, expected: str) -> None:
    """Of two copies of a solution, rules change one and leave the other."""
    assert finals(text) == {expected}


@pytest.mark.parametrize(
    "use", ["x : x", "(x, x)", "A : x, B : x", "<x, x>", "x^2", "A:x, (r = replace-one Go by x), Go"]
)
def test_solution_used_twice_is_copied(use: str) -> None:
    """A solution that a product uses twice is two: what happens in one does not happen in the other."""
    solution = solvent.hocl.parse(f"<<1>, replace-one x::solution by {use}>").solution()
    solvent.hocl.react(solution)
    found = list(_solutions(solution))
    inner = [one for one in found if solvent.hocl.show(one) == "<1>"]
    assert len(inner) == 2
    inner[0].add(7)
    assert solvent.hocl.show(inner[1]) == "<1>"


def test_kept_reactant_shares_nothing_with_the_product() -> None:
    """A reactant that the product puts back and uses again is not shared."""
    text = "<A:<1>, (replace-one A:x by A:x, B:x), (replace-one A:<y::int> by A:<y + 1>)>"
    assert finals(text) == {"<A:<2>, B:<1>>", "<A:<2>, B:<2>>"}


@pytest.mark.parametrize("count", ['"a"', "2.5", "-1", "true"])
def test_wrong_count_of_a_multiplet(count: str) -> None:
    """A multiplet's count is a natural number, or the reaction fails."""
    solution = solvent.hocl.parse(f"<A, (r = replace-one A by A^({count}))>").solution()
    with pytest.raises(solvent.ReactionFailed):
        solvent.hocl.react(solution)
    assert solvent.hocl.show(solution) == "<A, r>"


def test_registered_function_in_a_product() -> None:
    """A function gets plain Python values, and what it returns becomes a molecule."""
    seen: list[object] = []
    functions = Functions()

    @functions.register
    def swap(*values: object) -> object:
        seen.extend(values)
        return [values[-1], (1, 2)]

    assert final('<(1, 2), replace-one x::list by swap(x, "a", A:1)>', functions=functions) == "<(A:1, 1:2)>"
    assert seen == [[1, 2], "a", (solvent.hocl.Symbol("A"), 1)]


def test_opaque_values_move_and_come_back() -> None:
    """A Python value that HOCL has no form for is carried, matched and given back."""
    functions = Functions()
    functions.register(lambda: {1: 2}, "made")
    functions.register(lambda value: value[1], "look")
    text = "<A, replace-one A by B : made(), (replace-one B : x::opaque by look(x), x)>"
    solution = solvent.hocl.parse(text, functions=functions).solution()
    solvent.hocl.react(solution)
    assert solution == Solution([2, Opaque({1: 2})])


def _solutions(solution: Solution) -> list[Solution]:
    """Give every solution inside a solution, also those that rules captured."""
    found: list[Solution] = []
    left = list(solution)
    while left:
        one = left.pop()
        if isinstance(one, Solution):
            found.append(one)
            left += list(one)
        elif isinstance(one, tuple):
            left += one
        elif isinstance(one, solvent.hocl.Rule):
            left += one.captured
    return found
