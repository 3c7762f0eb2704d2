"""What people ask of a film, and that the answers stay small."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from solvent.runs.replay_index.viewer import PAGE
from solvent.workflows.model import Alternative, Result, Task, Value
from tests.unit.runs.agents.flows import adaptive, store_at, workflow
from tests.unit.runs.replay_index.runs import recorded, viewed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.replay_index.viewer import Viewer

MANY = 300


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """Give the film of a run that adapts."""
    folder = tmp_path_factory.mktemp("film")
    with store_at(folder) as store:
        recorded(store, "r1", adaptive())
        yield viewed(store, "r1", folder / "film")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """Give the film of a run with many tasks, each a solution of its own since what it takes may be replaced."""
    folder = tmp_path_factory.mktemp("film")
    tasks = [Task(f"t{at}", "add", (Result("first"), Value(at))) for at in range(MANY)]
    others = Task("first", "add"), Task("spare", "add")
    with store_at(folder) as store:
        recorded(store, "r1", workflow(*others, *tasks, alternatives=(Alternative("instead", {"first": "spare"}),)))
        yield viewed(store, "r1", folder / "film")


def number_of(viewer: Viewer, rule: str) -> int:
    """Give the first reaction by a rule."""
    return next(number for number in range(1, viewer.reactions + 1) if viewer.reaction(number)["rule"] == rule)


def test_a_moment_is_small_whatever_the_run_is(large: Viewer, adapted: Viewer) -> None:
    """What is sent of a moment of many tasks is little more than of a few."""
    few, many = (len(json.dumps(one.moment(one.reactions // 2))) for one in (adapted, large))
    assert many < 4 * few


def test_all_molecules_are_on_some_page(large: Viewer) -> None:
    """Going from page to page shows every molecule of a solution once."""
    seen: list[int] = []
    offset, left = 0, 1
    while left:
        page = large.inside(0, 1, offset=offset)
        seen += [one["id"] for one in page["members"]]
        offset, left = offset + PAGE, page["left"]
    assert (len(seen), len(set(seen))) == (MANY + 4, MANY + 4)


def test_what_happens_comes_first_and_is_open(large: Viewer) -> None:
    """Of many tasks, the one in which the reaction happened is shown first, with what is in it."""
    number = large.events(f"t{MANY - 1}", 0)["first"]
    first, second, *_ = (one for one in large.inside(number, 1)["members"] if "subs" in one)
    assert (first["text"], first["subs"][0]["is_open"]) == (f'"t{MANY - 1}":<…>', True)
    assert not second["subs"][0]["is_open"]


def test_what_was_taken_is_still_shown(adapted: Viewer) -> None:
    """The moment after a reaction has what it took, marked, beside what it made."""
    number = number_of(adapted, "wa_when")
    roles = {one["text"]: one["role"] for one in adapted.inside(number, 1)["members"]}
    assert roles['TRIGGER:"two":"instead"'] == "taken"
    assert roles['WAKE:"spare"'] == "made"


def test_the_count_of_a_solution_leaves_out_what_was_taken(adapted: Viewer) -> None:
    """What is marked as taken is there no more."""
    number = number_of(adapted, "wa_when")
    found = adapted.inside(number, 1)
    assert found["count"] == sum(one["role"] != "taken" for one in found["members"] if one["kind"] != "rule")


def test_events_of_a_task_lead_from_one_to_the_next(adapted: Viewer) -> None:
    """From any moment there is the next reaction of a task, and the one before."""
    numbers = [one["number"] for one in adapted.events("spare", 0)["near"]]
    here = adapted.events("spare", numbers[1])
    assert (here["before"], here["after"], here["first"]) == (numbers[0], numbers[2], numbers[0])


def test_why_tells_what_made_a_molecule(adapted: Viewer) -> None:
    """The result of a task was made by the answer of its call."""
    (found,) = adapted.search(adapted.reactions, "RES:13")["members"]
    why = adapted.why(found["id"])
    assert (why["made"]["rule"], why["made"]["what"], why["died"]) == ("gw_call", "answer", None)
    assert [one["text"] for one in why["path"]] == ['"spare"']


def test_a_search_takes_what_is_written_as_it_is(adapted: Viewer) -> None:
    """Signs that mean something to a data base are letters here."""
    assert adapted.search(0, "%")["members"] == []


def test_a_search_finds_only_what_is_there(adapted: Viewer) -> None:
    """A result is not found before it has come."""
    assert adapted.search(0, "RES:13")["members"] == []


def test_the_text_of_a_rule_is_told_with_its_reaction(adapted: Viewer) -> None:
    """Whoever sees a reaction can read by which rule it was."""
    assert adapted.reaction(number_of(adapted, "gw_setup"))["text"].startswith("replace OPEN, SRC:<>, ARG:t:a")


@pytest.mark.parametrize("ask", [lambda film: film.reaction(10**9), lambda film: film.why(10**9)])
def test_what_is_not_there_is_said_to_be_so(adapted: Viewer, ask: object) -> None:
    """A number that no reaction and no molecule has is no answer."""
    with pytest.raises(LookupError, match="there is no"):
        ask(adapted)  # type: ignore[operator]


def test_a_moment_after_the_end_is_the_end(adapted: Viewer) -> None:
    """Nobody falls out of a film."""
    assert adapted.moment(10**9)["number"] == adapted.reactions
