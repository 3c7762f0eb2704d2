"""The ways the engine takes where nobody watches it end where the oracle says, too.

Sweeps, visits and queues are for many molecules; random programs have few. So their thresholds are lowered here: what
is meant for thousands of molecules then happens with three.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, example, given, note
from hypothesis import strategies as st

import solvent
from solvent.engine import reactor, sweep
from tests.property.amounts import examples
from tests.property.oracle import TooMany, can_fail, search, state_key
from tests.property.strategies import programs

MAX_STATES = 120
MAX_SECONDS = 200.0


@pytest.fixture(autouse=True, params=["eager", "as it is"])
def eager(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fast paths begin at once, or leave them as they are."""
    if request.param == "eager":
        monkeypatch.setattr(sweep, "MIN_SIZE", 2)
        monkeypatch.setattr(sweep, "_SETTLED_SHARE", 10**9)
        monkeypatch.setattr(reactor, "MIN_VISITS", 0)
        monkeypatch.setattr(reactor, "_MIN_QUEUED", 0)
        monkeypatch.setattr(reactor, "_PORTION", 2)
        monkeypatch.setattr(reactor, "_FEW", 0)


LOWERED = examples(100, suppress_health_check=[HealthCheck.function_scoped_fixture])


def check_unwatched(text: str) -> None:
    """Run a program that always ends, without limits, and compare its end with the oracle's."""
    note(text)
    try:
        outcomes = search(solvent.hocl.parse(text).solution(), max_states=MAX_STATES)
    except TooMany:
        assume(condition=False)
        return
    assume(outcomes.always_ends())
    solution = solvent.hocl.parse(text).solution()
    try:
        outcome = solvent.hocl.react(solution, max_seconds=MAX_SECONDS)
    except solvent.ReactionFailed:
        assert state_key(solution) in outcomes.failures, solvent.hocl.show(solution)
    else:
        assert outcome.inert
        assert state_key(solution) in outcomes.finals, solvent.hocl.show(solution)


@LOWERED
@given(programs())
def test_an_unwatched_run_ends_where_the_oracle_can(text: str) -> None:
    """Without limits or observers the engine ends in a final state of the oracle, or fails where it can fail."""
    check_unwatched(text)


PARTS = st.one_of(
    st.integers(0, 3).map(str), st.sampled_from(["true", "1.0", '"a"', "B"]), st.integers(0, 2).map(lambda n: f"-{n}")
)


EQUATIONS = [" if x == y + 1", " if y - 1 == x", " if 2 - y == x", " if x + 1 == y + y"]


@st.composite
def flat_programs(draw: st.DrawFn) -> str:
    """Give programs over tuples with named first parts, joined on variables: what visits and queues are for."""
    heads = ["P", "Q"]

    def molecule() -> str:
        return f"{draw(st.sampled_from(heads))}:{draw(PARTS)}:{draw(PARTS)}"

    def pattern(first: str, second: str) -> str:
        kind = draw(st.sampled_from(["", "", "::int"]))
        return f"{draw(st.sampled_from(heads))}:{first}:{second}{kind}"

    rules = []
    for at in range(draw(st.integers(1, 2))):
        left = [pattern("x", "y")]
        if draw(st.booleans()):
            left.append(pattern(draw(st.sampled_from(["x", "y", "z"])), draw(st.sampled_from(["w", "y"]))))
        # Each product has fewer molecules than were taken, or a smaller one, so that most programs end.
        product = draw(st.sampled_from(["", "R:x", "R:x, S:y", "P:x:0 if x > 0", f"Q:{at}:9 if y == {at}", "x:y"]))
        condition = (
            ""
            if " if " in product
            else draw(st.sampled_from(["", " if x <= y", " if x == y", " if y != 1", *EQUATIONS]))
        )
        one = "-one" if draw(st.integers(0, 4)) == 0 else ""
        rules.append(f"let r{at} = replace{one} {', '.join(left)} by {product}{condition} in ")
    molecules = [molecule() for _ in range(draw(st.integers(2, 5)))]
    return f"{''.join(rules)}<{', '.join([*molecules, *(f'r{at}' for at in range(len(rules)))])}>"


@LOWERED
@given(flat_programs())
def test_an_unwatched_run_of_joined_tuples_ends_where_the_oracle_can(text: str) -> None:
    """Visits and queues of tuples end in a final state of the oracle."""
    check_unwatched(text)


