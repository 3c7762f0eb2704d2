"""Worker processes: calls, functions without a name, and frames."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import solvent
from solvent import service, workflow
from solvent.services import Caller, Failure
from solvent.services.function_codec import pack_function
from solvent.services.processes import Parcel, WorkerProcess
from solvent.services.threads import Single, Threads
from solvent.services.worker import Frames, frame, header
from tests.unit.services import functions
from tests.unit.services.outcomes import LONG, Time, call, python, start, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable


def is_alive(process: int) -> bool:
    """Tell whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_calls_run_in_other_processes() -> None:
    """A function runs in a worker process, and its result comes back."""
    with Caller([python(functions.process_id)], jobs=1, processes=True) as caller:
        first, second = call(caller).value(), call(caller).value()
    assert first == second != os.getpid()
    assert not is_alive(first)


def test_many_calls_each_have_their_result() -> None:
    """A thousand calls on two workers give a thousand results, each its own."""
    with Caller([python(functions.double)], jobs=2, processes=True) as caller:
        outcomes = [call(caller, "s", number) for number in range(1_000)]
    assert [one.reports for one in outcomes] == [[(2 * number, None, 1)] for number in range(1_000)]


def test_a_killed_worker_loses_its_call_only() -> None:
    """A call that kills its worker is lost; those that waited behind it run in another worker."""
    services = [python(functions.die, "die"), python(functions.double)]
    with Caller(services, jobs=1, processes=True) as caller:
        lost = call(caller, "die")
        outcomes = [call(caller, "s", number) for number in range(30)]
        failure = lost.failure()
        assert [one.value() for one in outcomes] == [2 * number for number in range(30)]
    assert failure.kind == "LOST"
    assert failure.text.endswith("was killed by SIGKILL")


def test_a_lost_call_is_retried(tmp_path: Path) -> None:
    """A call that was lost with its worker is tried again if the policy says so."""
    with Caller([python(functions.die_once, retries=1, backoff=0.0)], processes=True) as caller:
        assert call(caller, "s", str(tmp_path / "mark")).wait() == ("alive", None, 2)


def test_an_idle_worker_that_is_killed_is_not_missed() -> None:
    """A worker that dies without a call harms nobody."""
    with Caller([python(functions.process_id)], jobs=1, processes=True) as caller:
        first = call(caller).value()
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not is_alive(first))
        outcome = call(caller)
        # The pool may notice the death only after it has given the call away; then the call is lost with it.
        value, failure, _ = outcome.wait()
        assert value not in {None, first} or (failure is not None and failure.kind == "LOST")
        assert call(caller).value() != first


@pytest.mark.parametrize("how", ["timeout", "heartbeat", "cancel"])
def test_a_stopped_call_is_killed(how: str, tmp_path: Path, time_: Time) -> None:
    """A call that takes too long, is silent, or is cancelled ends with its process, and the next one is served."""
    mark = tmp_path / "mark"
    policy = {} if how == "cancel" else {how: 60}
    services = [python(functions.note_and_sleep, **policy), python(functions.double, "double")]
    with Caller(services, jobs=1, processes=True) as caller:
        outcome, handle = start(caller, "s", str(mark), LONG)
        behind = call(caller, "double", 3)
        wait_until(lambda: mark.exists() and mark.read_text())
        if how == "cancel":
            handle.cancel()
        else:
            time_.passes(61, caller.clock)
        assert outcome.failure().kind == ("CANCELLED" if how == "cancel" else "TIMEOUT")
        wait_until(lambda: not is_alive(int(mark.read_text())))
        assert behind.value() == 6
    assert len(outcome.reports) == 1


def test_signs_of_life_come_through(tmp_path: Path, time_: Time) -> None:
    """A function in a worker process that gives signs of life is left alone."""
    with Caller([python(functions.wait_for, heartbeat=60)], processes=True) as caller:
        outcome = call(caller, "s", str(tmp_path / "go"))
        for _ in range(4):
            time_.wait_for_sign(caller)
            time_.passes(40, caller.clock)
        (tmp_path / "go").touch()
        assert outcome.value() == "done"


def test_calls_do_not_wait_behind_a_long_one() -> None:
    """Calls that were given to a worker in advance go to another one when they would wait behind a long call."""
    services = [python(functions.sleep), python(functions.process_id, "quick")]
    with Caller(services, jobs=2, processes=True) as caller:
        for one in [call(caller, "s", 0.1), call(caller, "s", 0.1)]:
            one.value()  # Both workers are there now.
        long = call(caller, "s", LONG)
        quick = [call(caller, "quick") for _ in range(12)]
        assert len({one.value() for one in quick}) <= 2
        assert long.reports == []
        caller.close(cancel=True)
    assert long.failure().kind == "CANCELLED"


