"""How a run stands, from its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from solvent.cli.timeline import timeline_of
from solvent.runs import events
from solvent.runs.events import (
    Adapted,
    CallAnswered,
    CallFailed,
    CallLost,
    CallStarted,
    Ended,
    ShardClosed,
    ShardTaken,
    SignalReceived,
)
from solvent.runs.projection import Adaptation, CallChanged, Follower, Over, RunView, TaskChanged, view_of
from solvent.runs.registry import existing, journal_of
from tests.unit.runs.agents.flows import adaptive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.runs.events import AnyEvent
    from solvent.store import Store

NAMES = ("one", "two", "spare", "sum")
BROKEN = CallFailed("two", "two", 12.0, 1, "FAILED", "ValueError: no such column")
REPLACED = Adapted("instead", "two", 12.25, "FAILED: ValueError: no such column", ("two",), ("spare",))


def called(call: str, at: float, attempt: int = 1) -> CallStarted:
    """Make a call of the task that its name begins with."""
    return CallStarted(call, call.partition("[")[0].partition("#")[0], at, attempt)


def view(*noted: AnyEvent) -> RunView:
    """Take events of a run that began at 10."""
    found = RunView(NAMES, 10.0, adaptive())
    for event in noted:
        found.take(0, event)
    return found


def states(found: RunView) -> list[str]:
    """Return the states of the tasks, in their order."""
    return [found.states[name] for name in NAMES]


def test_a_call_runs_until_it_is_answered() -> None:
    """A task runs from its call to its answer, and times count from the run's beginning."""
    found = view(called("one", 10.5))
    assert (found.states["one"], [*found.out]) == ("running", ["one"])
    changes = found.take(0, CallAnswered("one", 11.0, 2))
    call = found.calls[0]
    assert (call.began, call.ended, call.state, call.attempts) == (0.5, 1.0, "done", 2)
    assert changes == [CallChanged(call, "done", 1.0), TaskChanged("one", "done")]
    assert not found.out


def test_an_adaptation_is_read_and_not_inferred() -> None:
    """Nothing takes over before the event says so; then tasks are replaced, and others woken."""
    found = view(called("two", 11.0), BROKEN)
    assert states(found)[1:3] == ["failed", "asleep"]
    one, *_ = found.take(0, REPLACED)
    cause = "FAILED: ValueError: no such column"
    assert one == Adaptation(2.25, "instead", "two", cause, ("two",), ("spare",), ("spare",))
    assert states(found)[1:3] == ["replaced", "waiting"]


def test_what_was_replaced_stays_so() -> None:
    """An answer that comes when its task was given up changes the call and not the task."""
    found = view(called("two", 11.0), BROKEN, called("two#2", 12.2), REPLACED, CallAnswered("two#2", 13.0, 1))
    assert found.states["two"] == "replaced"
    assert [call.state for call in found.calls] == ["failed", "done"]


def test_a_task_of_several_calls_is_done_with_the_last() -> None:
    """A task runs while one of its calls is out, and has failed when one of them has."""
    found = view(called("one[0]", 11.0), called("one[1]", 11.0), CallAnswered("one[0]", 12.0, 1))
    assert found.states["one"] == "running"
    found.take(0, CallFailed("one[1]", "one", 12.0, 1, "TIMEOUT", "after 1 s"))
    assert (found.states["one"], found.calls[1].text) == ("failed", "TIMEOUT: after 1 s")


def test_further_attempts_are_kept_with_their_call() -> None:
    """When a call was tried again is known, how often, and why."""
    failed = CallFailed("one", "one", 11.25, 1, "FAILED", "no", is_last=False)
    found = view(called("one", 11.0))
    assert found.take(0, failed) == [CallChanged(found.calls[0], "attempted", 1.25, "no")]
    found.take(0, called("one", 11.5, 2))
    found.take(0, called("one", 12.0, 3))
    assert (found.calls[0].retried, found.calls[0].attempts, found.states["one"]) == ([1.5, 2.0], 3, "running")
    assert len(found.calls) == 1


