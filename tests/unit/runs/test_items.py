"""Tasks that are called for each item: items that fail are tried elsewhere, left out or get a default, each alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent import RunFailed, WorkflowProblem, service, workflow
from solvent.workflows.formats.files import load_text
from solvent.workflows.formats.hoclflow.writer import write
from solvent.workflows.formats.yaml.writer import write_json, write_yaml

if TYPE_CHECKING:
    from solvent.runs.report import TaskEvent

CALLS: Counter[str] = Counter()
NAMES = ["a", "b", "c", "d"]


@service
def fetch(name: str) -> str:
    """Fail for some names."""
    CALLS[f"fetch {name}"] += 1
    if name in "bd":
        raise ConnectionError(f"no answer for {name}")
    return f"fetch {name}"


@service
def copy(name: str) -> str:
    """Fail for another name."""
    CALLS[f"copy {name}"] += 1
    if name == "d":
        raise LookupError(f"no copy of {name}")
    return f"copy {name}"


@service
def archive(name: str) -> str:
    """Never fail."""
    CALLS[f"archive {name}"] += 1
    return f"archive {name}"


@service
def late(name: str) -> str:
    """Fail until there is a file."""
    CALLS[f"late {name}"] += 1
    if name == "c" and not Path("there").exists():
        raise FileNotFoundError("not there")
    return name


@workflow
def elsewhere() -> list[str]:
    """Have other services called for the items that fail."""
    return fetch.otherwise(copy).otherwise(archive).each(NAMES)


@workflow
def left_out() -> list[str]:
    """Leave out what fails everywhere."""
    return fetch.otherwise(copy).each(NAMES, on_error="skip")


@workflow
def with_default() -> list[str]:
    """Put something in the place of what fails."""
    return fetch.each(NAMES, on_error="default", default="-")


def ends_with_a(text: str) -> bool:
    """Whether a result is not good."""
    return text.endswith("a")


@workflow
def rejected() -> list[str]:
    """Have another service called where a result is not good."""
    return archive.otherwise(copy, when=ends_with_a).each(NAMES)


@workflow
def failing() -> list[str]:
    """Have no other way in the end."""
    return fetch.otherwise(copy).each(NAMES)


@workflow
def continued() -> list[str]:
    """Fail at first."""
    return late.each(fetch.otherwise(archive).each(NAMES))


def route(item: int, route: str, *causes: str, task: str = "fetch") -> dict[str, Any]:
    """Return a row of the routes of a report."""
    return {"task": task, "item": item, "argument": repr(NAMES[item]), "causes": [*causes], "route": route}


B, D = "ConnectionError: no answer for b", "ConnectionError: no answer for d"
NO_COPY = "LookupError: no copy of d"
FLOWS: list[tuple[Any, list[str], list[dict[str, Any]]]] = [
    (elsewhere, ["fetch a", "copy b", "fetch c", "archive d"], [route(1, "copy", B), route(3, "archive", D, NO_COPY)]),
    (left_out, ["fetch a", "copy b", "fetch c"], [route(1, "copy", B), route(3, "skipped", D, NO_COPY)]),
    (with_default, ["fetch a", "-", "fetch c", "-"], [route(1, "default", B), route(3, "default", D)]),
    (
        rejected,
        ["copy a", "archive b", "archive c", "archive d"],
        [route(0, "copy", "its result was rejected", task="archive")],
    ),
]


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("flow, value, routes", FLOWS, ids=lambda one: getattr(one, "__name__", ""))
def test_only_items_that_fail_go_another_way(
    flow: Any, value: list[str], routes: list[dict[str, Any]], tmp_path: Path, *, is_recorded: bool
) -> None:
    """The others are called once; the report names each item, its causes and its route, also from the store."""
    CALLS.clear()
    store = str(tmp_path / "runs.db") if is_recorded else None
    report = solvent.run(flow, store=store, name="r" if is_recorded else None)
    assert report.value == value
    assert sorted(report.routes, key=lambda one: one["item"]) == routes
    assert set(CALLS.values()) == {1}
    if store is not None:
        with solvent.attach("r", store=store) as run:
            found = run.report()
        assert sorted(found.routes, key=lambda one: one["item"]) == routes
        assert (found.value, found.states) == (value, report.states)


def test_a_task_fails_with_its_item() -> None:
    """If all ways fail, the cause names the item, its index and argument."""
    with pytest.raises(RunFailed) as caught:
        solvent.run(failing)
    assert caught.value.report.failures[0].cause == f"[3] 'd': {NO_COPY}"
    assert isinstance(caught.value.__cause__, LookupError)
    assert caught.value.report.routes[-1] == route(3, "failed", D, NO_COPY)


def test_items_that_were_kept_are_not_called_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is continued calls only what had failed, and remembers the routes of the others."""
    CALLS.clear()
    monkeypatch.chdir(tmp_path)
    store = str(tmp_path / "runs.db")

    @workflow
    def flow() -> list[str]:
        return late.each(fetch.otherwise(archive).each(NAMES))

    waiting = solvent.run(flow, store=store, name="r", check=False)
    assert waiting.succeeded
    CALLS.clear()

    @workflow(name="flow")
    def changed() -> list[str]:
        return copy.each(fetch.otherwise(archive).each(NAMES))

    with solvent.attach("r", store=store) as run:
        report = run.resume(changed).wait(check=False)
    assert all(name.startswith("copy") for name in CALLS)
    assert [one["route"] for one in report.routes] == ["archive", "archive"]


