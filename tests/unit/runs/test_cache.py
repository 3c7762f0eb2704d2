"""Results are used again by calls of the same code with the same arguments, in this run and in others of its store."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent import WorkflowProblem, service, shell, workflow
from solvent.runs import cache
from solvent.runs.cache import Cache, Wanted, clear, key_of, results_in
from solvent.store import open_store
from solvent.values import codec
from solvent.workflows.formats.files import load_text
from solvent.workflows.formats.yaml.writer import write_json, write_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.store import Store

CALLS: Counter[str] = Counter()
GO = threading.Event()
NAMES = ["a", "b", "a"]


@pytest.fixture(autouse=True)
def nothing_was_called() -> None:
    """Begin to count."""
    CALLS.clear()
    GO.set()


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Return the address of a store."""
    return str(tmp_path / "runs.db")


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """Open the store."""
    with open_store(place) as opened:
        yield opened


@service(cache=True)
def clean(text: str, *, by: int = 1) -> str:
    """Count its calls."""
    CALLS[f"clean {text}"] += 1
    assert GO.wait(100)
    return text * by


@service
def count(text: str) -> int:
    """Count its calls."""
    CALLS[f"count {text}"] += 1
    return len(text)


@service(cache=True)
def refuse(text: str) -> str:
    """Fail the first time."""
    CALLS["refuse"] += 1
    if CALLS["refuse"] == 1:
        raise LookupError(text)
    return text


@service(cache=True, cache_key=lambda url, **_: url.partition("?")[0])
def fetch(url: str, *, token: str = "") -> str:
    """Count its calls."""
    CALLS["fetch"] += 1
    return url + token


@workflow
def flow(names: list[str] = NAMES, by: int = 1) -> list[int]:
    """Call a service that has a cache, and one that has none."""
    return count.each(clean.each(names, by=by))


def test_results_are_used_again(place: str) -> None:
    """Equal items of one run are computed once, and so are those of later runs; the report counts them."""
    first = solvent.run(flow, store=place)
    assert (first.value, first.reused) == ([1, 1, 1], {})
    assert CALLS == {"clean a": 1, "clean b": 1, "count a": 2, "count b": 1}
    second = solvent.run(flow, {"names": ["b", "c"]}, store=place, name="second")
    assert (second.value, second.reused) == ([1, 1], {"clean": 1})
    assert (CALLS["clean b"], CALLS["clean c"], CALLS["count b"]) == (1, 1, 2)
    with solvent.attach("second", store=place) as run:
        assert run.report().reused == {"clean": 1}


def test_all_services_of_a_run_may_have_one(place: str) -> None:
    """An option says so for a run; without a store there is no cache."""
    for _ in range(2):
        assert solvent.run(flow, store=place, cache=True).value == [1, 1, 1]
    assert CALLS == {"clean a": 1, "clean b": 1, "count a": 1, "count b": 1}
    solvent.run(flow, cache=True)
    assert CALLS["clean a"] == 3


def test_arguments_and_code_count(place: str) -> None:
    """Another named argument, and another function of the same name, is another call."""
    solvent.run(flow, store=place)
    solvent.run(flow, {"by": 2}, store=place)
    assert CALLS["clean b"] == 2

    @service(name="clean", cache=True)
    def other(text: str, *, by: int = 1) -> str:
        CALLS["other"] += 1
        return text * by

    @workflow(name="flow")
    def changed(names: list[str] = NAMES) -> list[int]:
        return count.each(other.each(names, by=1))

    solvent.run(changed, store=place)
    assert CALLS["other"] == 2


def test_a_key_takes_the_place_of_arguments(place: str) -> None:
    """Only what the function says counts."""

    @workflow
    def pages(url: str, token: str) -> str:
        return fetch(url, token=token)

    assert solvent.run(pages, {"url": "u?1", "token": "x"}, store=place).value == "u?1x"
    assert solvent.run(pages, {"url": "u?2", "token": "y"}, store=place).value == "u?1x"
    assert CALLS["fetch"] == 1


def test_failures_are_not_kept(place: str) -> None:
    """A call that failed is made again by the next run."""

    @workflow
    def failing() -> str:
        return refuse("x")

    assert not solvent.run(failing, store=place, check=False).succeeded
    assert solvent.run(failing, store=place).value == "x"
    assert solvent.run(failing, store=place).reused == {"refuse": 1}


def test_two_runs_do_not_compute_the_same_at_a_time(place: str) -> None:
    """The second one waits for what the first one makes."""
    GO.clear()
    with solvent.submit(flow, {"names": ["x"]}, store=place) as first:
        while not CALLS["clean x"]:
            threading.Event().wait(0.01)
        told = threading.Event()
        watch = lambda event: told.set() if event.kind == "missed" else None  # noqa: E731
        with solvent.submit(flow, {"names": ["x"]}, store=place, watch=watch) as second:
            assert told.wait(100)
            GO.set()
            assert first.wait().value == second.wait().value == [1]
    assert CALLS["clean x"] == 1