def test_calls_of_a_process_that_is_gone_are_interrupted() -> None:
    """Who takes a shard anew has calls before it for which nobody waits; they are repeated, and counted."""
    found = view(ShardTaken("first", 10.0), called("one", 11.0), ShardTaken("second", 20.0))
    assert (found.states["one"], found.calls[0].state, found.calls[0].ended) == ("waiting", "interrupted", 10.0)
    assert [(one.agent, one.is_again) for one in found.takings] == [("first", False), ("second", True)]
    found.take(0, called("one", 21.0))
    assert ([one.is_repeated for one in found.calls], found.called_again) == ([False, True], {"one": 1})


def test_a_delay_goes_on_while_its_process_is_gone() -> None:
    """Who takes a shard anew waits for the rest of a delay: its call is neither lost nor repeated."""
    delay = CallStarted("one", "one", 11.0, is_delay=True)
    left = view(ShardTaken("first", 10.0), delay)
    left.interrupt()
    assert left.states["one"] == "waiting"
    found = view(ShardTaken("first", 10.0), delay, ShardTaken("second", 20.0), CallAnswered("one", 25.0, 1))
    assert [(one.began, one.ended, one.state) for one in found.calls] == [(1.0, 15.0, "done")]
    assert found.called_again == {}


def test_who_resumes_its_own_shard_has_lost_no_calls() -> None:
    """The process that had the shard before goes on with the calls that are out; those of other shards are too."""
    found = view(ShardTaken("first", 10.0), called("one", 11.0), ShardTaken("first", 20.0, 2, resumed=True))
    assert found.states["one"] == "running"
    found.take(1, ShardTaken("second", 21.0))
    assert found.states["one"] == "running"


def test_a_call_that_was_given_back_waits_again() -> None:
    """A call that its agent has ended in order to leave is not counted as failed."""
    found = view(called("one", 11.0), CallLost("one", 12.0))
    assert (found.states["one"], found.calls[0].state) == ("waiting", "withdrawn")


def test_a_call_that_was_never_made_has_an_end_only() -> None:
    """One that was cancelled before it began, or was lost too often, is there with no attempt."""
    found = view(CallFailed("one", "one", 11.0, 0, "LOST", "too often"))
    assert (found.states["one"], found.calls[0].attempts, found.calls[0].text) == ("failed", 0, "LOST: too often")


def test_the_end_says_what_calls_do_not() -> None:
    """At the end, states are what the run came to, and what is left out is interrupted."""
    closed = ShardClosed(13.0, {"one": "done", "sum": "waiting"}, {}, {}, stuck=["sum waits"])
    found = view(called("two", 11.0), closed)
    assert found.take(0, Ended("failed", 13.0))[-1] == Over(3.0, "failed")
    assert (states(found), found.stuck) == (["done", "interrupted", "asleep", "waiting"], ["sum waits"])


def test_one_of_several_shards_does_not_know_what_others_replaced() -> None:
    """A shard that says a task has failed, or waits, does not undo what is known of alternatives of others."""
    found = view(called("two", 11.0), BROKEN, REPLACED)
    found.take(1, ShardTaken("second", 12.5))
    found.take(0, ShardClosed(13.0, {"two": "failed", "one": "done"}, {}, {}))
    assert found.states["two"] == "replaced"
    asleep = view()
    asleep.take(0, ShardClosed(13.0, {"spare": "waiting"}, {}, {}))
    assert asleep.states["spare"] == "unused"


def test_a_cancelled_run_has_cancelled_calls() -> None:
    """What was called and has no answer was ended with the run."""
    found = view(called("one", 11.0), Ended("cancelled", 12.0))
    assert (found.states["one"], found.calls[0].state) == ("cancelled", "cancelled")


def test_events_of_unknown_tasks_are_left_out() -> None:
    """A journal that does not fit the workflow breaks nothing."""
    assert view().take(0, called("nobody", 11.0)) == []
    assert view().take(0, CallAnswered("nobody", 11.0, 1)) == []


