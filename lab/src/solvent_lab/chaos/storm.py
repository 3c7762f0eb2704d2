"""A storm of `solvent lab serve handover`: processes that count in shared data, come and go, and die.

Each is a process of its own, copied from one that has everything loaded. What they do is read from their journals; what
they are to do is told by bytes of a shared file. One that was killed, or has left altogether, is followed by another
one that goes on where it was. At the end one more process looks at the data.

The hosts are folders, each for the shared memory of some of the processes: those of different hosts do not know that
they are on one machine, and send each other data over TCP.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.net.private_folder import MEMORY
from solvent_lab.chaos.deaths import Deaths
from solvent_lab.chaos.weather import Place, Tally, Weather
from solvent_lab.chaos.worker import Order, Task, judge, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.process import BaseProcess

_LOOK_SECONDS = 0.05
_MAX_END_SECONDS = 60.0


class Storm:
    """Runs it."""

    def __init__(self, weather: Weather, folder: Path, watch: Callable[[Tally], None] = lambda _: None) -> None:
        self.tally = Tally()
        self._weather = weather
        self._folder = folder
        self._watch = watch
        self._context = multiprocessing.get_context("forkserver")
        self._places = [Place(self._task(number)) for number in range(weather.processes)]
        self._deaths = Deaths(weather, self._places, self.tally, folder / "orders")
        self._began = time.monotonic()

    def _task(self, number: int) -> Task:
        weather = self._weather
        return Task(
            number=number,
            life=0,
            processes=weather.processes,
            cycles=weather.cycles,
            body_bytes=weather.body_bytes,
            parts=weather.parts,
            host=number % weather.hosts,
            has_hosts=weather.hosts > 1,
            copies=weather.copies,
            is_first=number == 0,
            is_leaver=number >= weather.stayers,
            patience=weather.patience,
            seed=weather.seed,
            folder=self._folder,
        )

    # --------------------------------------------------------------------------------------------- beginning and end

    def run(self) -> Tally:
        """Let it rage, and say what came of it."""
        with _undisturbed():
            # Its copies load nothing, and take no notice of Ctrl-C.
            self._context.set_forkserver_preload(["solvent_lab.chaos.worker", "solvent.handover.space"])
            first = self._places[0]
            self._start(first)
        self._began = time.monotonic()
        try:
            # The others find the first.
            self._go_on(lambda: first.is_inside)
            for place in self._places[1:]:
                self._start(place)
            self._go_on(lambda: all(place.is_done for place in self._places))
            self._end()
        finally:
            self.tally.seconds = time.monotonic() - self._began
            with _undisturbed():
                self._kill_all()
        return self.tally

    def _start(self, place: Place) -> None:
        place.process = self._context.Process(target=work, args=(place.task,), daemon=True)
        place.is_up = place.is_away = False
        place.process.start()
        place.seen_at = time.monotonic()
        self.tally.starts += 1

    def _go_on(self, is_enough: Callable[[], bool]) -> None:
        while not is_enough() and not self.tally.wrong:
            self._look()
            self._deaths.go_on()
            self._watch(self.tally)
            self._look_for_hangs()
            wait(self._sentinels(), _LOOK_SECONDS)

    def _sentinels(self) -> list[int]:
        return [place.process.sentinel for place in self._places if place.process is not None]

    def _end(self) -> None:
        """Have somebody look at the data, then let all leave, and see that nothing is left behind."""
        if not self.tally.wrong:
            self._judge()
        self._deaths.end()
        end = time.monotonic() + _MAX_END_SECONDS
        while self._sentinels() and not self.tally.wrong:
            if time.monotonic() > end:
                self._hang("not all processes get away at the end")
            self._look()
            wait(self._sentinels(), _LOOK_SECONDS)
        if not self.tally.wrong:
            left = [str(path.relative_to(self._folder)) for path in self._folder.glob("host-*/*/*")]
            if left:
                self.tally.wrong.append(f"all have left, and shared memory is still there: {', '.join(left)}")

    def _judge(self) -> None:
        found = self._folder / "judgement"
        task = self._task(0)
        process = self._context.Process(target=judge, args=(task, found), daemon=True)
        process.start()
        process.join(_MAX_END_SECONDS)
        if process.is_alive():
            process.kill()
        if not found.exists():
            self.tally.wrong.append("nobody gets to see the data at the end")
            self._ask_for_stacks()
            return
        judgement = json.loads(found.read_text(encoding="utf-8"))
        self.tally.wrong += judgement["wrong"]
        self.tally.counter = judgement["counter"]
        wanted = self._weather.total
        if self.tally.counter != wanted:
            self.tally.wrong.append(f"the counter is {self.tally.counter}, and should be {wanted}")
        for number, slot in enumerate(judgement["slots"]):
            if slot != self._weather.cycles:
                self.tally.wrong.append(
                    f"process {number} has counted to {slot}, and should have {self._weather.cycles}"
                )

    def _kill_all(self) -> None:
        for place in self._places:
            if place.process is not None:
                place.process.kill()
        for place in self._places:
            if place.process is not None:
                place.process.join()
                place.process = None

    # --------------------------------------------------------------------------------------------------------- looking

    def _look(self) -> None:
        """See what has happened."""
        for place in self._places:
            process = place.process
            is_over = process is not None and process.exitcode is not None
            for note in place.notes():
                place.seen_at = time.monotonic()
                place.is_up = note["life"] == place.task.life
                self._take(place, note)
            if is_over:
                assert process is not None
                self._on_over(place, process)
        self.tally.seconds = time.monotonic() - self._began

    def _take(self, place: Place, note: dict[str, Any]) -> None:
        tally = self.tally
        match note["what"]:
            case "released":
                tally.cycles += 1
                tally.waited.append(note["waited"])
            case "joined":
                tally.joins += 1
                tally.joined.append(note["seconds"])
                place.is_inside = True
            case "leaving":
                tally.leaves += 1
                place.is_inside = False
            case "expelled":
                tally.expelled += 1
                place.is_inside = False
                if self._weather.hosts == 1:
                    tally.wrong.append(
                        f"process {place.task.number} was taken for dead, though the system knows better"
                    )
            case "away":
                place.is_away = True
            case "done":
                place.is_done = True
                self._deaths.order(place, Order.NONE)
            case "wrong":
                tally.wrong.append(f"process {place.task.number}: {note['text']}")

    def _on_over(self, place: Place, process: BaseProcess) -> None:
        code = process.exitcode
        process.close()
        place.process = None
        place.is_inside = False
        if code == -signal.SIGKILL:
            self._deaths.on_killed(place)
        elif code != 0:
            if not self.tally.wrong:
                self.tally.wrong.append(f"process {place.task.number} has ended with exit code {code}")
            return
        if place.is_done or (code == 0 and not place.is_away):
            return
        self._deaths.order(place, Order.NONE)
        place.task = replace(place.task, life=place.task.life + 1)
        self._start(place)

    # --------------------------------------------------------------------------------------------------------- hanging

    def _look_for_hangs(self) -> None:
        stall, now = self._weather.stall, time.monotonic()
        for place in self._places:
            if place.process is not None and not place.is_done and now - place.seen_at > stall:
                self._hang(f"process {place.task.number} does not get on for {stall:g} s")
                return

    def _hang(self, what: str) -> None:
        self.tally.wrong.append(what)
        self._ask_for_stacks()

    def _ask_for_stacks(self) -> None:
        for place in self._places:
            # One that has only begun could not answer, and would die of it.
            if place.process is not None and place.process.pid is not None and place.is_up:
                with suppress(ProcessLookupError):
                    os.kill(place.process.pid, signal.SIGUSR1)
        time.sleep(1)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Have processes that are started here take no notice of Ctrl-C, from their first moment."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def storm_folder() -> Iterator[Path]:
    """Make a folder for a storm, in memory where there is such a place, and take it away."""
    folder = Path(tempfile.mkdtemp(prefix="solvent-storm-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


__all__ = ["Storm", "storm_folder"]
