"""Which tasks of a workflow are flat, and the molecules that each form becomes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from solvent.lang.molecule import List, Opaque
from solvent.lang.printer import print_molecule
from solvent.workflows.checks import check
from solvent.workflows.forms import forms_of
from solvent.workflows.model import (
    Alternative,
    Control,
    Each,
    Result,
    Route,
    Service,
    Task,
    Test,
    Value,
    Workflow,
)
from solvent.workflows.rule_functions import FROM, MAX_SHOWN, complete, put
from solvent.workflows.translate import concretise


def flow(**sources: str) -> Workflow:
    """Make a workflow of tasks with the sources that are named, one letter each."""
    tasks = [Task(name, "s", tuple(map(Result, needed))) for name, needed in sources.items()]
    return Workflow("w", tuple(tasks), (Service("s", function=list),))


def adaptive(alternative: Alternative, **sources: str) -> Workflow:
    """Make a workflow with one alternative."""
    plain = flow(**sources)
    return Workflow(plain.name, plain.tasks, plain.services, (alternative,))


def shown(workflow: Workflow) -> list[str]:
    """Return the molecules of a concrete workflow that are no rules."""
    return [print_molecule(one) for one in concretise(workflow).solution if type(one) is tuple]


def test_without_alternatives_all_tasks_are_flat() -> None:
    """Nothing can be replaced, so nothing is replaceable."""
    assert forms_of(flow(A="", B="A")).replaceable == frozenset()


@pytest.mark.parametrize(
    "alternative, expected",
    [
        # B is replaced, C is downstream, S is woken, and takes from A, which gets another destination.
        (Alternative("a", {"B": "S"}), "ABCS"),
        # D fails late: it is watched, and downstream of what is replaced.
        (Alternative("a", {"C": "S"}, watch=("D",)), "ACDS"),
        # What is given up with a task is replaced too, and so is what takes its result.
        (Alternative("a", {"C": "S"}, also=("X",)), "ACDSXY"),
        # Whom an alternative only watches keeps its result: what takes it is flat.
        (Alternative("a", {"C": "S"}, watch=("X",)), "ACDSX"),
    ],
)
def test_only_the_zone_of_an_alternative_is_replaceable(alternative: Alternative, expected: str) -> None:
    """What an alternative watches, replaces, wakes, takes from, and all behind it; the rest of the workflow is flat."""
    replaced = "".join(alternative.exits)
    sources = {"A": "", "B": "A", "C": "B", "D": "C", "X": "", "Y": "X", "Z": "A", "S": "A"}
    if replaced == "B":
        sources["D"] = "Z"
    assert forms_of(adaptive(alternative, **sources)).replaceable == set(expected)


LOOP = Control(join="any", again=Route("L", Test("result < 3")))
BACK = Control(again=Route("L", Test("result < 3")))
ANY = Control(join="any")
CHOICE = Control(split="one", routes=(Route("P", Test("result > 0")), Route("Q")))


def controlled(controls: dict[str, Control], *alternatives: Alternative, **sources: str) -> Workflow:
    """Make a workflow of which some tasks have control words."""
    plain = flow(**sources)
    tasks = tuple(replace(one, control=controls.get(one.name)) for one in plain.tasks)
    return Workflow(plain.name, tasks, plain.services, alternatives)


@pytest.mark.parametrize(
    "controls, sources, gates",
    [
        # A loop of one task: what is beside and behind it starts once.
        ({"L": LOOP}, {"A": "", "L": "A", "B": "L", "C": "AB"}, "L"),
        # One of several: a token goes round and leaves once.
        ({"L": ANY, "K": BACK}, {"A": "", "L": "A", "K": "L", "B": "K", "C": "KA", "D": "BC"}, "LK"),
        # In this one two go round.
        ({"L": ANY, "K": BACK}, {"A": "", "L": "A", "K": "L", "H": "L", "B": "K", "C": "H"}, "LKHBC"),
        # A choice, and what merges behind it: only one of its ways is taken.
        ({"A": CHOICE, "M": Control(join="any")}, {"A": "", "P": "A", "Q": "A", "M": "PQ", "B": "M"}, "AM"),
        # What each arrival starts again is a gate, and so is all behind it.
        ({"M": Control(join="any")}, {"A": "", "B": "", "M": "AB", "C": "M", "D": "C", "E": "A"}, "MCD"),
        # What passes twice starts its destinations twice.
        ({"A": Control(copies=2)}, {"A": "", "B": "A", "C": "B", "D": ""}, "ABC"),
        # A task that may be cancelled, and what passes to it a token with a number.
        ({"X": Control(cancels=("C",))}, {"A": "", "B": "A", "C": "B", "D": "C", "X": ""}, "BCX"),
        # What hears of ways that are not taken.
        ({"A": CHOICE, "M": Control(join="active")}, {"A": "", "P": "A", "Q": "A", "M": "PQ", "B": "M"}, "APQM"),
        # Where a milestone begins and ends.
        ({"M": Control(during=("A", "C"))}, {"A": "", "B": "A", "C": "B", "M": "", "D": "M"}, "ACM"),
        # Who is offered something.
        ({"A": Control(split="deferred")}, {"A": "", "B": "A", "C": "A", "D": "B"}, "ABC"),
    ],
)
def test_only_what_control_flow_touches_is_a_gate(
    controls: dict[str, Control], sources: dict[str, str], gates: str
) -> None:
    """All other tasks of a workflow with control flow are flat."""
    found = forms_of(controlled(controls, **sources))
    assert (found.gates, found.replaceable) == (frozenset(gates), frozenset())


def test_with_rules_of_the_users_own_every_task_is_a_gate() -> None:
    """They may look at the gate of any task."""
    plain = controlled({"C": Control(join="majority")}, A="", B="", C="AB", D="C")
    found = forms_of(replace(plain, patterns={"majority": "majority.hocl"}))
    assert found.gates == set("ABCD")


def test_an_alternative_that_touches_no_gate_moves_tasks() -> None:
    """It may replace several tasks, also in a workflow with control flow elsewhere."""
    several = Alternative("a", {"B": "S", "C": "T"})
    workflow = controlled({"L": LOOP}, several, L="", A="", B="A", C="A", S="A", T="A", D="BC")
    found = forms_of(workflow)
    assert (found.gates, found.swapped) == ({"L"}, frozenset())
    assert found.replaceable == set("ABCSTD")
    assert [one for one in check(workflow) if one.code == "W138"] == []


def test_an_alternative_before_a_gate_swaps_services() -> None:
    """What leads to a gate cannot be called off there, so the task becomes one; what leads to it stays flat."""
    workflow = controlled({"L": LOOP}, Alternative("a", {"B": "S"}), A="", B="A", S="A", L="B")
    found = forms_of(workflow)
    assert (found.gates, found.swapped, found.replaceable) == ({"B", "L"}, {"a"}, frozenset())
    several = replace(workflow, alternatives=(Alternative("a", {"B": "S"}, watch=("L",)),))
    assert "W138" in {one.code for one in check(several)}


def test_a_stand_in_that_ends_the_case_is_called_in_a_gate() -> None:
    """It does more than pass its result on in the place of another."""
    found = forms_of(controlled({"S": Control(ends="case")}, Alternative("a", {"A": "S"}), A="", B="A", S=""))
    assert (found.swapped, found.gates, found.replaceable) == ({"a"}, {"A"}, frozenset())


def test_an_alternative_of_a_stand_in_goes_with_it() -> None:
    """If the first one swaps services, so does the one in its place."""
    chain = Alternative("a", {"B": "S"}), Alternative("b", {"S": "T"})
    found = forms_of(controlled({"L": LOOP}, *chain, A="", B="A", S="A", T="A", L="B"))
    assert (found.swapped, found.gates) == ({"a", "b"}, {"B", "L"})


def test_each_form_has_its_molecules() -> None:
    """A flat task is a few tuples, a replaceable one holds a solution; both name the tasks they pass to."""
    workflow = adaptive(Alternative("a", {"B": "S"}), A="", F="", G="FA", B="A", S="A")
    found = {one.partition(":<")[0] for one in shown(workflow)}
    assert {'READY:F:"s":()', "DST:F:G", 'WAIT:G:2:"s":(FROM:F, FROM:A)', "A", "B", "S"} <= found
    assert {"F", "G"}.isdisjoint(found)


def test_a_flat_task_for_each_item_says_so_instead_of_its_service() -> None:
    """It needs no solution until its arguments are there."""
    workflow = Workflow("w", (Task("A", "s", (Value([1, 2]),), each=Each("dot", (0,))),), (Service("s", function=abs),))
    assert shown(workflow) == ['READY:A:(EACH:"s":list(0:0):()):list((1, 2))']


@pytest.mark.parametrize("count", [1, MAX_SHOWN, MAX_SHOWN + 1, 3 * MAX_SHOWN])
def test_arguments_take_their_places_whatever_the_order_of_arrival(count: int) -> None:
    """Few are written into the template, many are kept beside it; the template before is as it was."""
    template = List((FROM, f"t{at}") for at in range(count))
    before = List(template)
    found = template
    for at in reversed(range(1, count)):
        found = put(found, f"t{at}", at)
    assert complete(found, "t0", 0) == List(range(count))
    assert template == before
    assert (type(found) is Opaque) == (count > MAX_SHOWN)


def test_a_long_result_is_kept_beside_the_template() -> None:
    """The engine would look through it whenever another one comes."""
    long = List(range(MAX_SHOWN + 1))
    first = put(List(((FROM, "a"), (FROM, "b"), (FROM, "c"))), "a", 1)
    second = put(first, "b", long)
    assert (type(first), type(second)) == (List, Opaque)
    assert complete(second, "c", 3) == List((1, long, 3))


def test_one_result_may_go_to_several_places() -> None:
    """Also as one of its items, and beside values that were there from the beginning."""
    tasks = (Task("A", "s"), Task("B", "s", (Result("A"), Value(5), Result("A", 2), Result("A"))))
    (waits,) = [
        one
        for one in concretise(Workflow("w", tasks, (Service("s", function=list),))).solution
        if type(one) is tuple and print_molecule(one).startswith("WAIT:B:1")
    ]
    result = List((1, 2))
    assert complete(waits[4], waits[4][0][1], result) == List((result, 5, 2, result))
