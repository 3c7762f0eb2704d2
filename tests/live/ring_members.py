"""Nodes of a ring in processes of their own, which write down what happens to them; and what must be true of it.

A member is forked, told what to do through a pipe, and writes lines of JSON to a file, each with the time of a clock
that all processes share. Under the lock it writes its fence to a file that refuses who comes with a smaller one.
"""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import json
import os
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import solvent
from solvent.net.ports import LOOPBACK, free_ports
from solvent.protocols.token.group.invariants import Order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MAX_SECONDS = 200
PATIENCE = 0.4
STALL = 0.05
"""Who cannot run for so long may be taken for dead, and not notice; a busy machine does that as well as a test."""


def free_places(count: int) -> dict[int, str]:
    """Give nodes addresses of this machine that nobody has now."""
    return {node: f"{LOOPBACK}:{port}" for node, port in enumerate(free_ports(count))}


# ---------------------------------------------------------------------------------------------------- the member


class _Member:
    """What runs in a process."""

    def __init__(self, folder: Path, log: Path, commands: int) -> None:
        self.guard = folder / "guard"
        self.log = log.open("a", buffering=1, encoding="utf-8")
        self.commands = commands
        self.is_working = False
        self.tasks = set[asyncio.Task[None]]()

    def note(self, what: str, **more: Any) -> None:
        """Write down what happens."""
        self.log.write(json.dumps({"what": what, "at": time.monotonic()} | more) + "\n")

    def write_guarded(self, fence: tuple[int, ...]) -> bool:
        """Write a fence to the guarded file, unless a greater one is there."""
        with self.guard.open("a+", encoding="utf-8") as file:
            # The file, like any good resource, looks and writes in one go.
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            lines = file.read().split("\n")
            if len(lines) > 1 and tuple(json.loads(lines[-2])) >= fence:
                return False
            file.write(json.dumps(fence) + "\n")
            return True

    async def live(self, **options: Any) -> None:
        """Be a node until told to end."""
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        watch = lambda outcome: self.note("told", kind=type(outcome).__name__, text=str(outcome))  # noqa: E731
        async with solvent.ring.join(**options, watch=watch if os.environ.get("RING_TOLD") else None) as ring:
            self.note("began", node=ring.node)

            def on_command() -> None:
                for line in os.read(self.commands, 4096).decode().split("\n")[:-1]:
                    word, _, rest = line.partition(" ")
                    if word == "end":
                        ended.set_result(None)
                    else:
                        self.start(getattr(self, f"do_{word}")(ring, rest))

            loop.add_reader(self.commands, on_command)
            self.start(self.listen(ring))
            self.start(self.notice_stalls())
            await ended
        self.note("ended")

    def start(self, doing: Any) -> None:
        """Do something beside everything else."""
        task = asyncio.create_task(doing)
        self.tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.note("failed", text="".join(traceback.format_exception(task.exception())))

    async def notice_stalls(self) -> None:
        """Write down when this process could not run."""
        while True:
            since = time.monotonic()
            await asyncio.sleep(STALL / 2)
            if time.monotonic() - since > STALL:
                self.note("stalled", since=since)

    async def listen(self, ring: Any) -> None:
        """Write down every message."""
        async for message in ring.messages():
            self.note("heard", place=message.place, said=[message.origin, message.data])

    async def enter(self, ring: Any, hold: float | None) -> None:
        """Have the lock for a while; None: until it is lost."""
        accepted = False
        fence: Any = None
        try:
            async with ring.lock() as lock:
                await lock.confirm()
                fence = lock.fence
                accepted = self.write_guarded(fence)
                self.note("locked", fence=fence, accepted=accepted)
                if hold is None:
                    self.note("holds")
                    await self.loss(lock)
                    self.note("again", fence=fence, accepted=self.write_guarded(fence))
                else:
                    await asyncio.sleep(hold)
                leaves_at = time.monotonic()
        except solvent.LockLost as lost:
            self.note("lost", fence=fence, code=lost.code)
        else:
            self.note("unlocked", fence=fence, at=leaves_at)

    async def loss(self, lock: Any) -> None:
        """Wait until a lock is lost; that this process stood still is not enough."""
        with suppress(solvent.LockLost):
            while True:
                await asyncio.sleep(0.01)
                await lock.confirm()

    async def do_work(self, ring: Any, every: str) -> None:
        """Lock and say things, again and again."""
        self.is_working = True
        count = 0
        while self.is_working:
            await self.enter(ring, 0.0005)
            count += 1
            if count % int(every or 5) == 0:
                place = await ring.broadcast({"by": ring.node, "count": count})
                self.note("said", place=place)
        self.note("rests")

    async def do_rest(self, _: Any, __: str) -> None:
        """Work no more."""
        self.is_working = False

    async def do_hold(self, ring: Any, _: str) -> None:
        """Have the lock until it is lost."""
        await self.enter(ring, None)

    async def do_stop(self, ring: Any, use: str) -> None:
        """Stop this process under the lock; when it goes on, use the lock in some way at once."""
        old: Any = None
        try:
            async with ring.lock() as lock:
                await lock.confirm()
                old = lock.fence
                self.note("locked", fence=old, accepted=self.write_guarded(old))
                self.note("stops")
                os.kill(os.getpid(), signal.SIGSTOP)
                if use == "await":
                    await asyncio.sleep(0)
                if use == "is_lost":
                    self.note("used", is_lost=lock.is_lost)
                elif use != "leave":
                    self.note("used", fence=lock.fence)
        except solvent.LockLost as lost:
            self.note("lost", fence=old, code=lost.code)
        else:
            self.note("unlocked", fence=old)

    async def do_block(self, ring: Any, words: str) -> None:
        """Block the event loop under the lock for some seconds; then use the lock in some way."""
        seconds, use = words.split(" ")
        try:
            async with ring.lock() as lock:
                await lock.confirm()
                self.note("blocks", fence=lock.fence)
                time.sleep(float(seconds))  # noqa: ASYNC251 - that is what is tried
                if use == "fence":
                    _ = lock.fence
                elif use == "confirm":
                    self.note("doubts", is_lost=lock.is_lost)
                    await lock.confirm()
                    self.note("confirmed", fence=lock.fence, is_lost=lock.is_lost)
        except solvent.LockLost as lost:
            self.note("lost", code=lost.code, text=lost.message)
        else:
            self.note("unlocked")

    async def do_stop_idle(self, ring: Any, _: str) -> None:
        """Stop this process when it had the lock just before; when it goes on, take the lock at once."""
        await self.enter(ring, 0.0)
        self.note("stops")
        os.kill(os.getpid(), signal.SIGSTOP)
        await self.enter(ring, 0.0)
        self.note("went on")

    async def do_say(self, ring: Any, text: str) -> None:
        """Say something."""
        place = await ring.broadcast(text)
        self.note("said", place=place, text=text)

    async def do_break(self, ring: Any, _: str) -> None:
        """Break all connections, as a bad network would."""
        for way in ring._node.host._board._ways.values():
            # It may be none yet, or none any more.
            with suppress(OSError, AttributeError):
                way._line.shutdown(socket.SHUT_RDWR)

    async def do_leave(self, ring: Any, _: str) -> None:
        """Be a member no longer."""
        await ring.leave()
        self.note("left")

    async def do_remove(self, ring: Any, node: str) -> None:
        """Let another count no longer."""
        await ring.remove(int(node))
        self.note("removed", node=int(node))


