"""Which tasks of a workflow are flat, and the molecules that each form becomes."""

from __future__ import annotations

import pytest

from solvent.lang.molecule import List, Opaque
from solvent.lang.printer import print_molecule
from solvent.workflows.forms import replaceable_tasks
from solvent.workflows.model import Alternative, Each, Result, Service, Task, Value, Workflow
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
    assert replaceable_tasks(flow(A="", B="A")) == frozenset()


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
    assert replaceable_tasks(adaptive(alternative, **sources)) == set(expected)


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
