"""A chaos run of `solvent lab serve handover`: workers count in shared data, come and go, and are killed.

Each worker is a process of its own, forked from one that has everything loaded. `ChaosRun` reads what workers do from
their journals and gives orders by bytes of a shared file. A worker that was killed, or has left altogether, is followed
by another one that resumes its work. At the end one more process reads the data.

The hosts are folders, each for the shared memory of some of the workers: workers of different hosts do not know that
they are on one machine, and send each other data over TCP.

**Kills.** Some workers are killed from outside, whatever they do just then. Others are told to die at a point that is
hard to hit: with the lock and amid writing, amid a release, amid leaving or joining, or as the founder. No worker is
killed if its host would be left without one that stays: the last version of the data may be in the memory of that host
only. Where several hosts have every version (`--copies`), a host may die: all its workers are killed at once, and its
memory is gone. Most of the others must be on other hosts, or the rest could not continue; and until there are enough
copies again, no second host dies.
"""

from __future__ import annotations

import json
import mmap
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.net.private_folder import MEMORY
from solvent_lab.chaos.worker import ChaosConfig, Order, Task, judge, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.process import BaseProcess

_WAYS = (
    *3 * (Order.DIE_ANYWHERE,),
    *2 * (Order.DIE_WRITING,),
    Order.DIE_RELEASING,
    Order.DIE_LEAVING,
    Order.DIE_JOINING,
    Order.DIE_AS_FOUNDER,
)
_HOST_CHANCE = 0.5
_HOST_CYCLES = 10
"""How often a host dies where it may; and after how many cycles the next one may: each makes new copies."""
_OF_LEAVERS = (Order.DIE_LEAVING, Order.DIE_JOINING)
_MAX_PENDING = 3
_MIN_LIVING = 2
"""Of those that stay on a host one may be killed if so many are in, itself among them."""
_LOOK_SECONDS = 0.05
_MAX_END_SECONDS = 60.0


@dataclass
class ChaosResult:
    """What has happened so far, and what is wrong."""

    cycles: int = 0
    joins: int = 0
    leaves: int = 0
    starts: int = 0
    expelled: int = 0
    #: How many were killed, by the point at which they were.
    kills: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    #: For each cycle and each joining how long it took, in seconds.
    waited: list[float] = field(default_factory=list)
    joined: list[float] = field(default_factory=list)
    counter: int | None = None
    wrong: list[str] = field(default_factory=list)

    @property
    def killed(self) -> int:
        """How many were killed."""
        return sum(self.kills.values())