LEFTS = [
    "P:x::int:y::int",
    "P:x:y::int, Q:x",
    "P:x::int:y::int, Q:x::int, Q:y",
    "Q:x, P:x:y::int",
    "P:x::int:y::int, Q:x::int, R:x::int:z::int",
    "Q:x::int, R:x:y::int, P:y:z::int",
    "R:x:0",
    "R:x::int:y::int",
    "R:x:y::int, P:y:z::int",
    "Q:x, P:z:y::int",
]
RIGHTS = [
    "P:x:(y - 1)", "Q:x", "Q:y", "R:x:(y - 1)", "R:x:y", "P:x:0", "P:y:(z - 1)", "R:x:(z - 1)", "Q:x, Q:y",
]  # fmt: skip


@st.composite
def chained_programs(draw: st.DrawFn, max_size: int = 6) -> str:
    """Give programs whose products other rules take at once, or that count something down in place."""
    rules = []
    for at in range(draw(st.integers(1, 3))):
        left = draw(st.sampled_from(LEFTS))
        known = {name for name in "xyz" if name in left}
        rights = [right for right in RIGHTS if {name for name in "xyz" if name in right} <= known]
        product = ", ".join(draw(st.lists(st.sampled_from(rights), max_size=3)))
        tests = [
            "",
            *(EQUATIONS if "y" in known else ()),
            *(f" if {name} > 0" for name in sorted(known)),
            *(f" if {name} == 1" for name in sorted(known)),
        ]
        rules.append(f"let r{at} = replace {left} by {product}{draw(st.sampled_from(tests))} in ")
    part = st.integers(0, 2)
    molecule = st.one_of(
        st.tuples(st.sampled_from("PR"), part, part).map(lambda one: f"{one[0]}:{one[1]}:{one[2]}"),
        part.map(lambda number: f"Q:{number}"),
        st.just("Q:true"),
    )
    molecules = draw(st.lists(molecule, min_size=2, max_size=max_size))
    return f"{''.join(rules)}<{', '.join([*molecules, *(f'r{at}' for at in range(len(rules)))])}>"


@st.composite
def nested_programs(draw: st.DrawFn) -> str:
    """Give programs that join tuples on what stands in tuples inside them."""
    lefts = [
        "P:(x:y), Q:(x:z)",
        "P:(x:1), Q:(x:y):x",
        "P:(A:x), P:(B:x)",
        "Q:(y:(x:z)), P:(x:y)",
        "P:(x:y), P:(y:z), Q:x",
    ]
    rules = []
    for at in range(draw(st.integers(1, 2))):
        left = draw(st.sampled_from(lefts))
        known = {name for name in "xyz" if name in left}
        rights = [
            one for one in ("R:x", "P:(x:x)", "", "Q:(x:y):x", "S:(x:z)") if {n for n in "xyz" if n in one} <= known
        ]
        condition = draw(st.sampled_from(["", " if x != 2"]))
        one = "-one" if draw(st.integers(0, 2)) == 0 else ""
        rules.append(f"let r{at} = replace{one} {left} by {draw(st.sampled_from(rights))}{condition} in ")
    part = st.sampled_from(["0", "1", "true", "A", "B", "2"])
    inner = st.one_of(st.tuples(part, part).map(lambda two: f"({two[0]}:{two[1]})"), part)
    shapes = ["P:{0}", "Q:{0}", "Q:{0}:{1}", "Q:({1}:{0})"]
    molecules = [draw(st.sampled_from(shapes)).format(draw(inner), draw(part)) for _ in range(draw(st.integers(2, 6)))]
    return f"{''.join(rules)}<{', '.join([*molecules, *(f'r{at}' for at in range(len(rules)))])}>"


@LOWERED
@given(nested_programs())
def test_joins_inside_tuples_end_where_the_oracle_can(text: str) -> None:
    """Tuples that are joined on parts of tuples inside them end in a final state of the oracle."""
    check_unwatched(text)


@LOWERED
@given(chained_programs())
def test_products_that_others_take_at_once_end_where_the_oracle_can(text: str) -> None:
    """Reactions written behind each other, and products that take a reactant's cell, end in a final state."""
    check_unwatched(text)


def check_blame(solution: solvent.hocl.Solution, failure: solvent.ReactionFailed) -> None:
    """See that the rule and the reactants at fault are back in the solution, and that the oracle fails with them."""
    left = {solvent.hocl.show(one): one for one in solution}
    at_fault = Counter([failure.rule, *failure.reactants])
    assert at_fault <= Counter(map(solvent.hocl.show, solution)), solvent.hocl.show(solution)
    # These few the oracle can try, however many there are beside them.
    assert can_fail(solvent.hocl.Solution(left[text] for text in at_fault.elements())), sorted(at_fault.elements())


