"""Films of runs, made when somebody wants to see one: by processes of their own, a few at a time, the last few kept."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from solvent.errors import RecordProblem
from solvent.runs.agents.plans import log_at, plan_of
from solvent.runs.records.runs import find, log_of
from solvent.runs.replay_index.making import Order, Word
from solvent.runs.replay_index.viewing import Viewer

if TYPE_CHECKING:
    from solvent.store import Store
    from solvent.web.site import Site

MAX_KEPT = 6
MAX_AT_ONCE = 2
_READ_WORD = msgspec.json.Decoder(Word).decode


class Subject(NamedTuple):
    """What is filmed: a run, or a place of one that agents have."""

    run: str
    place: int | None


class Making:
    """A film that is made, or was."""

    def __init__(self, subject: Subject, path: Path, position: int) -> None:
        self.subject = subject
        #: Where the record ended when it was begun.
        self.position = position
        self.word = Word()
        self.viewer: Viewer | None = None
        self._path = path
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = threading.Event()

    @property
    def is_over(self) -> bool:
        """Whether there is a film, or what was wrong is known."""
        return self._is_over.is_set()

    def run(self, url: str, turn: threading.Semaphore) -> None:
        """Make it; in a thread of its own."""
        with turn:
            if not self.is_over:
                self._run(url)
        self._is_over.set()

    def _run(self, url: str) -> None:
        order = Order(url, self.subject.run, str(self._path), self.subject.place)
        command = [sys.executable, "-m", "solvent.runs.replay_index.making"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603
            self._process = process
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(msgspec.json.encode(order))
                process.stdin.close()
            for line in process.stdout:
                self.word = _READ_WORD(line)
        if self.word.is_done:
            self.viewer = Viewer(self._path)
        elif not self.word.error:
            self.word = Word(error="the process that replays the run has ended before it was done")

    def end(self) -> None:
        """Have it no longer."""
        self._is_over.set()
        if self._process is not None:
            self._process.kill()
        if self.viewer is not None:
            self.viewer.close()
        self._path.unlink(missing_ok=True)


class Films:
    """The films of a page."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._films: OrderedDict[Subject, Making] = OrderedDict()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0
        self._turn = threading.Semaphore(MAX_AT_ONCE)
        self._guard = threading.Lock()
        site.at_end(self.close)

    def get(self, subject: Subject) -> Making | None:
        """Give a film, if it was asked for."""
        with self._guard:
            found = self._films.get(subject)
            if found is not None:
                self._films.move_to_end(subject)
            return found

    def make(self, subject: Subject) -> Making:
        """Have a film made; the one that there is, unless more has happened since."""
        store = self._store()
        position = self.position(subject)
        if subject.place is None:
            # Only whole names are asked for: what is found by a part of one would be kept under another.
            find(store, subject.run)
        with self._guard:
            found = self._films.get(subject)
            if found is not None and (not found.is_over or (found.viewer and found.position >= position)):
                self._films.move_to_end(subject)
                return found
            if found is not None:
                del self._films[subject]
                found.end()
            while len(self._films) >= MAX_KEPT:
                self._films.popitem(last=False)[1].end()
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="solvent-films-")
            self._count += 1
            making = Making(subject, Path(self._folder.name) / f"{self._count}.film", position)
            self._films[subject] = making
        threading.Thread(target=making.run, args=(self._site.url, self._turn), daemon=True).start()
        return making

    def position(self, subject: Subject) -> int:
        """Say where the record of a run ends now."""
        store = self._store()
        if subject.place is None:
            return store.last(log_of(subject.run))
        # What a place has heard is in its journal, too.
        return store.last(log_at(subject.run, subject.place))

    def subject(self, run: str, place: str | None) -> tuple[Subject, int]:
        """Say what is to be filmed, and how many places there are; none of a run that one process has."""
        plan = plan_of(self._store(), run)
        if plan is None:
            return Subject(run, None), 0
        number = int(place) if place and place.isdecimal() and len(place) < 10 else 0
        return Subject(run, min(number, plan.places - 1)), plan.places

    def _store(self) -> Store:
        store = self._site.store()
        if store is None:
            raise RecordProblem("R401", "there are no runs yet")
        return store

    def close(self) -> None:
        """Throw all of them away."""
        with self._guard:
            for one in self._films.values():
                one.end()
            self._films.clear()
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None


def told(making: Making | None, **more: Any) -> dict[str, Any]:
    """Say how far a film is: `none`, `making`, `made` or `failed`."""
    if making is None:
        return {"state": "none", **more}
    word = making.word
    if not making.is_over:
        return {"state": "making", "reactions": word.reactions, **more}
    if making.viewer is None:
        return {"state": "failed", "error": word.error, "code": word.code, "hint": word.hint, **more}
    return {"state": "made", **making.viewer.about, **more}


__all__ = ["Films", "Making", "Subject", "told"]
