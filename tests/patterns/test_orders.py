"""What an example of a pattern says holds in every order in which it can happen, and a wrong variant is noticed.

In shards, divided as finely as rules allow, an example ends as one of these orders does, whatever comes first. And the
gallery of patterns in the documentation is up to date. Both are tested here, since trying every order takes long and
one process should do so only once.
"""

from __future__ import annotations

import difflib
import random
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvent.runs.causality import violations
from solvent.runs.exploration import counts_of, gated
from solvent.store import open_store
from tests.patterns.catalogue import (
    FOLDER,
    NUMBERS,
    Case,
    Example,
    examples,
    function_of_service,
    inner_of,
    orders_in,
    orders_of,
    statements_of,
    workflow_in,
)
from tests.patterns.gallery import GROUPS, PAGES, made
from tests.patterns.schedules import Shards, UnorderedShards
from tests.patterns.wrong import WRONG
from tests.repo.project import name_in_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.exploration import Counts
    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.workflows.model import Workflow

SCHEDULES = max(5, settings().max_examples // 100)
MAX_RESTARTS = 3
_number = count()


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


# --- In shards.


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Open one store for all runs: each has a name of its own."""
    with open_store(str(tmp_path_factory.mktemp("schedules") / "runs.db"), is_durable=False) as found:
        yield found


def shards_of(store: Store, workflow: Workflow, case: Case, kind: type[Shards] = Shards) -> Shards:
    """Begin a run of an example in shards."""
    functions = {one.name: function_of_service(one) for one in workflow.services}
    return kind(store, f"run-{next(_number)}", workflow, case.inputs, functions, FOLDER)


def ended(counts: Counts, workflow: Workflow) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Say how a run ended, and how often each task was done, by itself or by what stood in for it."""
    stands_for = {new: old for one in workflow.alternatives for old, new in one.exits.items()}
    done: Counter[str] = Counter()
    for task, times in counts.done.items():
        name = task
        while name in stands_for:
            name = stands_for[name]
        done[name] += times
    return counts.end, tuple(sorted((name, times) for name, times in done.items() if times))


def end_of(shards: Shards, report: Report) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Say the same of a run in shards."""
    counts = counts_of(shards.solution, shards.workflow)
    if not counts.is_ended:
        counts.stuck = report.stuck
    return ended(counts, shards.workflow)


@pytest.mark.parametrize("example,case", _examples())
@settings(max_examples=SCHEDULES)
@given(seed=st.integers(0, 2**32))
def test_gates_in_shards_end_as_exploration_says(store: Store, example: Example, case: Case, seed: int) -> None:
    """How a run ends, and how often each task is done, is one of the ends that exploration finds."""
    chance = random.Random(seed)
    workflow = gated(workflow_in(example.file))
    shards = shards_of(store, workflow, case)
    found = end_of(shards, shards.run(chance, restarts=chance.randrange(MAX_RESTARTS)))
    assert found in {ended(one, workflow) for one in orders_in(example, case).finals}, f"seed {seed}"


@pytest.mark.parametrize("example,case", _examples())
@settings(max_examples=SCHEDULES)
@given(seed=st.integers(0, 2**32))
def test_all_forms_in_shards_end_as_exploration_says(store: Store, example: Example, case: Case, seed: int) -> None:
    """The same with each task in the form that it has in a run: what is done, and how it ends."""
    chance = random.Random(seed)
    shards = shards_of(store, workflow_in(example.file), case)
    report = shards.run(chance, restarts=chance.randrange(MAX_RESTARTS))
    done = frozenset(name for name, state in report.states.items() if state == "done")
    finals = [*orders_in(example, case).finals]
    expected = {(one.end, frozenset(name for name, times in one.done.items() if times)) for one in finals}
    assert (_end(report), done) in expected, f"seed {seed}: {report.states}, {report.stuck}"


def _end(report: Report) -> str:
    if report.is_cancelled:
        return "cancelled"
    if "failed" in report.states.values():
        return "failed"
    return "stuck" if report.stuck else "done"


def test_messages_without_causal_order_are_noticed(store: Store) -> None:
    """A signal that overtakes the token it belongs to is lost: the check finds it when messages may do so."""
    example = next(one for one in examples() if one.name == "transient_trigger")
    (case,) = example.cases
    workflow = gated(workflow_in(example.file))
    expected = {ended(one, workflow) for one in orders_in(example, case).finals}
    wrong = 0
    for seed in range(60):
        shards = shards_of(store, workflow, case, UnorderedShards)
        wrong += end_of(shards, shards.run(random.Random(seed))) not in expected
    assert wrong