def has_ended(solution: solvent.hocl.Solution, **limits: float) -> bool:
    """Run to the end; or give up at a limit; or fail, as the oracle does with the rule and the reactants at fault."""
    try:
        solvent.hocl.react(solution, **limits)
    except solvent.LimitReached:
        assume(condition=False)
    except solvent.ReactionFailed as failure:
        check_blame(solution, failure)
        return False
    return True


@LOWERED
@given(chained_programs(max_size=40))
@example(
    "let r0 = replace P:x::int:y::int by  if x == y + 1 in "
    "let r1 = replace Q:x, P:z:y::int by P:x:(y - 1), P:y:(z - 1) in "
    "let r2 = replace P:x::int:y::int by  if x == y + 1 in <P:0:0, Q:true, Q:true, r0, r1, r2>"
)
def test_what_visits_leave_is_inert(text: str) -> None:
    """Among dozens of molecules no reaction is missed: what a run leaves does not react, tried one by one.

    Some programs subtract from what is no number. They fail where the oracle can fail.
    """
    note(text)
    program = solvent.hocl.parse(text)
    has_ended(program.solution(), max_reactions=2_000)
    solution = program.solution()
    if has_ended(solution, max_seconds=0.2):
        left = solvent.hocl.Solution(list(solution))
        assert solvent.hocl.react(left, max_reactions=1).reactions == 0, solvent.hocl.show(solution)


@st.composite
def pair_programs(draw: st.DrawFn) -> str:
    """Give programs with one rule over two molecules of one shape: what sweeps are for."""
    kind = draw(st.sampled_from(["", "::int"]))
    shape = draw(st.sampled_from([f"x{kind}, y{kind}", f"k:x{kind}, k:y{kind}", f"i:x{kind}, j:y{kind}"]))
    product = draw(
        st.sampled_from(["x", "y", "x + y", '"out":x', "x, 7", "", "k:x", "k:(x + y)", "i:y, j:x", "i:x", "x:y:x"])
    )
    known = shape.replace("::int", "")
    for name in "ijk":
        assume(name not in product or f"{name}:" in known)
    condition = draw(st.sampled_from(["", "x >= y", "x > y", "y % x == 0", "x == y", "x != y && x < y"]))
    if "i:y, j:x" in product:
        condition = "i < j && x > y"
        assume("j:" in known)
    value = st.one_of(st.integers(-2, 5).map(str), st.sampled_from(["2.5", '"b"', "1.0", "true"]))
    values = draw(st.lists(st.one_of(st.integers(0, 6).map(str), value), min_size=2, max_size=5))
    if ":" in known:
        keys = draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
        values = [f"{key}:{one}" for key, one in zip(keys, values, strict=True)]
    rule = f"replace {shape} by {product}{' if ' + condition if condition else ''}"
    return f"let r = {rule} in <{', '.join([*values, 'r'])}>"


@LOWERED
@given(pair_programs())
def test_a_sweep_ends_where_the_oracle_can(text: str) -> None:
    """Sweeps of pairs end in a final state of the oracle."""
    check_unwatched(text)


@LOWERED
@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 9)), min_size=30, max_size=300))
def test_many_molecules_add_up(pairs: list[tuple[str, int]]) -> None:
    """Word counts of hundreds of molecules equal Python's, with and without a limit that makes the engine watch."""
    expected = Counter[str]()
    for word, count in pairs:
        expected[word] += count
    for limit in (None, 10_000):
        solution = solvent.hocl.parse("let add = replace w:i::int, w:j::int by w:(i + j) in <add>").solution()
        solution.extend(pairs)
        outcome = solvent.hocl.react(solution, max_reactions=limit)
        assert {one[0]: one[1] for one in solution if isinstance(one, tuple)} == dict(expected)
        assert outcome.reactions == len(pairs) - len(expected)


@pytest.mark.parametrize(
    "text, final",
    [
        ("<C:0, 1^400, (r = replace C:n, x::int by C:(n + x))>", "<C:400, r>"),
        ('<C:0, "a"^300, (r = replace s::string, C:n by C:(n + 1))>', "<C:300, r>"),
        ("<BOX:<>, 7^200, (r = replace x::int, BOX:<?w> by BOX:<x, w>)>", f"<BOX:<{', '.join(['7'] * 200)}>, r>"),
    ],
)
def test_one_molecule_takes_up_hundreds(text: str, final: str) -> None:
    """An accumulator takes up hundreds of molecules, whichever way the engine takes."""
    solution = solvent.hocl.parse(text).solution()
    solvent.hocl.react(solution)
    assert solvent.hocl.show(solution) == final
