"""Python functions as services: how they are found, and asynchronous ones."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from solvent.errors import WorkflowProblem
from solvent.services import Caller, Failure, cancelled, heartbeat
from solvent.services.python import function_of
from solvent.workflows.model import Service
from tests.unit.services.outcomes import LONG, Time, call, python, start, wait_until

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "target, code, text",
    [
        ("", "W170", "service `s` names no function"),
        ("join", "W170", "service `s` names no function"),
        ("no_such_module:f", "W171", "service `s`: module `no_such_module` cannot be imported: ModuleNotFoundError"),
        ("os:no_such", "W172", "service `s`: module `os` has no `no_such`"),
        ("os:sep", "W173", "service `s`: `os:sep` is a str, not a function"),
    ],
)
def test_a_wrong_target_is_a_problem_of_the_workflow(target: str, code: str, text: str) -> None:
    """A target that leads nowhere is told with service and reason."""
    with pytest.raises(WorkflowProblem) as caught:
        function_of(Service("s", target=target))
    assert caught.value.code == code
    assert caught.value.message.startswith(text)


def test_a_module_that_raises_is_a_problem_of_the_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that fails when it is imported is told with what it raised."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "raising_module.py").write_text("1 / 0\n")
    with pytest.raises(WorkflowProblem, match="ZeroDivisionError: division by zero"):
        function_of(Service("s", target="raising_module:f"), tmp_path)


def test_modules_beside_the_workflow_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in the workflow's folder needs no installation, and may import its neighbours when it runs."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "neighbour_module.py").write_text("VALUE = 7\n")
    (tmp_path / "beside_module.py").write_text(
        "def f():\n    import neighbour_module\n    return neighbour_module.VALUE\n"
    )
    assert function_of(Service("s", target="beside_module:f"), tmp_path)() == 7


def test_a_namesake_from_elsewhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a module beside the workflow is hidden by one of the same name, this is told instead of taking the other."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "namesake_module.py").write_text(f"def f(): return {name!r}\n")
    assert function_of(Service("s", target="namesake_module:f"), tmp_path / "one")() == "one"
    with pytest.raises(WorkflowProblem, match="another module `namesake_module` is already imported"):
        function_of(Service("s", target="namesake_module:f"), tmp_path / "two")


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def fail() -> None:
    await asyncio.sleep(0)
    raise SystemExit(3)


async def hang() -> None:
    await asyncio.sleep(LONG)


class Callable:
    """An object with an asynchronous `__call__`."""

    async def __call__(self, number: int) -> int:
        """Double a number."""
        return await double(number)


@pytest.mark.parametrize("function", [double, functools.partial(double), Callable()])
def test_an_asynchronous_function_is_awaited(function: object) -> None:
    """The result of an `async def` function, a partial one, or an object's, is what it returns in the end."""
    with Caller([python(function)]) as caller:  # type: ignore[arg-type]
        assert call(caller, "s", 4).wait() == (8, None, 1)


def test_no_loop_without_need() -> None:
    """The loop's thread is started by the first asynchronous call only."""
    with Caller([python(double), python(len, "len")]) as caller:
        call(caller, "len", "abc").value()
        assert caller.loop._thread is None
        call(caller, "s", 1).value()
        assert caller.loop._thread is not None


def test_many_run_at_once() -> None:
    """A thousand asynchronous calls can wait for each other in one thread."""
    waiting, threads = list[int](), set[int]()
    all_here = asyncio.Event()

    async def work() -> int:
        waiting.append(1)
        threads.add(threading.get_ident())
        if len(waiting) == 1_000:
            all_here.set()
        await all_here.wait()
        return len(waiting)

    with Caller([python(work)]) as caller:
        assert {one.value() for one in [call(caller) for _ in range(1_000)]} == {1_000}
    assert len(threads) == 1


def test_even_an_exit_is_a_failure() -> None:
    """`SystemExit` in an asynchronous function fails the call, and the loop goes on."""
    with Caller([python(fail), python(double, "double")]) as caller:
        assert call(caller).failure().text == "SystemExit: 3"
        assert call(caller, "double", 1).value() == 2


def test_cancelling_cancels_the_task() -> None:
    """A cancelled asynchronous function gets a `CancelledError`."""
    begun, ended = threading.Event(), list[object]()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            ended.append(cancelled())
            raise

    with Caller([python(work)]) as caller:
        outcome, handle = start(caller)
        assert begun.wait(LONG)
        handle.cancel()
        assert outcome.failure() == Failure("CANCELLED", "cancelled")
        wait_until(lambda: ended == [True])
    assert len(outcome.reports) == 1


def test_a_hanging_one_takes_too_long() -> None:
    """A time-out ends an asynchronous call."""
    with Caller([python(hang, timeout=0.05)]) as caller:
        assert call(caller).failure() == Failure("TIMEOUT", "no result after 0.05 s")


def test_signs_of_life_are_told_apart(time_: Time) -> None:
    """Of two asynchronous calls in one thread, the one that gives signs of life survives."""
    go, signs = threading.Event(), {True: 0, False: 0}

    async def work(*, alive: bool) -> str:
        while not go.is_set():
            if alive:
                heartbeat()
            signs[alive] += 1
            await asyncio.sleep(0.001)
        return "done"

    with Caller([python(work, heartbeat=60)]) as caller:
        living, silent = call(caller, alive=True), call(caller, alive=False)
        wait_until(lambda: all(signs.values()))
        for _ in range(4):
            time_.passes(40, caller.clock)
            # The next count may belong to a sign that was given before.
            before = signs[True] + 1
            wait_until(lambda before=before: signs[True] > before)
        assert silent.failure().text == "no heartbeat for 60 s"
        go.set()
        assert living.value() == "done"


def test_closing_with_cancel_ends_all() -> None:
    """Closing with `cancel` reports asynchronous calls as cancelled."""
    caller = Caller([python(hang)])
    outcomes = [call(caller) for _ in range(10)]
    caller.close(cancel=True)
    assert [one.failure().kind for one in outcomes] == ["CANCELLED"] * 10
