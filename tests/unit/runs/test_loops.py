"""What a step of a loop is called with from the second round on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

import solvent
from solvent import any_of, attempt, choose, repeat, service, workflow
from solvent.errors import WorkflowProblem
from solvent.workflows.formats.files import load_text, write
from solvent.workflows.model import Service

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.workflows.formats.python.builder import Step

_MAX_SECONDS = 60.0


@service
def begin() -> int:
    """Return the first number."""
    return 1


@service
def pair() -> list[int]:
    """Return two numbers."""
    return [1, 2]


@service
def small(number: Any) -> int:
    """Add one to a number, or to the first of several."""
    return 1 + (number[0] if isinstance(number, list) else number)


@service
def middle(number: int) -> int:
    """Add two."""
    return number + 2


@service
def big(number: int) -> int:
    """Add three."""
    return number + 3


@service
def judge(number: int) -> int:
    """Return the number as it is."""
    return number


@service
def count(numbers: list[int]) -> int:
    """Return how many there are, and one."""
    return len(numbers) + 1


def _nested(start: Step) -> Any:
    middling = attempt(middle(start), otherwise=big(start), when=lambda found: found % 3 != 0)
    return attempt(small(start), otherwise=middling, when=lambda found: found % 3 != 0)


_DRAFTS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "attempt": (lambda start: attempt(small(start), otherwise=big(start), when=lambda found: found % 2 == 0), 12),
    "otherwise": (small.otherwise(big, when="result % 2 == 0"), 12),
    "nested": (_nested, 12),
    "any_of": (
        lambda start: attempt(small(any_of(start)), otherwise=big(start), when=lambda found: found % 2 == 0),
        12,
    ),
}


@pytest.mark.parametrize("draft", _DRAFTS)
def test_an_alternative_in_a_loop_is_called_with_what_came_back(draft: str) -> None:
    """In every round the stand-in gets what the step that it replaces gets."""
    body, end = _DRAFTS[draft]

    @workflow
    def rounds() -> int:
        made = body(begin())
        return repeat(judge(made), back_to=made, when="result < 10")

    report = solvent.run(rounds, max_seconds=_MAX_SECONDS)
    assert (report.succeeded, report.results) == (True, {"judge": end})


def test_an_alternative_named_after_the_way_back_gets_what_came_back() -> None:
    """It makes no difference whether `attempt` stands before `repeat` or after it."""

    @workflow
    def rounds() -> int:
        start = begin()
        made = small(start)
        judged = judge(made)
        repeat(judged, back_to=made, when="result < 10")
        attempt(made, otherwise=big(start), when=lambda found: found % 2 == 0)
        return judged

    report = solvent.run(rounds, max_seconds=_MAX_SECONDS)
    assert (report.succeeded, report.results) == (True, {"judge": 12})


def test_an_alternative_behind_a_choice_that_leads_back_gets_what_came_back() -> None:
    """A route of `choose` to an earlier step is a way back too."""

    @workflow
    def rounds() -> int:
        start = begin()
        made = attempt(small(start), otherwise=big(start), when=lambda found: found % 2 == 0)
        judged, done = judge(made), middle.named("done")
        ended = done(judged)
        choose(judged, ("result < 10", made), otherwise=ended)
        return ended

    report = solvent.run(rounds, max_seconds=_MAX_SECONDS)
    assert (report.succeeded, report.results) == (True, {"done": 14})


def test_an_alternative_in_a_loop_cannot_take_an_item_of_what_came_before() -> None:
    """What comes back is one result and no list, as for the step that it replaces."""

    @workflow
    def rounds() -> int:
        start = pair()
        made = attempt(small(start), otherwise=big(start[1]))
        return repeat(judge(made), back_to=made, when="result < 10")

    with pytest.raises(WorkflowProblem) as caught:
        rounds.definition()
    assert caught.value.code == "W155"
    assert caught.value.message == (
        "`big` takes an item of `pair`, and a way back to `small`, which it replaces, brings one result"
    )


def test_a_number_of_instances_in_a_loop_is_what_came_back() -> None:
    """A step that says how often another is called does so in the first round only; later it is the last result."""

    @workflow
    def rounds() -> int:
        made = judge.many(begin())(5)
        return repeat(count(made), back_to=made, when="result < 4")

    report = solvent.run(rounds, max_seconds=_MAX_SECONDS)
    assert (report.succeeded, report.results, report.calls["judge"]) == (True, {"count": 4}, 6)


@pytest.mark.parametrize(
    "rounds,calls,failed",
    [
        ((3, 2), {"Small": 3, "Middle": 2}, []),
        ((2, 2), {"Small": 2}, ["Small"]),
        ((3, 1), {"Small": 3, "Middle": 1}, ["Middle"]),
    ],
)
def test_a_loop_fails_after_its_last_round(rounds: tuple[int, int], calls: dict[str, int], failed: list[str]) -> None:
    """A task that is to be repeated more often than `max_rounds` allows fails, and what follows does not start."""

    @workflow
    def loops() -> int:
        small_one = small.named("Small")(begin())
        counted = repeat(small_one, back_to=small_one, when="result < 4", max_rounds=rounds[0])
        last = middle.named("Middle")(counted)
        return repeat(last, back_to=last, when="result < 8", max_rounds=rounds[1])

    report = solvent.run(loops, check=False, max_seconds=_MAX_SECONDS)
    assert {name: number for name, number in report.calls.items() if name != "begin"} == calls
    assert [one.task for one in report.failures] == failed
    assert all("after" in one.cause and "max_rounds" in one.cause for one in report.failures)


def test_an_alternative_takes_over_after_the_last_round() -> None:
    """In the same instance; if its result is to be repeated, too, the task has failed."""
    for stand_in, result, failed in ((big, {"Small": 5}, []), (judge, {"Small": 2}, ["judge"])):

        @workflow
        def loops() -> int:
            step = small.named("Small")(start := begin())
            tried = attempt(step, otherwise=stand_in(start))  # noqa: B023
            return repeat(tried, back_to=step, when="result < 4", max_rounds=2)

        report = solvent.run(loops, check=False, max_seconds=_MAX_SECONDS)
        assert ([one.task for one in report.failures], report.results) == (failed, result)


def test_rounds_are_counted_from_where_the_loop_is_entered() -> None:
    """An inner loop may go round as often each time that the outer one leads to it; both are explored."""
    from solvent.runs.exploration import explore_workflow

    @workflow
    def loops() -> int:
        inner = small.named("Inner")(begin())
        inner = repeat(inner, back_to=inner, when="result % 2 == 1", max_rounds=2)
        outer = middle.named("Outer")(inner)
        return repeat(outer, back_to=inner, when="result < 10", max_rounds=3)

    report = solvent.run(loops, check=False, max_seconds=_MAX_SECONDS)
    assert (report.failures, report.succeeded) == ([], True), report.calls
    flow = loops.definition()
    plain = replace(flow, services=(Service("s", "shell", "true"),), results=())
    plain = replace(plain, tasks=tuple(replace(one, service="s") for one in flow.tasks))
    for suffix in (".yaml", ".json", ".hocl"):
        assert load_text(write(plain, suffix=suffix), name=f"w{suffix}").workflow.tasks == plain.tasks
    (final,) = explore_workflow(flow).finals
    assert final.started == {"begin": 1, **{name: report.calls[name] for name in ("Inner", "Outer")}}