def test_a_call_given_in_advance_can_be_cancelled(tmp_path: Path) -> None:
    """A call that waits behind another one in a worker does not run after it was cancelled."""
    mark, go = tmp_path / "mark", tmp_path / "go"
    services = [python(functions.wait_for), python(functions.note_and_sleep, "note")]
    with Caller(services, jobs=1, processes=True) as caller:
        first = call(caller, "s", str(go))
        outcome, handle = start(caller, "note", str(mark), 0.0)
        wait_until(lambda: handle.seat.worker is not None)
        handle.cancel()
        assert outcome.failure() == Failure("CANCELLED", "cancelled")
        # When the worker has given it back.
        wait_until(lambda: handle.seat.worker is None)
        go.touch()
        assert first.value() == "done"
    assert not mark.exists()


@pytest.mark.parametrize(
    "function, text",
    [
        (functions.leave, "SystemExit: 3"),
        (functions.interrupt, "KeyboardInterrupt"),
        (functions.make_lock, "its result cannot be passed between processes: TypeError: cannot pickle"),
    ],
)
def test_what_a_function_does_fails_its_call_only(function: Callable[..., object], text: str) -> None:
    """An exit, an interrupt and a result that cannot be passed on fail the call, and the worker survives."""
    with Caller([python(function), python(functions.process_id, "pid")], jobs=1, processes=True) as caller:
        before = call(caller, "pid").value()
        failure = call(caller).failure()
        assert failure.kind == "FAILED"
        assert failure.text.startswith(text)
        assert call(caller, "pid").value() == before


def test_arguments_that_cannot_be_passed_fail_the_call() -> None:
    """An argument that cannot be pickled is a failure with a clear cause."""
    with Caller([python(functions.double)], processes=True) as caller:
        failure = call(caller, "s", functions.make_lock()).failure()
        assert failure.text.startswith("its arguments cannot be passed between processes: TypeError: cannot pickle")


def test_large_values_pass() -> None:
    """Arguments and results far larger than a pipe come through whole."""
    data = os.urandom(5_000_000)
    with Caller([python(bytes)], jobs=1, processes=True) as caller:
        outcomes = [call(caller, "s", data) for _ in range(5)]
        assert all(one.value() == data for one in outcomes)


def test_a_function_behind_a_decorator_is_found() -> None:
    """A function whose name in its module belongs to a decorator's object is found behind it."""
    function = functions.hidden.__wrapped__  # type: ignore[attr-defined]
    with Caller([python(function)], processes=True) as caller:
        assert call(caller, "s", 1).value() == 2


def test_a_function_of_the_main_script_is_found(tmp_path: Path) -> None:
    """Functions of a script that is run, also one beside it, work in worker processes; prints go where they went."""
    script = tmp_path / "script.py"
    (tmp_path / "beside.py").write_text("def triple(x): return 3 * x\n")
    script.write_text(
        "from queue import SimpleQueue\n"
        "from solvent.services import Caller\n"
        "from solvent.workflows.model import Service\n"
        "def double(x):\n"
        "    print('inside', flush=True)\n"
        "    return 2 * x\n"
        "if __name__ == '__main__':\n"
        "    services = [Service('double', function=double), Service('triple', target='beside:triple')]\n"
        "    outcomes = SimpleQueue()\n"
        "    with Caller(services, processes=True, jobs=1) as caller:\n"
        "        for name in ('double', 'triple'):\n"
        "            caller.start(name, 't', [21], {}, lambda *outcome: outcomes.put(outcome))\n"
        "            print(outcomes.get(), flush=True)\n"
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=LONG, check=False)
    assert (run.stdout, run.stderr) == ("inside\n(42, None, 1)\n(63, None, 1)\n", "")


NESTED = """\
import dataclasses

import solvent


@dataclasses.dataclass
class Point:
    x: int


@solvent.service
def step(point):
    return Point(point.x + 1)


@solvent.workflow
def inner(point):
    return step(point)


@solvent.service
def outer(point):
    report = solvent.run(inner, {"point": point}, jobs=1, processes=True)
    return report.results.get("step", report.failures)


@solvent.workflow
def whole(point):
    return outer(point)


report = solvent.run(whole, {"point": Point(1)}, jobs=1, processes=True)
print(report.results or report.failures, isinstance(report.value, Point))
"""


@pytest.mark.parametrize("words", [("script.py",), ("-m", "script"), ("-",)], ids=" ".join)
def test_workers_of_workers_know_the_main_script(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A worker's own workers have functions and classes of the main script, which no process runs again."""
    (tmp_path / "script.py").write_text(NESTED)
    with (tmp_path / "script.py").open() as script:
        run = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, stdin=script, capture_output=True, text=True, timeout=LONG,
            check=False,
        )  # fmt: skip
    assert (run.stdout, run.stderr) == ("{'outer': Point(x=2)} True\n", "")


