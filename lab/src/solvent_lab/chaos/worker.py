"""One process of `solvent lab serve handover`: it counts in shared data, comes and goes, and may die.

It notes what it does in a journal, one line of JSON each, written before it goes on. So whoever takes over after it was
killed knows how far it was, but for one thing: whether a release that was begun took effect. The data tells.

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
    """What a process is told to do, by a byte of its own in a shared file."""

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
    """Something that must not be."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a process is to do."""

    #: Its number, and how many have had it before.
    number: int
    life: int
    processes: int
    cycles: int
    body_bytes: int
    #: In how many parts, which are claimed apart, the data is.
    parts: int
    #: Which host it is on, and whether others are on other hosts.
    host: int
    has_hosts: bool
    copies: int
    is_first: bool
    is_leaver: bool
    patience: float
    seed: int
    folder: Path

    @property
    def ledger(self) -> Ledger:
        """How each part of the data is laid out."""
        return Ledger(self.processes, self.body_bytes // self.parts)

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
    """Do it; a process's whole life."""
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
    """Look at the data when all have done their work, and write what is there."""
    ledger, found, wrong = task.ledger, list[Reading](), list[str]()
    opening = make_space("handover", folder=task.shared, patience=task.patience, board=True)
    with opening as inside, inside.handle(RESOURCE) as handle:
        view = handle.acquire("read")
        for number in range(task.parts):
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
    """End when whoever began this has ended, however it ended."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


class Worker:
    """What it knows while it works."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._ledger = task.ledger
        self._chance = random.Random(f"{task.seed} {task.number} {task.life}")
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
        """Say what the machine is at, as far as it can be told."""
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
        return sum(self._confirmed) >= self._task.cycles and self._unsure is None

    # ---------------------------------------------------------------------------------------------- coming and going

    def run(self) -> None:
        """Count as often as is wanted, and wait until all have; or leave, and be started again."""
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
        """Be in the space once; tell whether that was all."""
        task = self._task
        join = self._doors() if task.has_hosts and not (task.is_first and not task.life) else None
        self.note("joining")
        self._die_soon(Order.DIE_JOINING)
        began = time.monotonic()
        opening = make_space("handover", join=join, folder=task.shared, patience=task.patience, board=True)
        with opening as inside:
            self._space = inside
            if task.has_hosts:
                task.door(task.number).write_text(inside.address, encoding="utf-8")
            is_over = self._take_part(inside, began)
            self.note("leaving", of="space")
            self._die_soon(Order.DIE_LEAVING)
            if task.has_hosts:
                task.door(task.number).unlink(missing_ok=True)
        self._space = None
        self.note("left", of="space")
        return is_over

    def _take_part(self, inside: BlockingSpace, began: float) -> bool:
        task = self._task
        while True:
            with inside.handle(RESOURCE, size=task.parts * self._ledger.size, copies=task.copies) as handle:
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
        """Give addresses of some others; none of them may be there any more, so it is tried again."""
        task, chance = self._task, self._chance
        while True:
            found = []
            for number in range(task.processes):
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
        """Count until it is enough, or until what has been chosen is to be left."""
        task, chance = self._task, self._chance
        while not self._is_done:
            self._count(inside, handle)
            if task.is_leaver and chance.random() < LEAVE_CHANCE:
                break
        return "done" if self._is_done else chance.choice(("handle", "space"))

    def _count(self, inside: BlockingSpace, handle: BlockingHandle) -> None:
        ledger, chance = self._ledger, self._chance
        # Where it perhaps has counted is to be seen first.
        part = chance.randrange(self._task.parts) if self._unsure is None else self._unsure
        is_whole = self._task.parts == 1 or chance.random() < _WHOLE_CHANCE
        if not is_whole and chance.random() < _READ_CHANCE:
            self._look(handle.acquire("read"), range(self._task.parts))
            handle.release()
        began = time.monotonic()
        view = handle.acquire() if is_whole else handle.acquire(offset=part * ledger.size, length=ledger.size)
        waited = time.monotonic() - began
        who = inside.node, handle.fence
        self._look(view, range(self._task.parts) if is_whole else (part,), who)
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
        """See whether the parts in view are as they must be, and how far they were counted."""
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
        """Die within a short time, if this is the order, and whatever is done then."""
        if self._order is order:
            seconds = self._chance.uniform(0, _SOON[order])
            threading.Thread(target=self._die, args=(seconds,), daemon=True).start()

    def _die(self, after: float = 0.0) -> None:
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGKILL)


def _so_far(task: Task) -> tuple[list[int], int | None]:
    """Tell how often was counted in each part for certain, and in which one perhaps once more."""
    sure, unsure = [0] * task.parts, None
    with suppress(FileNotFoundError):
        for line in task.journal.read_bytes().split(b"\n")[:-1]:
            with suppress(ValueError):
                noted = json.loads(line)
                if noted["what"] in ("released", "found"):
                    sure[noted["part"]], unsure = noted["number"], None
                elif noted["what"] == "releasing":
                    unsure = noted["part"]
    return sure, unsure


__all__ = ["RESOURCE", "Order", "Task", "Worker", "Wrong", "judge", "work"]