# ----------------------------------------------------------------------------------------------- the test's side


@dataclass
class Process:
    """A member, as a test sees it."""

    node: int
    life: int
    pid: int
    commands: int
    log: Path
    killed_at: float | None = None
    is_over: bool = False

    def stalls(self) -> list[tuple[float, float]]:
        """Tell when it could not run."""
        return [(note["since"], note["at"]) for note in self.notes() if note["what"] == "stalled"]

    def notes(self) -> list[dict[str, Any]]:
        """Read what it wrote."""
        text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        # Who was killed may have left half a line.
        return [json.loads(line) for line in text.split("\n")[:-1]]


@dataclass
class Members:
    """The members of one ring."""

    folder: Path
    options: dict[str, Any] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            self.kill(process)
            os.close(process.commands)

    def start(self, node: int, **options: Any) -> Process:
        """Start a member; one that was there before goes on from its journal, if it has one."""
        life = sum(process.node == node for process in self.processes)
        log = self.folder / f"log-{node}-{life}"
        reading, writing = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            os.close(writing)
            code = 1
            try:
                member = _Member(self.folder, log, reading)
                asyncio.run(member.live(node=node, **{**self.options, **options}))
                code = 0
            except BaseException as fault:  # noqa: BLE001 - the test reads it
                member.note("failed", text="".join(traceback.format_exception(fault)))
            finally:
                os._exit(code)
        os.close(reading)
        process = Process(node, life, pid, writing, log)
        self.processes.append(process)
        return process

    def tell(self, process: Process, command: str) -> None:
        """Tell a member what to do."""
        os.write(process.commands, f"{command}\n".encode())

    def kill(self, process: Process) -> None:
        """Kill a member, if it is not over."""
        if not process.is_over:
            process.killed_at = time.monotonic()
            os.kill(process.pid, signal.SIGKILL)
            os.waitpid(process.pid, 0)
            process.is_over = True

    def await_stop(self, process: Process) -> float:
        """Wait until a member has stopped itself; give the time."""
        self.await_note(process, "stops")
        assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
        return time.monotonic()

    def end(self, *processes: Process) -> None:
        """Let members end in good order, all at once."""
        for process in processes:
            self.tell(process, "end")
        for process in processes:
            self.await_end(process)

    def await_end(self, process: Process) -> None:
        """Wait until a member is over."""
        until(lambda: os.waitpid(process.pid, os.WNOHANG)[0] == process.pid, self)
        process.is_over = True

    def await_note(self, process: Process, what: str, count: int = 1, after: float = 0.0) -> dict[str, Any]:
        """Wait until a member has written something, so many times."""
        found = list[dict[str, Any]]()

        def is_there() -> bool:
            found[:] = [note for note in process.notes() if note["what"] == what and note["at"] > after]
            return len(found) >= count

        until(is_there, self)
        return found[count - 1]

    def failures(self) -> list[str]:
        """Give what went wrong in members."""
        return [note["text"] for process in self.processes for note in process.notes() if note["what"] == "failed"]


