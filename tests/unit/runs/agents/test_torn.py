"""An agent that an error ends amid anything: what it has written is whole, and others come to the right end.

The error is none that anybody expects (a fault in Solvent, no memory, Ctrl-C at a bad moment). It is raised at lines of
the code that has to do with places and journals, which are drawn at random.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.runs.agents.agent import Agent
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.closed_shards import report_of
from solvent.runs.embedded import run_workflow
from solvent.runs.events import CallAnswered, CallFailed, CallLost, CallStarted
from solvent.runs.journal import read_journal
from solvent.runs.registry import existing, journal_of
from solvent.workflows.model import Alternative, Result, Task, Value
from tests.property.amounts import examples
from tests.unit.runs.agents.flows import store_at, workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.store import Store

PLACES, WIDTH = 4, 6
MANY = range(WIDTH)
FLOW = workflow(
    Task("one", "add", (Value(1), Value(2))),
    Task("two", "broken", (Result("one"),)),
    Task("spare", "add", (Result("one"), Value(10))),
    Task("sum", "add", (Result("one"), Result("two"))),
    *(Task(f"a{one}", "add", (Value(one),)) for one in MANY),
    *(Task(f"b{one}", "add", (Result(f"a{one}"), Result(f"a{(one + 1) % WIDTH}"))) for one in MANY),
    Task("end", "add", (*(Result(f"b{one}") for one in MANY), Result("sum"))),
    alternatives=(Alternative("instead", {"two": "spare"}),),
)


class Torn(BaseException):
    """An error that nobody expects."""


class Lines:
    """Counts lines of agents and records that are executed, in a context, and raises an error at one of them."""

    def __init__(self, at: int = 0) -> None:
        self.count = 0
        self._at = at

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _enter(self, frame: Any, _event: str, _argument: Any) -> Callable[..., Any] | None:
        path = frame.f_code.co_filename
        return self._line if "/runs/agents/" in path or "/runs/records/" in path else None

    def _line(self, _frame: Any, event: str, _argument: Any) -> Callable[..., Any]:
        self.count += event == "line"
        if self.count == self._at:
            self._at = 0
            raise Torn
        return self._line


def _work(store: Store) -> None:
    # By one name, so that nobody waits until the first one is presumed dead.
    agent = Agent(store, "a", offers_of([FLOW]), ttl=60.0)
    limit = threading.Timer(60.0, agent.stop)
    limit.start()
    try:
        agent.run(until_idle=True)
    finally:
        limit.cancel()


def _wrong_calls(store: Store, place: int) -> Iterator[str]:
    called, answered = Counter[str](), set[str]()
    for _, one in read_journal(store, journal_of("r1", place)):
        if isinstance(one, CallStarted):
            called[one.call] += 1
            if one.call in answered:
                yield f"{one.call} is called again"
        elif isinstance(one, CallAnswered | CallFailed | CallLost) and not called[one.call]:
            yield f"{one.call} has ended, and was not called"
        if isinstance(one, CallAnswered | CallFailed):
            answered.add(one.call)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Say how many lines a run takes."""
    with store_at(tmp_path_factory.mktemp("lines")) as store, Lines() as lines:
        submit(store, "r1", FLOW, {}, max_shards=PLACES)
        _work(store)
    return lines.count


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore:coroutine:RuntimeWarning")
@examples(40)
@given(number=st.integers(0, 1_000_000))
def test_an_error_anywhere_leaves_no_hole(lines: int, number: int) -> None:
    """Whoever goes on comes to what one process comes to, and calls nothing that has an answer."""
    with (
        TemporaryDirectory() as folder,
        store_at(Path(folder)) as store,
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr("solvent.runs.agents.agent.WATCH_SECONDS", 0.01)
        submit(store, "r1", FLOW, {}, max_shards=PLACES)
        with suppress(Torn), Lines(at=1 + number % lines):
            _work(store)
        _work(store)
        ending, report, alone = existing(store, "r1"), report_of(store, existing(store, "r1"), FLOW), run_workflow(FLOW)
        assert report is not None
        assert (ending.state, report.results, report.states) == ("done", alone.results, alone.states)
        assert [one for place in range(PLACES) for one in _wrong_calls(store, place)] == []