CALLS = st.sampled_from(["one", "two", "spare", "sum", "one#2", "two[3]", "other"])
TIMES = st.floats(5, 50)
EVENTS = st.one_of(
    st.builds(called, CALLS, TIMES, st.integers(1, 2)),
    st.builds(CallLost, CALLS, TIMES),
    st.builds(CallAnswered, CALLS, TIMES, st.integers(0, 3)),
    st.builds(
        lambda one, at, is_last: CallFailed(one.call, one.task, at, 1, "FAILED", "x", is_last=is_last),
        st.builds(called, CALLS, TIMES),
        TIMES,
        st.booleans(),
    ),
    st.builds(ShardTaken, st.sampled_from(["a", "b"]), TIMES, resumed=st.booleans()),
    st.just(REPLACED),
    st.builds(lambda at: ShardClosed(at, {"one": "done", "spare": "waiting"}, {}, {}), TIMES),
    st.builds(Ended, st.sampled_from(["done", "cancelled"]), TIMES),
)


@given(st.lists(st.tuples(st.integers(0, 1), EVENTS), max_size=30), st.integers(0, 30))
def test_a_state_and_what_follows_is_all(noted: Sequence[tuple[int, AnyEvent]], cut: int) -> None:
    """Whoever knows the states and calls at some moment, and then each change, knows those at the end."""
    found = RunView(NAMES, 10.0, adaptive())
    for one in noted[:cut]:
        found.take(*one)
    known, calls, adaptations = dict(found.states), [_shown(one) for one in found.calls], [*found.adaptations]
    for one in noted[cut:]:
        for change in found.take(*one):
            if isinstance(change, TaskChanged):
                known[change.task] = change.state
            elif isinstance(change, CallChanged):
                calls[change.call.number : change.call.number + 1] = [_shown(change.call)]
            elif isinstance(change, Adaptation):
                adaptations.append(change)
    assert (known, calls, adaptations) == (found.states, [_shown(one) for one in found.calls], found.adaptations)


def _shown(call: Any) -> tuple[Any, ...]:
    return call.number, call.call, call.state, call.began, call.ended, call.attempts, tuple(call.retried), call.text


def test_a_follower_reads_each_event_once(store: Store) -> None:
    """What several shards have recorded is read in the order of the store, and nothing twice."""
    from solvent.runs.agents.shards import submit

    record = submit(store, "r1", adaptive(), {})
    follower = Follower(store, record, adaptive())
    _note(store, 0, ShardTaken("a1", record.created + 0.5), called("one", record.created + 1))
    assert [type(one) for one in follower.news()][-2:] == [CallChanged, TaskChanged]
    _note(store, 1, called("two", record.created + 2))
    _note(store, 0, CallAnswered("one", record.created + 3, 1))
    assert [one.task for one in follower.news() if isinstance(one, TaskChanged)] == ["two", "one"]
    assert [*follower.news()] == []
    assert follower.view.out["two"].shard == 1
    assert view_of(store, existing(store, "r1")).states == follower.view.states


def _note(store: Store, shard: int, *some: Any) -> None:
    store.append(journal_of("r1", shard), events.encode([*some], max_bytes=1_000_000, put_blob=store.put_blob))


# --- As a picture.

TOLD = (
    ShardTaken("host:1", 10.0),
    called("one", 10.5),
    called("one", 11.0, 2),
    CallFailed("one", "one", 11.5, 2, "FAILED", "exit code 3"),
    Adapted("off", "one", 11.5, "FAILED", ("one",), ("spare",)),
    called("sum", 12.0),
    ShardTaken("host:2", 13.0),
    called("sum", 13.0),
    SignalReceived("go", 13.5, b""),
    CallAnswered("sum", 14.0, 1),
    Ended("done", 14.0),
)


def test_what_still_runs_reaches_to_the_end() -> None:
    """A call without an answer has no end, and its bar goes on to the last moment."""
    found = view(*TOLD[:6])
    assert found.calls[-1].ended is None
    assert timeline_of("run", found).rows[-1].bars[0].ended == found.seconds == 2.0


def test_what_is_said_of_a_task() -> None:
    """A row says how long a task took, in how many calls and attempts, and why it failed."""
    rows = timeline_of("run", view(*TOLD)).rows
    assert [row.note for row in rows] == ["replaced, 1 s, 2 attempts: exit code 3", "2 s, 2 calls"]


def test_alternatives_and_signals_are_moments() -> None:
    """They stand in the order in which they came; tasks that were never called are counted."""
    drawn = timeline_of("run", view(*TOLD))
    assert [one.text for one in drawn.moments] == ["off: spare instead of one, because of one", "signal go"]
    assert drawn.title == "run; 2 of 4 tasks were not called"