class WorkerSlot:
    """The worker that has a number now, and what is known of it."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.process: BaseProcess | None = None
        #: Whether it runs; and how far it is.
        self.is_up = self.is_inside = self.is_done = self.is_away = False
        #: What it has been told and has not done yet; and the last that it was ever told.
        self.order = self.told = Order.NONE
        #: When it last noted anything.
        self.seen_at = 0.0
        self._read = 0

    def notes(self) -> list[dict[str, Any]]:
        """Return what it has noted since the last call."""
        found = []
        with suppress(FileNotFoundError), self.task.journal.open("rb") as journal:
            journal.seek(self._read)
            data = journal.read()
            whole = data.rfind(b"\n") + 1
            self._read += whole
            for line in data[:whole].split(b"\n"):
                with suppress(ValueError):
                    found.append(json.loads(line))
        return found


class Kills:
    """Decides which workers are killed, and when."""

    def __init__(self, config: ChaosConfig, slots: list[WorkerSlot], result: ChaosResult, orders: Path) -> None:
        self._config = config
        self._slots = slots
        self._result = result
        self._chance = random.Random(config.seed)
        #: How many cycles have been made when the next one is due.
        self._due_at = sorted(self._chance.uniform(0.02, 0.95) * config.total for _ in range(config.kills))
        self._due = 0
        self._next_at: float | None = None
        #: How many cycles have been made when a host may die, the first time or again.
        self._host_at = _HOST_CYCLES
        orders.write_bytes(bytes(config.processes))
        with orders.open("r+b") as file:
            self._orders = mmap.mmap(file.fileno(), 0)

    def order(self, slot: WorkerSlot, order: Order) -> None:
        """Order a worker to do something, or take the last order back."""
        slot.order = order
        slot.told = order or slot.told
        self._orders[slot.task.number] = order
        if order in (Order.DIE_ANYWHERE, Order.DIE_WITH_HOST) and slot.process is not None:
            slot.process.kill()

    def end(self) -> None:
        """Order all workers to end."""
        for slot in self._slots:
            self.order(slot, Order.END)

    def on_killed(self, slot: WorkerSlot) -> None:
        """Count a worker that was killed."""
        # It may die after it has done its work, when nothing of the kind was wanted any more.
        name = slot.told.name.lower().removeprefix("die_").replace("_", " ")
        self._result.kills[name] = self._result.kills.get(name, 0) + 1
        if slot.told is Order.DIE_AS_FOUNDER:
            for one in self._slots:
                if one.order is Order.DIE_AS_FOUNDER:
                    self.order(one, Order.NONE)

    def go_on(self) -> None:
        """Kill one more if it is due."""
        while self._due_at and self._result.cycles >= self._due_at[0]:
            self._due_at.pop(0)
            self._due += 1
        every, now = self._config.kill_every, time.monotonic()
        if every is not None and now >= (self._next_at or 0):
            self._due += self._next_at is not None
            self._next_at = now + every * self._chance.uniform(0.5, 1.5)
        pending = self._pending()
        if pending < _MAX_PENDING and self._due > self._result.killed + pending:
            self._kill()

    def _pending(self) -> int:
        orders = [slot.order for slot in self._slots if slot.order > Order.END]
        founders = orders.count(Order.DIE_AS_FOUNDER)
        return len(orders) - founders + bool(founders)

    def _kill(self) -> None:
        hosts = [host for host in range(self._config.hosts) if self._can_be_lost(host)]
        if hosts and self._chance.random() < _HOST_CHANCE:
            self._lose(self._chance.choice(hosts))
            return
        way = self._chance.choice(_WAYS)
        if way is Order.DIE_AS_FOUNDER:
            chosen = self._founders()
        else:
            able = [slot for slot in self._slots if self._can_die(slot, way)]
            chosen = [self._chance.choice(able)] if able else []
        for slot in chosen:
            self.order(slot, way)

    def _can_be_lost(self, host: int) -> bool:
        """Return whether others have copies of what a host has, and are enough to continue."""
        if self._config.copies == 1 or self._result.cycles < self._host_at or self._pending():
            return False
        if any(self._living(one) < _MIN_LIVING for one in range(self._config.hosts)):
            return False
        there = [slot for slot in self._slots if slot.task.host == host]
        inside = sum(slot.is_inside for slot in self._slots)
        return not any(slot.is_done for slot in there) and 2 * sum(slot.process is not None for slot in there) < inside

    def _lose(self, host: int) -> None:
        """Kill all workers of a host, and delete its memory."""
        there = [slot for slot in self._slots if slot.task.host == host and slot.process is not None]
        for slot in there:
            self.order(slot, Order.DIE_WITH_HOST)
        for slot in there:
            assert slot.process is not None
            slot.process.join()
        shutil.rmtree(there[0].task.shared, ignore_errors=True)
        self._host_at = self._result.cycles + _HOST_CYCLES

    def _founders(self) -> list[WorkerSlot]:
        """Return all that may be the founder, if it can be spared; a worker knows whether it is."""
        if any(self._living(host) < _MIN_LIVING for host in range(self._config.hosts)):
            return []
        return [slot for slot in self._slots if not slot.is_done and slot.order is Order.NONE]

    def _can_die(self, slot: WorkerSlot, way: Order) -> bool:
        if slot.process is None or slot.is_done or slot.order is not Order.NONE:
            return False
        if slot.task.is_leaver:
            return True
        return way not in _OF_LEAVERS and self._living(slot.task.host) >= _MIN_LIVING

    def _living(self, host: int) -> int:
        """Return how many of those that stay on a host are in, and are not to die."""
        return sum(
            slot.task.host == host and not slot.task.is_leaver and slot.is_inside and slot.order is Order.NONE
            for slot in self._slots
        )


class ChaosRun:
    """Starts workers, kills some, and checks what they share."""

    def __init__(
        self, config: ChaosConfig, folder: Path, watch: Callable[[ChaosResult], None] = lambda _: None
    ) -> None:
        self.result = ChaosResult()
        self._config = config
        self._folder = folder
        self._watch = watch
        self._context = multiprocessing.get_context("forkserver")
        self._slots = [WorkerSlot(Task(config, number, folder)) for number in range(config.processes)]
        self._kills = Kills(config, self._slots, self.result, folder / "orders")
        self._began = time.monotonic()

    # --------------------------------------------------------------------------------------------- beginning and end

    def run(self) -> ChaosResult:
        """Run to the end and return the result."""
        with _undisturbed():
            # Its copies load nothing, and take no notice of Ctrl-C.
            self._context.set_forkserver_preload(["solvent_lab.chaos.worker", "solvent.handover.space"])
            first = self._slots[0]
            self._start(first)
        self._began = time.monotonic()
        try:
            # The others find the first one.
            self._go_on(lambda: first.is_inside)
            for slot in self._slots[1:]:
                self._start(slot)
            self._go_on(lambda: all(slot.is_done for slot in self._slots))
            self._end()
        finally:
            self.result.seconds = time.monotonic() - self._began
            with _undisturbed():
                self._kill_all()
        return self.result

    def _start(self, slot: WorkerSlot) -> None:
        slot.process = self._context.Process(target=work, args=(slot.task,), daemon=True)
        slot.is_up = slot.is_away = False
        slot.process.start()
        slot.seen_at = time.monotonic()
        self.result.starts += 1

    def _go_on(self, is_enough: Callable[[], bool]) -> None:
        while not is_enough() and not self.result.wrong:
            self._look()
            self._kills.go_on()
            self._watch(self.result)
            self._look_for_hangs()
            wait(self._sentinels(), _LOOK_SECONDS)

    def _sentinels(self) -> list[int]:
        return [slot.process.sentinel for slot in self._slots if slot.process is not None]

    def _end(self) -> None:
        """Read the data, then let all leave, and check that nothing is left behind."""
        if not self.result.wrong:
            self._judge()
        self._kills.end()
        end = time.monotonic() + _MAX_END_SECONDS
        while self._sentinels() and not self.result.wrong:
            if time.monotonic() > end:
                self._hang("not all processes get away at the end")
            self._look()
            wait(self._sentinels(), _LOOK_SECONDS)
        if not self.result.wrong:
            left = [str(path.relative_to(self._folder)) for path in self._folder.glob("host-*/*/*")]
            if left:
                self.result.wrong.append(f"all have left, and shared memory is still there: {', '.join(left)}")

    def _judge(self) -> None:
        found = self._folder / "judgement"
        task = Task(self._config, 0, self._folder)
        process = self._context.Process(target=judge, args=(task, found), daemon=True)
        process.start()
        process.join(_MAX_END_SECONDS)
        if process.is_alive():
            process.kill()
        if not found.exists():
            self.result.wrong.append("nobody gets to see the data at the end")
            self._ask_for_stacks()
            return
        judgement = json.loads(found.read_text(encoding="utf-8"))
        self.result.wrong += judgement["wrong"]
        self.result.counter = judgement["counter"]
        wanted = self._config.total
        if self.result.counter != wanted:
            self.result.wrong.append(f"the counter is {self.result.counter}, and should be {wanted}")
        for number, count in enumerate(judgement["slots"]):
            if count != self._config.cycles:
                self.result.wrong.append(
                    f"process {number} has counted to {count}, and should have {self._config.cycles}"
                )

    def _kill_all(self) -> None:
        for slot in self._slots:
            if slot.process is not None:
                slot.process.kill()
        for slot in self._slots:
            if slot.process is not None:
                slot.process.join()
                slot.process = None

    # --------------------------------------------------------------------------------------------------------- looking

    def _look(self) -> None:
        """Read the journals, and replace workers that have ended."""
        for slot in self._slots:
            process = slot.process
            is_over = process is not None and process.exitcode is not None
            for note in slot.notes():
                slot.seen_at = time.monotonic()
                slot.is_up = note["life"] == slot.task.life
                self._take(slot, note)
            if is_over:
                assert process is not None
                self._on_over(slot, process)
        self.result.seconds = time.monotonic() - self._began

    def _take(self, slot: WorkerSlot, note: dict[str, Any]) -> None:
        result = self.result
        match note["what"]:
            case "released":
                result.cycles += 1
                result.waited.append(note["waited"])
            case "joined":
                result.joins += 1
                result.joined.append(note["seconds"])
                slot.is_inside = True
            case "leaving":
                result.leaves += 1
                slot.is_inside = False
            case "expelled":
                result.expelled += 1
                slot.is_inside = False
                if self._config.hosts == 1:
                    result.wrong.append(
                        f"process {slot.task.number} was taken for dead, though the system knows better"
                    )
            case "away":
                slot.is_away = True
            case "done":
                slot.is_done = True
                self._kills.order(slot, Order.NONE)
            case "wrong":
                result.wrong.append(f"process {slot.task.number}: {note['text']}")

    def _on_over(self, slot: WorkerSlot, process: BaseProcess) -> None:
        code = process.exitcode
        process.close()
        slot.process = None
        slot.is_inside = False
        if code == -signal.SIGKILL:
            self._kills.on_killed(slot)
        elif code != 0:
            if not self.result.wrong:
                self.result.wrong.append(f"process {slot.task.number} has ended with exit code {code}")
            return
        if slot.is_done or (code == 0 and not slot.is_away):
            return
        self._kills.order(slot, Order.NONE)
        slot.task = replace(slot.task, life=slot.task.life + 1)
        self._start(slot)

    # --------------------------------------------------------------------------------------------------------- hanging

    def _look_for_hangs(self) -> None:
        stall, now = self._config.stall, time.monotonic()
        for slot in self._slots:
            if slot.process is not None and not slot.is_done and now - slot.seen_at > stall:
                self._hang(f"process {slot.task.number} does not get on for {stall:g} s")
                return

    def _hang(self, what: str) -> None:
        self.result.wrong.append(what)
        self._ask_for_stacks()

    def _ask_for_stacks(self) -> None:
        for slot in self._slots:
            # One that has only begun could not answer, and would die of it.
            if slot.process is not None and slot.process.pid is not None and slot.is_up:
                with suppress(ProcessLookupError):
                    os.kill(slot.process.pid, signal.SIGUSR1)
        time.sleep(1)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Start processes that ignore Ctrl-C from their first moment."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def chaos_folder() -> Iterator[Path]:
    """Make a folder for a run, in memory where possible, and delete it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="solvent-chaos-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


__all__ = ["ChaosConfig", "ChaosResult", "ChaosRun", "chaos_folder"]
