"""Films of recorded runs: what is shown is what happened, and nobody is called for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from solvent.errors import RecordProblem
from solvent.runs.agents.shards import submit
from solvent.runs.replay_index.maker import Order, make
from solvent.workflows.model import Alternative, Result, Service, Task, Value, Workflow
from tests.unit.runs.agents.flows import adaptive, is_small, run_by_agents, store_at, workflow
from tests.unit.runs.replay_index.runs import recorded, viewed
from tests.unit.runs.replay_index.seen import filmed, written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.runs.replay_index.viewer import Viewer
    from solvent.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give a store in a file."""
    with store_at(tmp_path) as opened:
        yield opened


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """Give where a film is to be."""
    return tmp_path / "film"


def test_a_film_ends_as_the_run_did(store: Store, film: Path) -> None:
    """The last moment of a film is the solution that the run left."""
    run = recorded(store, "r1", adaptive())
    viewer = viewed(store, "r1", film)
    assert filmed(film, viewer.reactions) == written(run.solution)


def test_the_molecules_of_flat_tasks_are_there_from_the_beginning(store: Store, film: Path) -> None:
    """One for each task, and one for each result that a task passes on."""
    tasks = [Task("t0", "add", (Value(1),)), *(Task(f"t{at}", "add", (Result(f"t{at - 1}"),)) for at in range(1, 5))]
    run = recorded(store, "r1", workflow(*tasks))
    viewer = viewed(store, "r1", film)
    assert viewer.inside(0, 1)["count"] == len(tasks) + 4
    assert filmed(film, viewer.reactions) == written(run.solution)


def test_a_call_is_out_from_its_beginning_to_its_answer(store: Store, film: Path) -> None:
    """Between them the molecules it was made of are gone, and what it answers is not there."""
    recorded(store, "r1", workflow(Task("one", "add", (Value(1), Value(2)))))
    viewer = viewed(store, "r1", film)
    told = [viewer.reaction(number) for number in range(1, viewer.reactions + 1)]
    assert [(one["rule"], one["what"], one["tasks"]) for one in told] == [
        ("ft_call", "call", ["one"]), ("ft_call", "answer", ["one"]),
    ]  # fmt: skip
    assert [one["text"] for one in told[0]["made"]] == ["a call is out"]
    assert [one["text"] for one in told[1]["made"]] == ['RES:"one":3']


def test_a_run_that_was_stopped_is_shown_as_far_as_it_is_known(store: Store, film: Path) -> None:
    """Where answers are missing in the record the film ends, and says so."""
    recorded(
        store, "r1", workflow(Task("one", "add", (Value(1),)), Task("two", "add", (Result("one"),))), max_seconds=0
    )
    viewer = viewed(store, "r1", film)
    assert viewer.about["note"].startswith("the record ends here: 1 calls have no answer")


@pytest.fixture
def shared(store: Store, tmp_path: Path) -> list[Viewer]:
    """Give the films of the places of a run that agents have had."""
    tasks = [Task(f"t{at}", "add", (Value(at),)) for at in range(4)]
    whole = workflow(*tasks, Task("sum", "add", tuple(Result(f"t{at}") for at in range(4))))
    plan = submit(store, "r1", whole, None, max_shards=3)
    run_by_agents(store, "r1")
    return [viewed(store, "r1", tmp_path / f"film{place}", place) for place in range(plan.shards)]


def test_each_place_of_a_run_of_agents_has_a_film(shared: list[Viewer]) -> None:
    """The tasks of one place are in its film, and those of others are not."""
    names = ("t0", "t3", "sum")
    where = [[at for at, one in enumerate(shared) if one.events(name, 0)["count"]] for name in names]
    assert len(shared) > 1
    assert [len(places) for places in where] == [1, 1, 1]


def test_letters_of_other_places_come_from_outside(shared: list[Viewer]) -> None:
    """What another place has sent is there without a reaction here."""
    told = [one.reaction(number) for one in shared for number in range(1, one.reactions + 1)]
    came = {made["text"].partition(":")[0] for one in told if one["what"] == "came" for made in one["made"]}
    assert "PASS" in came


def test_what_would_run_code_is_refused(store: Store, film: Path) -> None:
    """A record names functions, and a looker-on calls none of them: who wrote the record may be anybody."""
    spare = Alternative("other", {"one": "two"}, predicate=is_small)
    recorded(
        store, "r1", workflow(Task("one", "add", (Value(1),)), Task("two", "add", (Value(2),)), alternatives=(spare,))
    )
    with pytest.raises(RecordProblem, match="goes by the condition"):
        make(Order(store.url, "r1", str(film)))


def test_a_run_that_is_not_there_has_no_film(store: Store, film: Path) -> None:
    """Whoever asks for it is told so."""
    with pytest.raises(RecordProblem, match="there is no run"):
        make(Order(store.url, "r1", str(film)))


def test_a_film_shows_what_happens_inside_a_sub_workflow(store: Store, film: Path) -> None:
    """Its solution is one molecule beside the task that calls it; its tasks are found by their paths."""
    inner = replace(workflow(Task("A", "add", (Value(1),)), Task("B", "add", (Result("A"),))), name="inner")
    whole = Service("whole", "workflow", function=inner)
    recorded(store, "r1", Workflow("outer", (Task("T", "whole"),), (whole,)))
    viewer = viewed(store, "r1", film)
    told = [viewer.reaction(number) for number in range(1, viewer.reactions + 1)]
    assert [(one["what"], one["tasks"]) for one in told if one["what"] != "reaction"] == [
        ("call", ["T"]), ("opened", ["T/A", "T/B", "T"]), ("call", ["T/A"]), ("answer", ["T/A"]), ("call", ["T/B"]),
        ("answer", ["T/B"]), ("answer", ["T"]),
    ]  # fmt: skip