def until(is_so: Callable[[], bool], members: Members) -> None:
    """Wait until something is so, but not for ever."""
    end = time.monotonic() + MAX_SECONDS
    while not is_so():
        assert time.monotonic() < end, members.failures() or "it takes too long"
        time.sleep(0.01)


# ------------------------------------------------------------------------------------------------ what must be true


def check(members: Members) -> None:
    """See that nothing went wrong, all heard the same, and the lock was one."""
    assert not members.failures(), members.failures()[0]
    _check_order(members)
    _check_fences(members)
    _check_lock(members)


def _check_order(members: Members) -> None:
    safe = {note["place"] for process in members.processes for note in process.notes() if note["what"] == "said"}
    # Those that live may be about to hear, and to note, what was said last.
    until(lambda: safe <= _places_heard(members), members)
    heard = [
        (process, [(note["place"], note["said"]) for note in process.notes() if note["what"] == "heard"])
        for process in members.processes
    ]
    order = Order()
    for process, lines in sorted(heard, key=lambda one: one[1][:1]):
        for place, said in lines:
            wrong = order.heard(process.node, process.life, place, said)
            assert wrong is None, wrong
    assert safe <= set(dict(order.lines)), "what was safe has been forgotten"


def _places_heard(members: Members) -> set[int]:
    return {note["place"] for process in members.processes for note in process.notes() if note["what"] == "heard"}


def _check_fences(members: Members) -> None:
    """What was accepted goes up; only who had lost the lock was ever refused, or could not know yet."""
    guard = members.folder / "guard"
    fences = [json.loads(line) for line in guard.read_text(encoding="utf-8").split("\n")[:-1]]
    assert fences == sorted(fences)
    assert len({tuple(fence) for fence in fences}) == len(fences)
    for process in members.processes:
        notes = process.notes()
        lost = [note["fence"] for note in notes if note["what"] == "lost"]
        for note in notes:
            if note["what"] == "locked" and not note["accepted"]:
                is_stalled = any(since <= note["at"] + STALL for since, _ in process.stalls())
                assert note["fence"] in lost or process.killed_at is not None or is_stalled, note


def _check_lock(members: Members) -> None:
    """No two had the lock at once, by their own clocks; but for who was taken for dead and was not."""
    held = sorted(interval for process in members.processes for interval in _held(process))
    for (_, end, one), (begin, _, other) in itertools.pairwise(held):
        assert end <= begin, f"{one} had it until {end}, and {other} from {begin}"
    assert len(held) > 5


def _held(process: Process) -> Iterator[tuple[float, float, Any]]:
    """Give the times when it had the lock and could know whether it had."""
    stalls = process.stalls()
    for begin, end, what in _believed(process):
        if not any(since <= end + STALL and begin - STALL <= until for since, until in stalls):
            yield begin, end, what


def _believed(process: Process) -> Iterator[tuple[float, float, Any]]:
    began: tuple[float, Any] | None = None
    for note in process.notes():
        if note["what"] == "locked":
            began = note["at"], (process.node, note["fence"])
        elif note["what"] in ("unlocked", "lost"):
            if note["what"] == "unlocked" and began is not None:
                yield began[0], note["at"], began[1]
            began = None
    if began is not None and process.killed_at is not None:
        yield began[0], process.killed_at, began[1]
