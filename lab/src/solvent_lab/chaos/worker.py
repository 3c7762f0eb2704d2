"""One worker of `solvent lab serve handover`: it counts in shared data, comes and goes, and may die.

It notes what it does in a journal, one line of JSON each, written before it continues. So the worker that follows after
it was killed knows how far it was, but for one thing: whether a release that was begun took effect. The data shows it.

It dies as it is told to, at the points that are hard to hit from outside: with the lock, in the middle of writing,
amid a release, amid leaving or joining. However, it dies by the same signal, and cleans nothing up.

The data may be in several parts, each with counters of its own. It claims one of them to count there, and now and then
the whole, to count in one part and look at all, or to look only.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import random
import signal
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from solvent.errors import SolventError
from solvent.handover import join as make_space
from solvent_lab.chaos.ledger import Ledger, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from solvent.handover import BlockingHandle, BlockingSpace

RESOURCE = "ledger"
LEAVE_CHANCE = 0.25
"""How often who leaves at times does so after a cycle; and then how often its process ends with it."""
_AWAY_CHANCE = 0.25
_WHOLE_CHANCE = 0.1
_READ_CHANCE = 0.05
_MAX_DOORS = 4
_LOOK_SECONDS = 0.02


class Order(IntEnum):
    """What a worker is told to do, by a byte of its own in a shared file."""

    NONE = 0
    #: It has counted enough, and so have all others.
    END = 1
    DIE_WRITING = 2
    DIE_RELEASING = 3
    DIE_LEAVING = 4
    DIE_JOINING = 5
    DIE_AS_FOUNDER = 6
    #: It hears nothing of this: it is killed; or all processes of its host are, at once.
    DIE_ANYWHERE = 7
    DIE_WITH_HOST = 8


_SOON = {Order.DIE_RELEASING: 0.001, Order.DIE_LEAVING: 0.02, Order.DIE_JOINING: 0.05}
"""Within how many seconds from the beginning of something a process is dead that is to die amid it."""


class Wrong(Exception):
    """Something that must not happen."""


@dataclass(frozen=True, kw_only=True)
class ChaosConfig:
    """The configuration of a chaos run."""

    processes: int = 8
    cycles: int = 100
    leaving: float = 0.5
    #: How many are to be killed, or how often, in seconds.
    kills: int = 0
    kill_every: float | None = None
    body_bytes: int = 65_536
    #: In how many parts it is, with counters of their own, that are claimed apart most of the time.
    parts: int = 1
    hosts: int = 1
    #: How many hosts are to have every version; with more than one, hosts die with all that is on them.
    copies: int = 1
    patience: float = 5.0
    #: After how long in which a worker does nothing it hangs: it waits for the data, to be let in or to be let go.
    stall: float = 50.0
    seed: int = 0

    @property
    def total(self) -> int:
        """The value that the counter must have at the end."""
        return self.processes * self.cycles

    @property
    def stayers(self) -> int:
        """How many never leave: they keep the data of their host, and let others in."""
        is_deadly = self.kills > 0 or self.kill_every is not None
        return max(self.processes - round(self.processes * self.leaving), self.hosts * (2 if is_deadly else 1))


@dataclass(frozen=True)
class Task:
    """What a worker is to do."""

    config: ChaosConfig
    number: int
    folder: Path
    #: How many have had this number before.
    life: int = 0

    @property
    def host(self) -> int:
        """The host that the worker is on."""
        return self.number % self.config.hosts

    @property
    def is_leaver(self) -> bool:
        """Whether it leaves and joins again between cycles."""
        return self.number >= self.config.stayers

    @property
    def ledger(self) -> Ledger:
        """The layout of each part of the data."""
        return Ledger(self.config.processes, self.config.body_bytes // self.config.parts)

    @property
    def journal(self) -> Path:
        """Where it notes what it does."""
        return self.folder / f"{self.number}.journal"

    @property
    def stacks(self) -> Path:
        """Where it says what it is at, when asked."""
        return self.folder / f"{self.number}.stacks"

    @property
    def orders(self) -> Path:
        """Where it is told what to do."""
        return self.folder / "orders"

    @property
    def shared(self) -> Path:
        """The folder that stands for the memory of its host."""
        return self.folder / f"host-{self.host}"

    def door(self, number: int) -> Path:
        """Where a process says at which address others can join."""
        return self.folder / f"{number}.door"


def work(task: Task) -> None:
    """Run a worker: the whole life of its process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    worker = Worker(task)
    with task.stacks.open("a", encoding="utf-8") as stacks:
        signal.signal(signal.SIGUSR1, lambda *_: worker.tell_state(stacks))
        faulthandler.register(signal.SIGUSR1, stacks, chain=True)
        try:
            worker.run()
        except (SolventError, Wrong) as error:
            code = getattr(error, "code", "")
            worker.note("wrong", text=f"{code} {error}".strip(), trace=traceback.format_exc())
            os._exit(1)
        except BaseException as error:  # noqa: BLE001 - told by the parent, which looks at the journal only
            worker.note("wrong", text=repr(error), trace=traceback.format_exc())
            os._exit(1)