def test_who_watches_hears_why(place: str) -> None:
    """A call that is made has a reason: it is new, its code or an argument has changed."""
    runs = list[str]()

    def reasons(**inputs: Any) -> list[str]:
        seen: list[str] = []
        runs.append(f"r{len(runs)}")
        watch = lambda event: seen.append(event.text) if event.kind in {"missed", "reused"} else None  # noqa: E731
        solvent.run(flow, inputs, store=place, watch=watch, name=runs[-1])
        return seen

    assert reasons(names=["a"]) == ["clean[0]: it was not called before"]
    assert reasons(names=["a"]) == ["clean[0]: reused from r0"]
    assert reasons(names=["b"]) == ["clean[0]: its argument 0 has changed"]
    assert reasons(names=["b"], by=2) == ["clean[0]: its argument `by` has changed"]


def test_old_results_are_made_again(store: Store) -> None:
    """A result counts for as long as whoever wants it says."""
    one = Cache(store, "r")
    wanted = Wanted(key_of(b"c", b"a"), "s", "t", 3600.0)
    assert one.claim(wanted)
    one.keep("t", codec.encode([1]))
    found = one.find(wanted)
    assert found is not None
    assert one.value_of(found) == [1]
    assert one.find(wanted._replace(max_age=-1.0)) is None


def test_what_another_one_makes_is_claimed(store: Store) -> None:
    """Nobody else may claim it until it is released; the same call may, as its run goes on elsewhere."""
    wanted = Wanted(key_of(b"c", b"b"), "s", "t", 3600.0)
    one, other = Cache(store, "r"), Cache(store, "other")
    assert one.claim(wanted)
    assert not other.claim(wanted)
    assert Cache(store, "r").claim(wanted)
    assert one.claim(wanted)
    one.release("t")
    assert other.claim(wanted)
    one.close()
    other.close()
    assert one.claim(wanted)


def test_a_claim_that_was_left_is_taken_over(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits makes the call after all, once nobody renews the claim."""
    monkeypatch.setattr(cache, "STALE_SECONDS", 0.0)
    wanted = Wanted(key_of(b"c", b"d"), "s", "t", 3600.0)
    left = Cache(store, "left")
    monkeypatch.setattr(left, "_go_on", lambda: None)
    assert left.claim(wanted)
    one, begun = Cache(store, "r"), threading.Event()
    one.wait(wanted, lambda *_: None, begun.set)  # type: ignore[arg-type]
    assert begun.wait(100)
    one.close()


def test_who_does_not_wait_any_more_is_told(store: Store) -> None:
    """A call that is cancelled while it waits ends as cancelled, and is not made."""
    wanted = Wanted(key_of(b"c", b"e"), "s", "t", 3600.0)
    left, one, ends = Cache(store, "left"), Cache(store, "r"), list[Any]()
    assert left.claim(wanted)
    waiting = one.wait(wanted, lambda *end: ends.append(end), lambda: None)
    waiting.cancel()
    waiting.cancel()
    assert [failure.kind for _, failure, _ in ends] == ["CANCELLED"]
    one.close()
    left.close()


def test_the_cache_is_listed_and_cleared(place: str, store: Store) -> None:
    """With the service and the run that made each result."""
    solvent.run(flow, store=place, name="r")
    assert [(one.service, one.run) for _, one in results_in(store)] == [("clean", "r"), ("clean", "r")]
    assert clear(store, older_than=3600.0) == 0
    assert clear(store) == 2
    assert [*results_in(store)] == []


def test_files_say_the_same(place: str) -> None:
    """True, a duration or seconds, for commands as well."""
    text = """\
workflow: w
services:
  a: {shell: "date +%N", cache: true}
  b: {shell: "date +%N", cache: 1d}
  c: {shell: "date +%N", cache: 60}
tasks: {A: {service: a}, B: {service: b}, C: {service: c}}
results: [A, B, C]
"""
    found = load_text(text, name="w.yaml").workflow
    assert load_text(write_yaml(found), name="w.yaml").workflow == found
    assert load_text(write_json(found), name="w.json").workflow == found
    assert solvent.run(found, store=place).results == solvent.run(found, store=place).results
    for wrong in ("soon", "0", "-1"):
        with pytest.raises(WorkflowProblem, match="`cache`"):
            load_text(text.replace("1d", wrong), name="w.yaml")
    with pytest.raises(WorkflowProblem, match="says nothing about a cache"):
        shell("date", cache="soon")