def test_a_forgotten_return_is_not_left_out() -> None:
    """What is no list has no items, so there is none to leave out."""

    @workflow
    def flow() -> list[str]:
        return fetch.each(service(lambda: None, name="nothing")(), on_error="skip")  # type: ignore[arg-type]

    report = solvent.run(flow, check=False)
    assert report.states["fetch"] == "failed"
    assert "is a `return` missing in the service?" in report.failures[0].cause


def test_who_watches_hears_of_items() -> None:
    """Each event of an item says how many are over, and of how many; one that is healed is no failure."""
    seen: list[TaskEvent] = []
    solvent.run(left_out, watch=seen.append, jobs=1)
    assert {one.kind for one in seen} == {"started", "done", "healed"}
    assert seen[-1].items == (4, 4)
    assert max(one.text for one in seen if "[3]" in one.text) == f"[3] 'd': {NO_COPY}; it is left out"
    assert "[1] 'b': ConnectionError: no answer for b; `copy` is tried" in {one.text for one in seen}


def test_sub_workflows_heal_each_item_alone() -> None:
    """An alternative inside a sub-workflow that is called for each item is taken for the items that need it."""
    CALLS.clear()

    @workflow
    def one(name: str) -> str:
        return solvent.attempt(fetch(name), otherwise=archive(name))

    @workflow
    def flow() -> list[str]:
        return one.each(NAMES)

    assert solvent.run(flow).value == ["fetch a", "archive b", "fetch c", "archive d"]
    assert set(CALLS.values()) == {1}


FILE = """\
workflow: w
services:
  fetch: {python: "tests.unit.runs.test_items:fetch"}
  copy: {python: "tests.unit.runs.test_items:copy"}
  archive: {python: "tests.unit.runs.test_items:archive"}
tasks:
  T: {service: fetch, in: [[a, b, c, d]], each: {dot: [0]}, otherwise: [copy, {service: archive, on: [timeout]}], on_error: skip}
  U: {service: fetch, in: [[a, b]], each: {dot: [0]}, on_error: default, default: 0}
results: [T, U]
"""  # noqa: E501


def test_files_have_the_same() -> None:
    """A file says what Python does, and is written as it was read; HOCLflow has no words for it."""
    found = load_text(FILE, name="w.yaml").workflow
    assert solvent.run(found).results == {"T": ["fetch a", "copy b", "fetch c"], "U": ["fetch a", 0]}
    assert load_text(write_yaml(found), name="w.yaml").workflow == found
    assert load_text(write_json(found), name="w.json").workflow == found
    with pytest.raises(WorkflowProblem, match="HOCLflow cannot say what is done for items of `T` that fail"):
        write(found)


@pytest.mark.parametrize(
    "task, message",
    [
        ("service: fetch, in: [a], otherwise: copy", "is not called for each item"),
        ("service: fetch, in: [[a]], each: {dot: [0]}, otherwise: coppy", "calls `coppy`, which is not a service"),
        ("service: fetch, in: [[a]], each: {dot: [0]}, on_error: drop", "an item cannot `drop`"),
        ("service: fetch, in: [[a]], each: {dot: [0]}, on_error: skip, default: 1", "goes with `on_error: default`"),
    ],
)
def test_mistakes_in_files_are_named(task: str, message: str) -> None:
    """Before anything runs."""
    with pytest.raises(WorkflowProblem, match=message):
        solvent.run(load_text(FILE.split("  T:", maxsplit=1)[0] + f"  T: {{{task}}}\n", name="w.yaml").workflow)


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: fetch.each(NAMES, on_error="drop"), "'drop' is nothing to do"),  # type: ignore[arg-type]
        (lambda: fetch.each(NAMES, default=1), '`default` goes with `on_error="default"`'),
        (lambda: fetch.otherwise(copy.named("x")).each(NAMES), "`copy` stands in for single items"),
        (lambda: fetch.otherwise(str.upper).each(NAMES), "only a service can stand in"),
    ],
)
def test_mistakes_in_python_are_named(build: Any, message: str) -> None:
    """While the workflow is built."""

    @workflow
    def flow() -> Any:
        return build()

    with pytest.raises(WorkflowProblem, match=message):
        flow.definition()


def test_items_are_explored() -> None:
    """Every order of the tasks gives the same, with the same ways for items."""
    found = solvent.explore(left_out)
    assert (found.ends, found.is_complete) == ({"done": 1}, True)