def test_workers_end_with_the_main_process(tmp_path: Path) -> None:
    """When the main process is killed, a worker ends too, even in the middle of a call."""
    script, mark = tmp_path / "script.py", tmp_path / "mark"
    script.write_text(
        "import time\n"
        "from solvent.services import Caller\n"
        "from solvent.workflows.model import Service\n"
        "from tests.unit.services.functions import note_and_sleep\n"
        "if __name__ == '__main__':\n"
        "    caller = Caller([Service('s', function=note_and_sleep)], processes=True, jobs=1)\n"
        f"    caller.start('s', 't', [{str(mark)!r}, {LONG}], {{}}, print)\n"
        f"    time.sleep({LONG})\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen([sys.executable, str(script)], env=environment) as main:
        wait_until(lambda: mark.exists() and mark.read_text())
        main.kill()
    wait_until(lambda: not is_alive(int(mark.read_text())))


def test_a_worker_that_cannot_give_calls_back_ends(tmp_path: Path) -> None:
    """A worker that is asked for its calls by a main process that is gone since then ends, in the middle of a call."""
    mark = tmp_path / "mark"
    worker = WorkerProcess()
    attempt = Single(functions.note_and_sleep, [], {}, print, Threads())
    payload = pickle.dumps(([str(mark), LONG], {}))
    worker.give(Parcel(0, payload, attempt), pack_function("s", functions.note_and_sleep))
    try:
        wait_until(lambda: worker.flush() and mark.exists() and mark.read_text())
        os.close(worker.results)
        worker.ask_back()
        wait_until(lambda: not is_alive(worker.process.pid))
    finally:
        worker.kill()
        worker.results = os.open(os.devnull, os.O_RDONLY)
        worker.close()


def test_workers_that_cannot_start_fail_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """If workers die before they are ready, the calls are lost instead of waiting for ever."""
    monkeypatch.setattr("solvent.services.processes._START", "import sys; sys.exit(7)")
    with Caller([python(functions.double)], jobs=2, processes=True) as caller:
        failures = [one.failure() for one in [call(caller, "s", number) for number in range(5)]]
    assert {failure.kind for failure in failures} == {"LOST"}
    assert all("exit code 7" in failure.text for failure in failures)


def test_asynchronous_functions_stay_here() -> None:
    """An `async def` function runs in the event loop of this process."""

    async def work() -> int:
        return os.getpid()

    with Caller([python(work)], processes=True) as caller:
        assert call(caller).value() == os.getpid()


def _local(factor: int) -> Any:
    """Make a workflow of a lambda, of a function that closes over a value, and of one that calls itself."""
    more = service(lambda x: x + 1)

    @service
    def times(x: int) -> int:
        return factor * x

    @service
    def factorial(x: int) -> int:
        return x * factorial(x - 1) if x > 1 else 1

    @workflow
    def flow(x: int) -> int:
        return factorial(times(more(x)))

    return flow


def test_lambdas_and_local_functions_run_in_worker_processes() -> None:
    """Services made of a lambda or of a local function run in worker processes."""
    report = solvent.run(_local(2), {"x": 1}, jobs=1, processes=True)
    assert list(report.results.values()) == [24], report.failures


def test_a_file_with_the_name_of_another_module_runs_in_worker_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions of a file whose name is that of a module of the library go to worker processes by value."""
    # The folder of the file is put there for good, and later tests start processes with it.
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "json.py").write_text(
        "from solvent import service, workflow\n"
        "more = service(lambda n: one + n, name='more')\n"
        "@service\n"
        "def double(n): return 2 * n\n"
        "@workflow\n"
        "def flow(n): return double(more(n))\n"
        "one = 1\n"
    )
    assert solvent.run(solvent.load_python(tmp_path / "json.py"), {"n": 1}, jobs=1, processes=True).value == 4


def test_a_function_that_cannot_be_sent_is_refused() -> None:
    """A function that keeps what no process can pass on is refused before anything runs."""
    lock = threading.Lock()
    locked = service(lambda: not lock.locked())

    @workflow
    def flow() -> bool:
        return locked()

    with pytest.raises(solvent.SolventError) as caught:
        solvent.run(flow, processes=True)
    assert caught.value.code == "W176"
    assert "cannot pickle '_thread.lock' object" in caught.value.message


FRAMES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2**64 - 1), st.binary(max_size=200)), max_size=8)


@given(sent=FRAMES, sizes=st.lists(st.integers(1, 60), min_size=1))
def test_frames_arrive_whole(sent: list[tuple[int, int, bytes]], sizes: list[int]) -> None:
    """However the bytes are cut, the same frames come out in the same order."""
    data = b"".join(frame(*one) for one in sent)
    frames, seen, turn = Frames(), list[tuple[int, int, bytes | bytearray | None]](), 0
    while data:
        size = sizes[turn % len(sizes)]
        seen += frames.feed(data[:size])
        data, turn = data[size:], turn + 1
    assert seen == sent


def test_a_frame_without_room_is_left_out() -> None:
    """A frame for which there is no memory comes without its payload, and the frames behind it come whole."""
    length = sys.maxsize // 2
    frames = Frames()
    assert frames.feed(header(3, 1, length) + b"some") == []
    frames._arrived = length - 2
    assert frames.feed(b"so" + frame(3, 2, b"next")) == [(3, 1, None), (3, 2, b"next")]
