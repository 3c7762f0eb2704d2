"""Direct hosts in processes of their own: which compute, are killed, are stopped, are interrupted, and are copied."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from typing import TYPE_CHECKING

import pytest

from solvent.protocols.machine import NodeId
from tests.live.direct_nodes import A, B, Talk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

C = NodeId(2)


class Child:
    """A node in a process of its own, which can be killed; it says where it listens, and then whatever it wants."""

    def __init__(
        self, node: NodeId, places: dict[NodeId, tuple[str, int]], live: Callable[[Talk, Child], None]
    ) -> None:
        ours, theirs = socket.socketpair()
        self.number = os.fork()
        if not self.number:
            status = 1
            try:
                ours.close()
                self._line = theirs
                talk = Talk(node, places)
                self.say(talk.host.address)
                live(talk, self)
                talk.close()
                status = 0
            except BaseException:  # noqa: BLE001 - whoever reads the test's output wants to know
                traceback.print_exc()
            finally:
                os._exit(status)
        theirs.close()
        self._line = ours
        self._line.settimeout(60)
        places[node] = tuple(self.hear())

    def say(self, what: object) -> None:
        """Say something to the other side."""
        self._line.sendall(json.dumps(what).encode() + b"\n")

    def hear(self) -> list[object]:
        """Wait for what the other side says."""
        data = b""
        while not data.endswith(b"\n"):
            more = self._line.recv(1)
            assert more, "it is gone"
            data += more
        found: list[object] = json.loads(data)
        return found

    def end(self, number: int = signal.SIGKILL) -> int:
        """End it; give its exit code."""
        os.kill(self.number, number)
        return self.join()

    def join(self) -> int:
        """Wait for its end."""
        self._line.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])


@pytest.fixture(name="places")
def _places() -> dict[NodeId, tuple[str, int]]:
    return {}


@pytest.fixture(name="a")
def _a(places: dict[NodeId, tuple[str, int]]) -> Iterator[Talk]:
    talk = Talk(A, places)
    yield talk
    talk.close()


def _sleep(talk: Talk, child: Child) -> None:
    del talk, child
    time.sleep(3600)


def _compute(talk: Talk, child: Child) -> None:
    """Compute, and never wait for anything."""
    del talk, child
    end, number = time.monotonic() + 3600, 0
    while time.monotonic() < end:
        number += sum(range(100))


@pytest.mark.parametrize("live", [_sleep, _compute])
def test_a_process_that_does_something_else_serves_others(
    places: dict[NodeId, tuple[str, int]], live: Callable[[Talk, Child], None]
) -> None:
    """Its deputy does, whether the interpreter is free or not."""
    child = Child(B, places, live)
    a = Talk(A, places)
    try:
        for number in range(20):
            a.say(B, number, wants_echo=True)
            a.wait_for(B, number + 1)
    finally:
        a.close()
        child.end()


def test_a_process_that_is_killed_is_lost_at_once(places: dict[NodeId, tuple[str, int]]) -> None:
    """Long before the patience is over: nobody listens where it was."""
    child = Child(B, places, _sleep)
    a = Talk(A, places)
    try:
        a.host.watch([B], patience=3600)
        a.say(B, 0, wants_echo=True)
        a.wait_for(B, 1)
        child.end()
        a.wait(lambda: [peer for peer, _ in a.ears.losses] == [B])
    finally:
        a.close()


def test_a_process_that_is_stopped_is_lost_for_its_silence(places: dict[NodeId, tuple[str, int]]) -> None:
    """The system still takes what is said to it; only nobody answers. Another one that is there is not lost."""
    stopped, other = Child(B, places, _sleep), Child(C, places, _sleep)
    a = Talk(A, places)
    try:
        a.host.watch([B, C], patience=3.0)
        for node in (B, C):
            a.say(node, 0, wants_echo=True)
            a.wait_for(node, 1)
        os.kill(stopped.number, signal.SIGSTOP)
        a.wait(lambda: bool(a.ears.losses))
        assert [peer for peer, _ in a.ears.losses] == [B]
        assert "silent" in a.ears.losses[0][1]
    finally:
        a.close()
        stopped.end()
        other.end()


def test_time_in_which_a_process_was_stopped_itself_is_not_held_against_others(
    places: dict[NodeId, tuple[str, int]], a: Talk
) -> None:
    """Whoever wakes up after long has not heard of anybody, and nobody is lost for that."""

    def watch(talk: Talk, child: Child) -> None:
        talk.host.watch([A], patience=2.5)
        child.say(["watching"])
        assert talk.host.wait(lambda: bool(talk.ears.losses), 5.0) is False

    child = Child(B, places, watch)
    assert child.hear() == ["watching"]
    os.kill(child.number, signal.SIGSTOP)
    time.sleep(3.5)
    os.kill(child.number, signal.SIGCONT)
    assert child.join() == 0
    assert a.ears.losses == []


def test_an_interrupted_wait_leaves_all_as_it_was(places: dict[NodeId, tuple[str, int]], a: Talk) -> None:
    """Interrupted again and again while words come, a process hears all of them once and in order."""

    def listen(talk: Talk, child: Child) -> None:
        note = "listening"
        while len(talk.ears.heard) < 600:
            try:
                if note:
                    # The next interrupt comes when this was heard.
                    said, note = note, ""
                    child.say([said])
                talk.host.wait(lambda: len(talk.ears.heard) >= 600, 200)
            except KeyboardInterrupt:
                note = "interrupted"
        assert talk.ears.numbers(A) == list(range(600))

    child = Child(B, places, listen)
    assert child.hear() == ["listening"]
    for number in range(600):
        a.say(B, number)
        if number % 20 == 10:
            os.kill(child.number, signal.SIGINT)
            assert child.hear() == ["interrupted"]
    assert child.join() == 0


def test_a_copy_of_a_process_does_not_disturb_its_connections(places: dict[NodeId, tuple[str, int]], a: Talk) -> None:
    """Neither while it lives, nor when it ends."""

    def copy(talk: Talk, child: Child) -> None:
        talk.say(A, 0, wants_echo=True)
        talk.wait_for(A, 1)
        copied = os.fork()
        if not copied:
            talk.close()
            os._exit(0)
        os.waitpid(copied, 0)
        talk.say(A, 1, wants_echo=True)
        talk.wait_for(A, 2)
        child.say(["done"])

    child = Child(B, places, copy)
    assert child.hear() == ["done"]
    assert child.join() == 0
    assert a.ears.numbers(B) == [0, 1]


def test_who_ends_without_closing_has_said_what_it_said(places: dict[NodeId, tuple[str, int]], a: Talk) -> None:
    """The end of the interpreter closes what is open; also what the other side takes slowly."""
    program = (
        "import sys, json\n"
        "from tests.live.direct_nodes import Talk, A, B\n"
        "talk = Talk(B, {A: tuple(json.loads(sys.argv[1]))})\n"
        "talk.say(A, 0, 100, letters=30_000)\n"
    )
    subprocess.run([sys.executable, "-c", program, json.dumps(places[A])], check=True, timeout=200)
    a.wait_for(B, 100)
    assert a.ears.numbers(B) == list(range(100))
