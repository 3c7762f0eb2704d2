"""The solution of a run at any moment: replay indexes, and what the page asks about them.

A replay index (`solvent.runs.replay_index`) is made on request, by a process of its own, a few at a time; the last few
are kept.
"""

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
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from solvent.errors import RecordProblem
from solvent.runs.registry import existing, journal_of, record_of
from solvent.runs.replay_index.maker import Order, Word
from solvent.runs.replay_index.viewer import Viewer

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from solvent.store import Store
    from solvent.web.site import Site

MAX_KEPT = 6
MAX_AT_ONCE = 2
_MAX_TEXT = 200
_MAX_DIGITS = 15
_READ_WORD = msgspec.json.Decoder(Word).decode


class Subject(NamedTuple):
    """What is replayed: a run, or a shard of a run that agents have."""

    run: str
    shard: int | None


class Replay:
    """The replay index of one subject, while it is made and afterwards."""

    def __init__(self, subject: Subject, path: Path, position: int) -> None:
        self.subject = subject
        #: Where the record ended when the replay began.
        self.position = position
        self.word = Word()
        self.viewer: Viewer | None = None
        self._path = path
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = threading.Event()

    @property
    def is_over(self) -> bool:
        """Whether it has been made, or has failed."""
        return self._is_over.is_set()

    def run(self, url: str, turn: threading.Semaphore) -> None:
        """Make the index, in a thread of its own."""
        with turn:
            if not self.is_over:
                self._run(url)
        self._is_over.set()

    def _run(self, url: str) -> None:
        order = Order(url, self.subject.run, str(self._path), self.subject.shard or 0)
        command = [sys.executable, "-m", "solvent.runs.replay_index.maker"]
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
        """Stop making it, and delete it."""
        self._is_over.set()
        if self._process is not None:
            self._process.kill()
        if self.viewer is not None:
            self.viewer.close()
        self._path.unlink(missing_ok=True)

    def state(self) -> dict[str, Any]:
        """Return how far it is: `making`, `made` or `failed`."""
        word = self.word
        if not self.is_over:
            return {"state": "making", "reactions": word.reactions}
        if self.viewer is None:
            return {"state": "failed", "error": word.error, "code": word.code, "hint": word.hint}
        return {"state": "made", **self.viewer.about}


class Replays:
    """The replay indexes of a site."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._kept: OrderedDict[Subject, Replay] = OrderedDict()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0
        self._turn = threading.Semaphore(MAX_AT_ONCE)
        self._guard = threading.Lock()
        site.at_end(self.close)

    def get(self, subject: Subject) -> Replay | None:
        """Return a replay that was asked for before."""
        with self._guard:
            found = self._kept.get(subject)
            if found is not None:
                self._kept.move_to_end(subject)
            return found

    def make(self, subject: Subject) -> Replay:
        """Return the replay of a subject; begin a new one if there is none, or if the run has gone on since."""
        store = self._store()
        position = self.position(subject)
        # Only whole names are accepted: a part of one would be kept under another name.
        existing(store, subject.run)
        with self._guard:
            found = self._kept.get(subject)
            if found is not None and (not found.is_over or (found.viewer and found.position >= position)):
                self._kept.move_to_end(subject)
                return found
            if found is not None:
                del self._kept[subject]
                found.end()
            while len(self._kept) >= MAX_KEPT:
                self._kept.popitem(last=False)[1].end()
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="solvent-replays-")
            self._count += 1
            replay = self._kept[subject] = Replay(subject, Path(self._folder.name) / f"{self._count}.index", position)
        threading.Thread(target=replay.run, args=(self._site.url, self._turn), daemon=True).start()
        return replay

    def position(self, subject: Subject) -> int:
        """Return where the record of a subject ends now."""
        return self._store().last(journal_of(existing(self._store(), subject.run).prefix, subject.shard or 0))

    def subject(self, request: Request) -> tuple[Subject, int]:
        """Return the subject of a request, and the number of shards; 0 for a run of one process."""
        run, shard = request.path_params["run"], request.query_params.get("shard")
        record = record_of(self._store(), run)
        if record is None or not record.by_agents:
            return Subject(run, None), 0
        number = int(shard) if shard and shard.isdecimal() and len(shard) < 10 else 0
        return Subject(run, min(number, record.shards - 1)), record.shards

    def _store(self) -> Store:
        store = self._site.store()
        if store is None:
            raise RecordProblem("R401", "there are no runs yet")
        return store

    def close(self) -> None:
        """Delete all of them."""
        with self._guard:
            for one in self._kept.values():
                one.end()
            self._kept.clear()
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None


def routes(site: Site) -> list[Route]:
    """Return the routes of this part of the page."""
    replays = Replays(site)

    def state(request: Request) -> Response:
        subject, shards = replays.subject(request)
        replay = replays.make(subject) if request.method == "POST" else replays.get(subject)
        found: dict[str, Any] = {"state": "none"} if replay is None else replay.state()
        found |= {"shard": subject.shard, "shards": shards}
        if replay is not None and replay.is_over:
            found["has_grown"] = replays.position(subject) > replay.position
        return JSONResponse(found)

    def view(look: Callable[[Viewer, Request], dict[str, Any]]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            replay = replays.get(replays.subject(request)[0])
            if replay is None or replay.viewer is None:
                return JSONResponse({"error": "the run has not been replayed yet"}, status_code=409)
            try:
                return JSONResponse(look(replay.viewer, request))
            except LookupError as error:
                return JSONResponse({"error": str(error)}, status_code=404)
            except HTTPException as error:
                return JSONResponse({"error": error.detail}, status_code=error.status_code)

        return answer

    at = "/api/runs/{run}/replay"
    return [
        Route(at, state, methods=["GET", "POST"]),
        Route(f"{at}/at", view(lambda index, request: index.moment(_number(request, "n")))),
        Route(f"{at}/inside", view(_inside)),
        Route(f"{at}/search", view(lambda index, request: index.search(_number(request, "n"), _text(request, "text")))),
        Route(f"{at}/events", view(lambda index, request: index.events(_text(request, "task"), _number(request, "n")))),
        Route(f"{at}/why", view(lambda index, request: index.why(_number(request, "molecule")))),
    ]


def _inside(index: Viewer, request: Request) -> dict[str, Any]:
    return index.inside(
        _number(request, "n"),
        _number(request, "solution"),
        offset=_number(request, "offset"),
        with_rules=request.query_params.get("rules") == "1",
    )


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    if not text.isdecimal() or len(text) > _MAX_DIGITS:
        raise HTTPException(422, f"`{name}` is a number")
    return int(text)


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")[:_MAX_TEXT]


__all__ = ["routes"]