def judge(task: Task, to: Path) -> None:
    """Read the data when all have done their work, and write what is there to a file."""
    ledger, found, wrong = task.ledger, list[Reading](), list[str]()
    opening = make_space("handover", folder=task.shared, patience=task.config.patience, board=True)
    with opening as inside, inside.handle(RESOURCE) as handle:
        view = handle.acquire("read")
        for number in range(task.config.parts):
            with ledger.part(view, number) as seen:
                wrong.append(ledger.wrong(seen))
                found.append(ledger.read(seen))
        handle.release()
    slots = [sum(counts) for counts in zip(*(one.slots for one in found), strict=True)]
    judgement = {"counter": sum(one.counter for one in found), "slots": slots, "wrong": [one for one in wrong if one]}
    part = to.with_suffix(".part")
    part.write_text(json.dumps(judgement), encoding="utf-8")
    part.rename(to)


def _end_with_parent() -> None:
    """End this process when its parent has ended, however it ended."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


class Worker:
    """Counts in shared data, joins and leaves, and dies when ordered to."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._ledger = task.ledger
        self._chance = random.Random(f"{task.config.seed} {task.number} {task.life}")
        #: How often it has counted in each part for certain, and where perhaps once more.
        self._confirmed, self._unsure = _so_far(task)
        self._journal = os.open(task.journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._space: BlockingSpace | None = None
        # Who was killed amid a line has left half of it.
        os.write(self._journal, b"\n")
        with task.orders.open("r+b") as orders:
            self._orders = mmap.mmap(orders.fileno(), 0)

    def note(self, what: str, **more: Any) -> None:
        """Write to the journal; it is there when this returns, whatever happens next."""
        line = {"what": what, "at": time.monotonic(), "life": self._task.life, "pid": os.getpid(), **more}
        os.write(self._journal, json.dumps(line).encode() + b"\n")

    def tell_state(self, to: Any) -> None:
        """Write the state of the machine, as far as it can be read."""
        inside = self._space
        with suppress(Exception):
            state = inside and inside._node.host.state  # noqa: SLF001 - nobody else needs it
            to.write(f"\n{sum(self._confirmed)} cycles; process {inside and inside.node}: {state}\n\n")
            to.flush()

    @property
    def _order(self) -> Order:
        return Order(self._orders[self._task.number])

    @property
    def _is_done(self) -> bool:
        return sum(self._confirmed) >= self._task.config.cycles and self._unsure is None

    # ---------------------------------------------------------------------------------------------- coming and going

    def run(self) -> None:
        """Count as often as configured, and wait until all have; or leave, and be started again."""
        while True:
            try:
                is_over = self._be_inside()
            except SolventError as error:
                if error.code != "S203":
                    raise
                # The others took it for dead: it was silent for too long. It is not, and comes back.
                self.note("expelled")
                continue
            if is_over:
                return
            if self._chance.random() < _AWAY_CHANCE:
                self.note("away")
                return

    def _be_inside(self) -> bool:
        """Be in the space once; return whether that was all."""
        task = self._task
        join = self._doors() if task.config.hosts > 1 and (task.number or task.life) else None
        self.note("joining")
        self._die_soon(Order.DIE_JOINING)
        began = time.monotonic()
        opening = make_space("handover", join=join, folder=task.shared, patience=task.config.patience, board=True)
        with opening as inside:
            self._space = inside
            if task.config.hosts > 1:
                task.door(task.number).write_text(inside.address, encoding="utf-8")
            is_over = self._take_part(inside, began)
            self.note("leaving", of="space")
            self._die_soon(Order.DIE_LEAVING)
            if task.config.hosts > 1:
                task.door(task.number).unlink(missing_ok=True)
        self._space = None
        self.note("left", of="space")
        return is_over

    def _take_part(self, inside: BlockingSpace, began: float) -> bool:
        task = self._task
        while True:
            with inside.handle(
                RESOURCE, size=task.config.parts * self._ledger.size, copies=task.config.copies
            ) as handle:
                self.note("joined", node=inside.node, seconds=time.monotonic() - began)
                what = self._count_on(inside, handle)
                if what == "handle":
                    self.note("leaving", of="handle")
                    self._die_soon(Order.DIE_LEAVING)
            if what != "handle":
                break
            self.note("left", of="handle")
            self.note("joining")
            self._die_soon(Order.DIE_JOINING)
            began = time.monotonic()
        if what == "done":
            self.note("done")
            while not task.is_leaver and self._order is not Order.END:
                time.sleep(_LOOK_SECONDS)
            return True
        return False

    def _doors(self) -> tuple[str, ...]:
        """Return addresses of some other workers; those may have gone, so the join is tried again."""
        task, chance = self._task, self._chance
        while True:
            found = []
            for number in range(task.config.processes):
                if number != task.number:
                    with suppress(FileNotFoundError):
                        found.append(task.door(number).read_text(encoding="utf-8"))
            # One that is about to write it has written nothing yet.
            found = [address for address in found if address]
            if found:
                return tuple(chance.sample(found, min(len(found), _MAX_DOORS)))
            time.sleep(_LOOK_SECONDS)

    # ------------------------------------------------------------------------------------------------------ counting

    def _count_on(self, inside: BlockingSpace, handle: BlockingHandle) -> str:
        """Count until it is enough or the worker leaves; return what it leaves, or that it is done."""
        task, chance = self._task, self._chance
        while not self._is_done:
            self._count(inside, handle)
            if task.is_leaver and chance.random() < LEAVE_CHANCE:
                break
        return "done" if self._is_done else chance.choice(("handle", "space"))

    def _count(self, inside: BlockingSpace, handle: BlockingHandle) -> None:
        ledger, chance = self._ledger, self._chance
        # Where it perhaps has counted is to be seen first.
        part = chance.randrange(self._task.config.parts) if self._unsure is None else self._unsure
        is_whole = self._task.config.parts == 1 or chance.random() < _WHOLE_CHANCE
        if not is_whole and chance.random() < _READ_CHANCE:
            self._look(handle.acquire("read"), range(self._task.config.parts))
            handle.release()
        began = time.monotonic()
        view = handle.acquire() if is_whole else handle.acquire(offset=part * ledger.size, length=ledger.size)
        waited = time.monotonic() - began
        who = inside.node, handle.fence
        self._look(view, range(self._task.config.parts) if is_whole else (part,), who)
        if self._is_done:
            handle.release()
            return
        if self._order is Order.DIE_AS_FOUNDER and inside.founder == inside.node:
            self._die()
        with ledger.part(view, part if is_whole else 0) as mine:
            ledger.count(mine, self._task.number, who, chance, self._midway)
        number = self._confirmed[part] + 1
        self.note("releasing", part=part, number=number)
        self._die_soon(Order.DIE_RELEASING)
        self._unsure = part
        handle.release()
        self._confirmed[part], self._unsure = number, None
        self.note("released", part=part, number=number, waited=waited)

    def _look(self, view: memoryview, parts: Sequence[int], who: tuple[int, int] | None = None) -> None:
        """Check the parts in view, and how far they were counted."""
        for place, part in enumerate(parts):
            with self._ledger.part(view, place) as seen:
                wrong = self._ledger.wrong(seen) or (self._ledger.wrong_with(seen, *who) if who else "")
                if wrong:
                    raise Wrong(f"part {part}: {wrong}")
                mine, sure = self._ledger.read(seen).slots[self._task.number], self._confirmed[part]
            is_unsure = part == self._unsure
            if not sure <= mine <= sure + is_unsure:
                unsure = ", and perhaps once more" if is_unsure else ""
                raise Wrong(
                    f"process {self._task.number} has counted to {sure}{unsure} in part {part}, and {mine} is there"
                )
            if is_unsure:
                self._confirmed[part], self._unsure = mine, None
                self.note("found", part=part, number=mine)

    # --------------------------------------------------------------------------------------------------------- dying

    def _midway(self) -> None:
        if self._order is Order.DIE_WRITING:
            self._die()

    def _die_soon(self, order: Order) -> None:
        """Die within a short time, whatever happens then, if this is the order."""
        if self._order is order:
            seconds = self._chance.uniform(0, _SOON[order])
            threading.Thread(target=self._die, args=(seconds,), daemon=True).start()

    def _die(self, after: float = 0.0) -> None:
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGKILL)


def _so_far(task: Task) -> tuple[list[int], int | None]:
    """Return how often each part was counted for certain, and which one perhaps once more."""
    sure, unsure = [0] * task.config.parts, None
    with suppress(FileNotFoundError):
        for line in task.journal.read_bytes().split(b"\n")[:-1]:
            with suppress(ValueError):
                noted = json.loads(line)
                if noted["what"] in ("released", "found"):
                    sure[noted["part"]], unsure = noted["number"], None
                elif noted["what"] == "releasing":
                    unsure = noted["part"]
    return sure, unsure


__all__ = ["ChaosConfig", "Order", "Task", "judge", "work"]
