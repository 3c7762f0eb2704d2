"""What an example of a pattern says holds in every order in which it can happen, and a wrong variant is noticed.

The gallery of patterns in the documentation, which says the same, is up to date. It is tested here, since trying every
order takes long and one process should do so only once.
"""

from __future__ import annotations

import difflib

import pytest

from solvent.runs.causality import violations
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
from tests.patterns.gallery import GROUPS, PAGES, made
from tests.patterns.wrong import WRONG
from tests.repo.project import name_in_project


def _examples() -> list[object]:
    return [
        pytest.param(one, case, id="-".join([one.name, *map(str, case.inputs.values())]))
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


@pytest.mark.parametrize("name", sorted(WRONG))
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


# --- The gallery.


# It explores all orders of all examples: on a busy machine that took longer than a test may.
@pytest.mark.timeout(600)
def test_gallery_is_up_to_date() -> None:
    """The pages and pictures are those that `make gallery` would write, and no others."""
    wanted = made()
    for file, text in wanted.items():
        seen = file.read_text(encoding="utf-8") if file.exists() else ""
        changes = difflib.unified_diff(seen.splitlines(), text.splitlines(), "written", "would be", lineterm="", n=0)
        assert seen == text, f"{name_in_project(file)}: run `make gallery`\n" + "\n".join([*changes][:20])
    assert {file for file in PAGES.iterdir() if file not in wanted} == set()


def test_every_example_is_in_one_group() -> None:
    """No pattern is left out of the gallery, and none is shown twice."""
    numbers = [number for _, _, group in GROUPS for number in group]
    assert sorted(numbers, key=str) == sorted({one.number for one in examples()}, key=str)
