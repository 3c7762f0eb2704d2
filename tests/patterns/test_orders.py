"""What an example of a pattern says holds in every order in which it can happen, and a wrong variant is noticed."""

from __future__ import annotations

import pytest

from solvent.running.causality import violations
from tests.patterns.catalogue import (
    NUMBERS,
    Case,
    Example,
    examples,
    inner_of,
    orders_in,
    orders_of,
    statements_of,
    workflow_in,
)
from tests.patterns.wrong import WRONG

# Examples whose statements say what is right and do not hold yet, with the reason. They must fail: one that has been
# mended is taken out of this list.
NOT_YET = {
    "transient_trigger": "the exploration may keep a signal that a run loses at once",
    "cancel_region": "a region is cancelled task by task: one that is cancelled already gets a new token from another",
    "cancelling_discriminator": "the same, within the branches that are cancelled",
    "complete_many": "instances that are cancelled count as withdrawn runs of their task",
    "cancelling_partial_join_of_many": "the same",
    "dot_product": "in a controlled workflow the calls of `each` and the task's own OUT are mixed up",
    "cross_product": "the same",
}


def _examples() -> list[object]:
    marks = {name: pytest.mark.xfail(reason=reason) for name, reason in NOT_YET.items()}
    return [
        pytest.param(one, case, id="-".join([one.name, *map(str, case.inputs.values())]), marks=marks.get(one.name, ()))
        for one in examples()
        for case in one.cases
    ]


@pytest.mark.parametrize("example,case", _examples())
def test_statements_hold_in_every_order(example: Example, case: Case) -> None:
    """Whatever happens first, the statements of an example hold."""
    found = violations(orders_in(example, case), statements_of(example, case))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("example,case", [(one, case) for one in examples() for case in one.cases if case.open])
def test_what_is_left_open_is_open(example: Example, case: Case) -> None:
    """What a pattern leaves open holds in some orders, and in others it does not."""
    orders = orders_in(example, case)
    assert [statement for statement in case.open if not violations(orders, [statement])] == []


@pytest.mark.parametrize("example", [one for one in examples() if one.inside], ids=lambda one: one.name)
def test_statements_hold_inside_a_sub_workflow(example: Example) -> None:
    """Whatever happens first inside a task that is a workflow, its statements hold."""
    orders = orders_of(inner_of(example), dict.fromkeys(inner_of(example).inputs, "x"))
    found = violations(orders, [*example.inside, "ends done"])
    assert not found, "\n".join(found)


_WRONG_NAMES = [
    # The right variant fails for the same reason as the wrong one should.
    pytest.param(name, marks=pytest.mark.xfail(reason=NOT_YET[name])) if name == "dot_product" else name
    for name in sorted(WRONG)
]


@pytest.mark.parametrize("name", _WRONG_NAMES)
def test_wrong_variant_is_noticed(name: str) -> None:
    """The statements of an example do not hold of a workflow that lacks its pattern."""
    example = next(one for one in examples() if one.name == name)
    wrong = WRONG[name]
    case = next(one for one in example.cases if one.inputs == wrong.inputs)
    orders = orders_of(wrong.change(workflow_in(example.file)), case.inputs)
    is_violated = bool(violations(orders, [wrong.statement]))
    assert is_violated is (wrong.statement in statements_of(example, case))
    assert is_violated or wrong.statement in case.open


def test_every_pattern_has_an_example() -> None:
    """Each of the forty-three patterns has an example, and only one."""
    assert [one.number for one in examples() if one.number is not None] == list(NUMBERS)


def test_every_example_has_a_wrong_variant_and_an_end() -> None:
    """Every example says how it ends, has statements, and a wrong variant that they notice."""
    assert {one.name for one in examples()} == WRONG.keys()
    assert [one.name for one in examples() if not one.ends or not all(case.holds for case in one.cases)] == []


def test_what_does_not_hold_yet_is_an_example() -> None:
    """The list of what is not mended yet names examples."""
    assert NOT_YET.keys() <= {one.name for one in examples()}
