"""A machine in a host that works when somebody waits: one node alone."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import Misuse
from solvent.net import Codec, Identity, Journal
from solvent.net.direct import DirectHost
from solvent.net.direct.shield import SHIELD
from solvent.protocols.machine import (
    Answered,
    Ask,
    CancelTimer,
    Choose,
    Chosen,
    Report,
    Save,
    Send,
    SetTimer,
    TimerFired,
)
from tests.live.direct_nodes import eventually
from tests.unit.net.scripted import A, Scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType


class Listener:
    """Remembers what it is told, and may do something about it."""

    def __init__(self) -> None:
        self.outcomes = list[Any]()
        self.then: Callable[[Any], None] = lambda _: None

    def told(self, outcome: Any) -> None:
        """Remember it."""
        self.outcomes.append(outcome)
        self.then(outcome)

    def answer(self, question: Any) -> Any:
        """Answer with what was told so far."""
        return (question, len(self.outcomes))

    def lost(self, peer: Any, why: str) -> None:
        """Nobody is watched here."""
        raise NotImplementedError(peer, why)


class Alone:
    """Makes hosts of one node, and closes them."""

    def __init__(self) -> None:
        self.ears = Listener()
        self.hosts = list[DirectHost[Any]]()

    def start(self, effects: dict[Any, tuple[Any, ...]], **options: Any) -> DirectHost[Any]:
        """Start a node whose machine has these effects."""
        host = DirectHost(
            Scripted(lambda what: effects.get(what, ())),
            Identity(A, "test"),
            Codec(str),
            listen=("127.0.0.1", 0),
            application=self.ears,
            **options,
        )
        self.hosts.append(host)
        host.start()
        return host


def _is_interrupted_at(number: int, what: Callable[[], object]) -> bool:
    """Do something, and interrupt it where Python looks for signals for this time; tell whether it does so often.

    It looks when a function begins, and behind each call of a function that is not written in Python.
    """
    places = count(1)
    is_sent = False

    def look(_: FrameType, event: str, __: Any) -> None:
        nonlocal is_sent
        if event in ("call", "c_return") and next(places) == number:
            is_sent = True
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    before = sys.getprofile()
    # Python ignores what is raised in a callback of its collector.
    gc.disable()
    try:
        sys.setprofile(look)
        what()
    except KeyboardInterrupt:
        assert is_sent
    else:
        assert not is_sent, "it was lost"
    finally:
        sys.setprofile(before)
        gc.enable()
    return is_sent


@pytest.fixture(name="alone")
def _alone() -> Iterator[Alone]:
    alone = Alone()
    yield alone
    for host in alone.hosts:
        host.close()


def test_questions_and_chance_are_answered_before_anything_else(alone: Alone) -> None:
    """Also before what the node says to itself; an answer knows what was told before."""
    host = alone.start({"go": (Report("first"), Send(A, "to myself"), Ask("what?"), Choose(1))})
    host.request("go")
    assert host.state[3:] == (Answered(("what?", 1)), Chosen(0), (A, "to myself"))


def test_what_is_wanted_while_something_is_told_comes_behind_it(alone: Alone) -> None:
    """Steps never interleave."""
    host = alone.start({"go": (Report("gone"), Send(A, "word"))})
    alone.ears.then = lambda _: host.request("more")
    host.request("go")
    assert host.state[2:] == ("go", "more", (A, "word"))


def test_timers_run_out_while_nobody_waits(alone: Alone) -> None:
    """The deputy sees to it; one that was stopped never does."""
    host = alone.start({"go": (SetTimer("a", 1), SetTimer("b", 1), CancelTimer("b")), TimerFired("a"): (Report("a"),)})
    host.request("go")
    eventually(lambda: alone.ears.outcomes == ["a"])
    assert TimerFired("b") not in host.state


def test_who_waits_has_timers_run_out_itself(alone: Alone) -> None:
    """In its own thread."""
    threads = set[int]()
    host = alone.start({"go": (SetTimer("a", 20),), TimerFired("a"): (Report("a"),)})
    alone.ears.then = lambda _: threads.add(threading.get_ident())
    host.request("go")
    assert host.wait(lambda: bool(alone.ears.outcomes), 200)
    assert threads == {threading.get_ident()}


def test_several_threads_wait_and_each_is_woken_for_its_own(alone: Alone) -> None:
    """One of them works, and another goes on with it when that one has what it waits for."""
    host = alone.start({number: (Report(number),) for number in range(8)})
    done = list[int]()

    def wait(number: int) -> None:
        assert host.wait(lambda: number in alone.ears.outcomes, 200)
        done.append(number)

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.02)
    for number in (3, 0, 7, 5, 1, 2, 6, 4):
        host.request(number)
        threads[number].join(200)
        assert number in done
    assert sorted(done) == list(range(8))


def test_who_waits_is_woken_for_what_happens_outside(alone: Alone) -> None:
    """By `wake`."""
    host = alone.start({})
    flag = list[int]()

    def bring() -> None:
        time.sleep(0.02)
        flag.append(1)
        host.wake()

    thread = threading.Thread(target=bring)
    thread.start()
    assert host.wait(lambda: bool(flag), 200)
    thread.join()


def test_a_fault_of_the_machine_ends_the_host_for_all(alone: Alone) -> None:
    """Whoever wants something or waits gets it; `on_end` hears of it once."""
    ends = list[Any]()
    host = alone.start({"go": (SetTimer("bad", 5),), TimerFired("bad"): (Report("bad"),)}, on_end=ends.append)

    def refuse(outcome: Any) -> None:
        raise ArithmeticError(outcome)

    alone.ears.then = refuse
    host.request("go")
    with pytest.raises(ArithmeticError):
        host.wait(lambda: False, 200)
    with pytest.raises(ArithmeticError):
        host.request("go")
    assert not host.is_running
    host.close()
    assert [type(one) for one in ends] == [ArithmeticError]


def test_who_is_told_something_must_not_wait_or_close(alone: Alone) -> None:
    """P350: the node would stand still for ever."""
    host = alone.start({"go": (Report(1),)})
    found = list[str]()

    def misuse(_: Any) -> None:
        for what in (lambda: host.wait(lambda: False), host.close):
            with pytest.raises(Misuse) as problem:
                what()
            found.append(problem.value.code)

    alone.ears.then = misuse
    host.request("go")
    assert found == ["P350", "P350"]


def test_a_closed_host_does_nothing(alone: Alone) -> None:
    """P351; to close it again is no fault, and everything that it had open is closed."""
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0  # noqa: PTH112, PTH208
    host = alone.start({})
    host.close()
    host.close()
    with pytest.raises(Misuse) as problem:
        host.request("go")
    assert problem.value.code == "P351"
    with pytest.raises(Misuse):
        host.wait(lambda: False)
    if before:
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_what_is_said_waits_for_what_was_saved(alone: Alone, tmp_path: Path) -> None:
    """A journal is written before anything behind a record is told."""
    path = tmp_path / "journal"
    sizes = list[int]()
    alone.ears.then = lambda _: sizes.append(path.stat().st_size)
    host = alone.start({"go": (Report(0), Save("record"), Report(1))}, journal=Journal(path))
    begun = path.stat().st_size
    host.request("go")
    assert sizes[0] == begun
    assert sizes[1] > begun
    host.close()
    again = alone.start({}, journal=Journal(path))
    assert again.state[:2] == (("record",), 1)


def test_an_interrupt_in_the_middle_of_a_step_is_raised_behind_it(alone: Alone) -> None:
    """All effects of the step are carried out first."""
    host = alone.start({"go": (Report(1), Report(2), Report(3))})
    alone.ears.then = lambda outcome: os.kill(os.getpid(), signal.SIGINT) if outcome == 1 else None
    with pytest.raises(KeyboardInterrupt):
        host.request("go")
    assert alone.ears.outcomes == [1, 2, 3]
    alone.ears.then = lambda _: None
    host.request("go")
    assert alone.ears.outcomes == [1, 2, 3, 1, 2, 3]


def test_an_interrupt_ends_a_wait_and_nothing_else(alone: Alone) -> None:
    """Afterwards the same thread can wait again."""
    host = alone.start({"go": (Report(1),)})
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))

    def wait() -> None:
        # Not before it is expected: on a busy machine the interrupt may come before the next line.
        timer.start()
        host.wait(lambda: False, 200)

    with pytest.raises(KeyboardInterrupt):
        wait()
    timer.join()
    later = threading.Timer(0.02, host.request, ("go",))
    later.start()
    assert host.wait(lambda: alone.ears.outcomes == [1], 200)
    later.join()


@pytest.mark.parametrize("is_behind", [False, True])
def test_an_interrupt_that_wakes_nobody_ends_a_wait(alone: Alone, *, is_behind: bool) -> None:
    """Python only notes one that another thread takes, or that comes just before the main thread falls asleep."""
    host = alone.start({})
    working, is_over = host._working, threading.Event()
    other = threading.Thread(target=host.wait, args=(is_over.is_set, 200))
    if is_behind:
        other.start()
        eventually(lambda: working._worker != 0)

    def interrupt() -> None:
        eventually(lambda: bool(working._waiting if is_behind else working._worker))
        # It is asleep soon; if not, it is interrupted before.
        time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    sender = threading.Thread(target=interrupt)

    def wait() -> None:
        sender.start()
        # Longer than a test may take: an interrupt that is heard only when the wait is over is not heard.
        host.wait(lambda: False, 100_000)

    with pytest.raises(KeyboardInterrupt):
        wait()
    sender.join()
    if is_behind:
        is_over.set()
        host.wake()
        other.join()


@pytest.mark.parametrize("how", ["at work", "behind another", "wanting"])
def test_wherever_an_interrupt_comes_it_is_raised_and_nothing_is_spoilt(alone: Alone, how: str) -> None:
    """In a wait and in a step."""
    host = alone.start({"go": (Report(1),)})
    is_over = threading.Event()
    other = threading.Thread(target=host.wait, args=(is_over.is_set, 200))
    if how == "behind another":
        other.start()
        eventually(lambda: host._working._worker != 0)

    def use() -> None:
        if how == "wanting":
            host.request("go")
        else:
            host.wait(lambda: False, 0.01)

    for number in count(1):
        if not _is_interrupted_at(number, use):
            assert number > 10
            break
        assert not SHIELD.depth
        assert not SHIELD.is_noted
        told = len(alone.ears.outcomes)
        host.request("go")
        assert len(alone.ears.outcomes) == told + 1
    if how == "behind another":
        is_over.set()
        host.wake()
        other.join()


def test_a_close_that_was_interrupted_can_be_done_again(alone: Alone) -> None:
    """Wherever that was: the end is told once, and nothing stays open."""
    folder = "/proc/self/fd"
    # What other tests have left open may be closed meanwhile, but nothing more may be open.
    gc.collect()
    before = len(os.listdir(folder)) if os.path.isdir(folder) else 0  # noqa: PTH112, PTH208
    for number in count(1):
        ends = list[Any]()
        host = alone.start({}, on_end=ends.append)
        is_interrupted = _is_interrupted_at(number, host.close)
        host.close()
        assert not SHIELD.depth
        assert not SHIELD.is_noted
        assert ends == [None]
        assert not before or len(os.listdir(folder)) <= before, number  # noqa: PTH208
        if not is_interrupted:
            assert number > 10
            break
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_copy_of_the_process_has_no_part_in_it(alone: Alone) -> None:
    """It is refused there, and goes on here."""
    host = alone.start({"go": (Report(1),)})
    child = os.fork()
    if not child:
        code = 1
        try:
            host.request("go")
        except Misuse as problem:
            code = 0 if problem.code == "P351" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    host.request("go")
    assert alone.ears.outcomes == [1]
